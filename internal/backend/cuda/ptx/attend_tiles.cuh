// Attention for the rows of prompts by tensor cores, over caches of 16-bit types.
//
// A block has 64 slots, pairs of row and query head that share a head of keys; slot m is
// row m ÷ row_heads, head m mod row_heads. Four warps have 16 slots each, and all share
// tiles of keys and values, which are loaded while the tile before is computed with:
//
//	keys     wait ─ scores = q · keys ──────── next keys on their way ───▶
//	values   on their way ──────────── wait ─ out += weights · values ─ next values ─▶
//
// Keys and values are exact as they are. Queries and weights are not rounded to 16 bits:
// each is the sum of two 16-bit terms, the second what rounding to the first has left,
// and each product is two (22 bits together for F16, 16 for BF16). Sums are float32.
//
// Tiles begin at multiples of their length and each slot selects the keys that it sees,
// so that its result depends on its sequence and position alone. A key or value of this
// sequence that a slot does not see is multiplied by 0: one that is no number spoils the
// rows before it in its tile, too.
#pragma once
#include "attend.cuh"

// Two 16-bit values in a register, the first in the low half.
DEVICE u32 pair(u16 low, u16 high) { return (u32)high << 16 | low; }

// Terms are two values as the sums of two pairs.
struct Terms {
	u32 high, low;
};
template <class T> DEVICE Terms split(float x, float y) {
	u16 a = T::pack(x), b = T::pack(y);
	return {pair(a, b), pair(T::pack(x - T::widen(a)), T::pack(y - T::widen(b)))};
}

// mma adds a 16×16 by 16×8 product to c.
#define MMA(T, type) \
	DEVICE void mma(T, float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) { \
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
			: "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) \
			: "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)); \
	}
MMA(F16, "f16")
MMA(BF16, "bf16")

// shared_at is an address for the instructions that want one of shared memory.
DEVICE u32 shared_at(const void *p) { return (u32)(u64)(const __attribute__((address_space(3))) void *)p; }

// Matrices are four 8×8 matrices of 16-bit values: lane i gives the address of row i mod 8 of
// matrix i ÷ 8.
struct Matrices {
	u32 m[4];
};
DEVICE Matrices load_matrices(const void *row) {
	Matrices r;
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		: "=r"(r.m[0]), "=r"(r.m[1]), "=r"(r.m[2]), "=r"(r.m[3]) : "r"(shared_at(row)) : "memory");
	return r;
}
DEVICE Matrices load_transposed(const void *row) {
	Matrices r;
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
		: "=r"(r.m[0]), "=r"(r.m[1]), "=r"(r.m[2]), "=r"(r.m[3]) : "r"(shared_at(row)) : "memory");
	return r;
}

// copy_async copies 16 bytes to shared memory; they are there for this thread after
// wait_async, for others after a barrier more.
DEVICE void copy_async(void *to, const void *from) {
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_at(to)), "l"((const __attribute__((address_space(1))) void *)from) : "memory");
}
DEVICE void commit_async() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEVICE void wait_async() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }

extern SHARED u8 attend_memory[];

// Tiles is the kernel for heads of up to D values and tiles of K keys.
template <class T, int D, int K> struct Tiles {
	static constexpr int SLOTS = 64;
	static constexpr int CHUNKS = D / 8;              // of 16 bytes, in a row of a tile
	static constexpr int ROW = D + 8;                 // values from row to row: no two rows of a matrix meet in a bank
	static constexpr bool HELD = D <= 128;            // queries stay in registers
	static constexpr int TURN = 128 / CHUNKS;         // rows that the block loads at once
	static constexpr float LIFT = 15;                 // weights are × 2¹⁵: few are subnormal as F16
	typedef typename T::word word;

	// The block's shared memory; queries only where they are not held.
	struct Memory {
		word keys[K][ROW];
		word values[K][ROW];
		word queries[HELD ? 1 : 2][HELD ? 1 : SLOTS][ROW];
	};

	// fetch starts to load a tile: the entries of keys start…start + K − 1, of dim values
	// each, zeros where a key is not from…to and beyond dim.
	DEVICE_MEMBER void fetch(word (&tile)[K][ROW], const void *part, i64 page_bytes, const Step *step, const Attention &a, int seq, int kv_head, int start, int from, int to, int dim, int step_of) {
		const int *table = step->tables + (i64)seq * step->stride;
		int chunk = 8 * (tid_x() % CHUNKS);
#pragma unroll
		for (int near = 0; near < K; near += 16) { // 16 keys lie in one page
			const word *rows = nullptr;
			if (start + near <= to) {
				int page = at(table, (u32)(start + near) / (u32)a.page_size), place = (u32)(start + near) % (u32)a.page_size;
				rows = token_at<T>(part, page_bytes, page, kv_head, a.page_size, place, step_of) + chunk;
			}
#pragma unroll
			for (int i = 0; i < 16; i += TURN) {
				int r = i + tid_x() / CHUNKS, key = start + near + r;
				word *into = &tile[near + r][chunk];
				if (key >= from && key <= to && chunk < dim) copy_async(into, rows + (i64)r * step_of);
				else *(Words *)into = Words{};
			}
		}
		commit_async();
	}

	// slot_of is a slot's row; head is within the block's.
	DEVICE_MEMBER bool slot_of(const Attention &a, int m, int heads, i64 row0, i64 begin, i64 end, i64 *row, int *head) {
		*row = row0 + m / a.row_heads, *head = m % a.row_heads;
		return m / a.row_heads < SLOTS / a.row_heads && *head < heads && *row >= begin && *row < end;
	}

	//	grid x  SLOTS ÷ row_heads rows each
	//	     y  heads of keys × parts of their query heads
	DEVICE_MEMBER void run(const Step *step, const Attention &a) {
		Memory &mem = *(Memory *)attend_memory;
		int per = SLOTS / a.row_heads;
		i64 row0 = (i64)block_x() * per;
		if (row0 >= step->rows) return;
		i64 rows = row0 + per < step->rows ? row0 + per : step->rows;
		int group = a.heads / a.kv_heads, parts = (group + a.row_heads - 1) / a.row_heads;
		int kv_head = block_y() / parts, part = block_y() % parts;
		int head0 = kv_head * group + part * a.row_heads, heads = min_of(a.row_heads, group - part * a.row_heads);
		int lane = tid_x() % 32, warp = tid_x() / 32;
		int slot0 = 16 * warp + lane / 4; // and slot0 + 8: the slots of this lane's accumulators

		for (int seq = at(step->seq, row0); seq <= at(step->seq, rows - 1); seq++) {
			i64 begin = at(step->seq_start, seq), end = at(step->seq_start, seq + 1);
			if (end - begin <= a.few) continue;
			begin = begin > row0 ? begin : row0, end = end < rows ? end : rows;

			// What the block's rows of this sequence see, and what this lane's slots do.
			int low = 0x7fffffff, high = -1;
			for (i64 row = begin + lane; row < end; row += 32) {
				Sight s = sight_of(step, a, row, seq);
				low = min_of(low, s.first), high = max_of(high, s.last);
			}
#pragma unroll
			for (int m = 1; m < 32; m *= 2) {
				low = min_of(low, __nvvm_shfl_sync_bfly_i32(0xffffffffu, low, m, 31));
				high = max_of(high, __nvvm_shfl_sync_bfly_i32(0xffffffffu, high, m, 31));
			}
			Sight sight[2];
			i64 row[2];
			int head[2], mine = -1; // the last key that a slot of this warp sees
			bool there[2];
#pragma unroll
			for (int h = 0; h < 2; h++) {
				there[h] = slot_of(a, slot0 + 8 * h, heads, row0, begin, end, &row[h], &head[h]);
				sight[h] = {1, 0};
				if (there[h]) sight[h] = sight_of(step, a, row[h], seq), mine = max_of(mine, sight[h].last);
			}
#pragma unroll
			for (int m = 1; m < 32; m *= 2) mine = max_of(mine, __nvvm_shfl_sync_bfly_i32(0xffffffffu, mine, m, 31));

			int start = low / K * K;
			barrier(); // the tiles of the sequence before are done with
			fetch(mem.keys, a.keys, a.key_page, step, a, seq, kv_head, start, low, high, a.key_dim, a.key_dim);

			// Queries in two terms, × 2^−lift so that the largest of a slot is about 2¹⁰.
			u32 query[HELD ? D / 16 : 1][2][4];
			float unit[2];
#pragma unroll
			for (int h = 0; h < 2; h++) {
				const float *q = a.q + (row[h] * a.heads + head0 + head[h]) * a.key_dim;
				float most = 0;
				for (int d = 2 * (lane % 4); d < a.key_dim; d += 8) {
					if (there[h]) {
						Pack<2> x = load<2>(q + d);
						most = __builtin_fmaxf(most, __builtin_fmaxf(__builtin_fabsf(x.v[0]), __builtin_fabsf(x.v[1])));
					}
				}
				most = __builtin_fmaxf(most, shuffle(most, 1)), most = __builtin_fmaxf(most, shuffle(most, 2));
				int lift = (int)(to_bits(most) >> 23) - 127 - 10;
				lift = max_of(-100, min_of(lift, 100));
				float down = from_bits((u32)(127 - lift) << 23);
				unit[h] = a.scale * from_bits((u32)(127 + lift) << 23);
#pragma unroll
				for (int k = 0; k < D / 16; k++) {
#pragma unroll
					for (int half = 0; half < 2; half++) {
						int d = 16 * k + 8 * half + 2 * (lane % 4);
						Pack<2> x = {{0, 0}};
						if (there[h] && d < a.key_dim) x = load<2>(q + d);
						Terms t = split<T>(x.v[0] * down, x.v[1] * down);
						if constexpr (HELD) {
							query[k][0][2 * half + h] = t.high, query[k][1][2 * half + h] = t.low;
						} else {
							*(u32 *)&mem.queries[0][slot0 + 8 * h][d] = t.high, *(u32 *)&mem.queries[1][slot0 + 8 * h][d] = t.low;
						}
					}
				}
			}

			float out[D / 8][4], top[2] = {-INFINITE, -INFINITE}, sum[2] = {0, 0};
#pragma unroll
			for (int n = 0; n < D / 8; n++) {
#pragma unroll
				for (int i = 0; i < 4; i++) out[n][i] = 0;
			}
			for (; start <= high; start += K) {
				wait_async<0>();
				barrier(); // the keys are there; all are done with the values before
				fetch(mem.values, a.values, a.value_page, step, a, seq, kv_head, start, low, high, a.value_dim, a.value_step);
				float score[K / 8][4];
				if (start <= mine) scores(mem, a, query, score, lane, warp);
				wait_async<0>();
				barrier(); // the values are there; all are done with the keys
				if (start + K <= high) fetch(mem.keys, a.keys, a.key_page, step, a, seq, kv_head, start + K, low, high, a.key_dim, a.key_dim);
				if (start <= mine) {
					weigh(a, score, out, top, sum, unit, sight, start, lane);
					weighted(mem, a, score, out, lane);
				}
			}
			// Lanes of a row have parts of its sum.
#pragma unroll
			for (int h = 0; h < 2; h++) {
				sum[h] += shuffle(sum[h], 1);
				sum[h] += shuffle(sum[h], 2);
				if (!there[h]) continue;
				float *to = a.out + (row[h] * a.heads + head0 + head[h]) * a.value_dim;
				State state = {top[h], sum[h] * 0x1p-15f};
				float factor = finish(state, 0x1p-15f, a.sinks, head0 + head[h]);
#pragma unroll
				for (int n = 0; n < D / 8; n++) {
					int d = 8 * n + 2 * (lane % 4);
					if (d < a.value_dim) store<2>(to + d, {{out[n][2 * h] * factor, out[n][2 * h + 1] * factor}});
				}
			}
		}
	}

	// scores are q · key of the tile: score[n] of keys 8n… in the accumulators' layout.
	DEVICE_MEMBER void scores(const Memory &mem, const Attention &a, const u32 (&query)[HELD ? D / 16 : 1][2][4], float (&score)[K / 8][4], int lane, int warp) {
#pragma unroll
		for (int n = 0; n < K / 8; n++) {
#pragma unroll
			for (int i = 0; i < 4; i++) score[n][i] = 0;
		}
#pragma unroll
		for (int k = 0; k < D / 16; k++) {
			if (16 * k >= a.key_dim) continue; // the same for all
			u32 q[2][4];
#pragma unroll
			for (int t = 0; t < 2; t++) {
				if constexpr (HELD) {
#pragma unroll
					for (int i = 0; i < 4; i++) q[t][i] = query[k][t][i];
				} else {
					Matrices m = load_matrices(&mem.queries[t][16 * warp + lane % 16][16 * k + 8 * (lane / 16)]);
#pragma unroll
					for (int i = 0; i < 4; i++) q[t][i] = m.m[i];
				}
			}
#pragma unroll
			for (int n = 0; n < K / 8; n += 2) { // 16 keys: two matrices beside, two below
				Matrices m = load_matrices(&mem.keys[8 * n + lane % 8 + 8 * (lane / 16)][16 * k + 8 * (lane / 8 % 2)]);
#pragma unroll
				for (int t = 1; t >= 0; t--) { // the small terms first
					mma(T{}, score[n], q[t], m.m[0], m.m[1]);
					mma(T{}, score[n + 1], q[t], m.m[2], m.m[3]);
				}
			}
		}
	}

	// weigh turns scores into weights × 2^LIFT relative to the maximum so far, and brings
	// what there is to the new maximum.
	DEVICE_MEMBER void weigh(const Attention &a, float (&score)[K / 8][4], float (&out)[D / 8][4], float (&top)[2], float (&sum)[2], const float (&unit)[2], const Sight (&sight)[2], int start, int lane) {
#pragma unroll
		for (int h = 0; h < 2; h++) {
			float best = top[h];
#pragma unroll
			for (int n = 0; n < K / 8; n++) {
#pragma unroll
				for (int i = 2 * h; i < 2 * h + 2; i++) {
					int key = start + 8 * n + 2 * (lane % 4) + i % 2;
					float x = score[n][i] * unit[h];
					if (a.cap != 0) x = a.cap - 2 * a.cap / (1 + fast_exp(x * (2 / a.cap)));
					score[n][i] = key >= sight[h].first && key <= sight[h].last ? x : -INFINITE;
					best = __builtin_fmaxf(best, score[n][i]);
				}
			}
			best = __builtin_fmaxf(best, shuffle(best, 1)), best = __builtin_fmaxf(best, shuffle(best, 2));
			float rest = weight(top[h], best), base = best == -INFINITE ? 0 : best;
			top[h] = best;
			sum[h] *= rest;
#pragma unroll
			for (int n = 0; n < D / 8; n++) out[n][2 * h] *= rest, out[n][2 * h + 1] *= rest;
#pragma unroll
			for (int n = 0; n < K / 8; n++) {
#pragma unroll
				for (int i = 2 * h; i < 2 * h + 2; i++) {
					score[n][i] = fast_exp(score[n][i] - base) * 0x1p15f;
					sum[h] += score[n][i];
				}
			}
		}
	}

	// weighted is out += weights · values of the tile.
	DEVICE_MEMBER void weighted(const Memory &mem, const Attention &a, const float (&score)[K / 8][4], float (&out)[D / 8][4], int lane) {
#pragma unroll
		for (int k = 0; k < K / 16; k++) {
			u32 p[2][4]; // the accumulators of two tiles of 8 keys are a 16×16 operand
#pragma unroll
			for (int i = 0; i < 4; i++) {
				const float(&s)[4] = score[2 * k + i / 2];
				Terms t = split<T>(s[i % 2 * 2], s[i % 2 * 2 + 1]);
				p[0][i] = t.high, p[1][i] = t.low;
			}
#pragma unroll
			for (int n = 0; n < D / 8; n += 2) {
				if (8 * n >= a.value_dim) continue; // the same for all
				Matrices m = load_transposed(&mem.values[16 * k + lane % 16][8 * n + 8 * (lane / 16)]);
#pragma unroll
				for (int t = 1; t >= 0; t--) {
					mma(T{}, out[n], p[t], m.m[0], m.m[1]);
					mma(T{}, out[n + 1], p[t], m.m[2], m.m[3]);
				}
			}
		}
	}
};

#define ATTEND_TILES(name, T, D, K) \
	GLOBAL BLOCK(128) void name(const Step *step, const float *q, float *out, float *partial, float *tops, const void *keys, \
		const void *values, const float *sinks, i64 key_page, i64 value_page, int heads, int kv_heads, int key_dim, int value_dim, int value_step, \
		float scale, float cap, int window, int both, int page_size, int spans, int few, int seqs, int row_heads) { \
		Tiles<T, D, K>::run(step, {q, out, partial, tops, keys, values, sinks, key_page, value_page, heads, kv_heads, key_dim, value_dim, value_step, \
			scale, cap, window, both, page_size, spans, few, seqs, row_heads}); \
	}

#define ATTEND_TILES_ALL(type, T) \
	ATTEND_TILES(attend_##type##_tiles_64, T, 64, 64) \
	ATTEND_TILES(attend_##type##_tiles_128, T, 128, 64) \
	ATTEND_TILES(attend_##type##_tiles_256, T, 256, 32)
