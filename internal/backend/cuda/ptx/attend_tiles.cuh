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
#include "matrices.cuh"

extern SHARED u8 attend_memory[];

// Tiles is the kernel for heads of up to D values and tiles of K keys.
template <class T, int D, int K> struct Tiles {
	static constexpr int SLOTS = 64;
	static constexpr int CHUNKS = D / 8;              // of 16 bytes, in a row of a tile
	static constexpr int ROW = D + 8;                 // values from row to row: no two rows of a matrix meet in a bank
	static constexpr bool HELD = D <= 64;             // queries stay in registers
	static constexpr int TURN = 128 / CHUNKS;         // rows that the block loads at once
	typedef typename T::word word;

	// Slot is what a slot's scores are told of it: the keys that it sees, and its unit. It
	// lies where row m of the block's memory ends, which has room between rows.
	struct alignas(16) Slot {
		int first, last;
		float unit;
		int none;
	};

	// The block's shared memory; queries only where they are not held.
	struct Memory {
		word keys[K][ROW];
		word values[K][ROW];
		word queries[HELD ? 1 : 2][HELD ? 1 : SLOTS][ROW];
	};

	static constexpr int BYTES = 2 * ROW; // from row to row

	static_assert(2 * K >= SLOTS, "tiles have a row for each slot");
	DEVICE_MEMBER Slot *slot(int m) { return (Slot *)(attend_memory + m * BYTES + 2 * D); }

	// Places are this thread's in the block's memory.
	struct Places {
		u32 keys, values, queries; // what it tells ldmatrix first
	};
	DEVICE_MEMBER Places places(int lane, int warp) {
		Memory &mem = *(Memory *)attend_memory;
		return {shared_at(&mem.keys[lane % 8 + 8 * (lane / 16)][8 * (lane / 8 % 2)]),
			shared_at(&mem.values[lane % 16][8 * (lane / 16)]),
			shared_at(&mem.queries[0][HELD ? 0 : 16 * warp + lane % 16][8 * (lane / 16)])};
	}

	// Source is where a thread's part of the keys, or values, of a head lies.
	struct Source {
		const u8 *at;    // in page 0
		u32 page;        // from page to page, in units of 16 bytes
		int token;       // bytes from token to token
		bool wide;       // heads are so wide that they have this thread's chunk
		u32 into;        // of shared memory
	};
	DEVICE_MEMBER Source source(const void *part, i64 page_bytes, int kv_head, int page_size, int dim, int step_of, u32 tile) {
		int row = tid_x() / CHUNKS, chunk = tid_x() % CHUNKS;
		const u8 *at = (const u8 *)part + (((i64)kv_head * page_size + row) * step_of + 8 * chunk) * sizeof(word);
		asm volatile("" : "+l"(at)); // rather than what it is made of
		return {at, (u32)(page_bytes / 16), step_of * (int)sizeof(word), 8 * chunk < dim, tile + row * BYTES + 16 * chunk};
	}

	// fetch starts to load a tile: the entries of keys start…start + K − 1, zeros where a
	// key is not from…to and beyond dim.
	DEVICE_MEMBER void fetch(const Source &s, const int *table, int page_size, int start, int from, int to) {
		int index = (u32)start / (u32)page_size, place = (u32)start % (u32)page_size;
		int pages[K / 16], places[K / 16]; // 16 keys lie in one page
#pragma unroll
		for (int n = 0; n < K / 16; n++) {
			pages[n] = start + 16 * n <= to ? at(table, index) : 0, places[n] = place;
			place += 16;
			if (place == page_size) place = 0, index++;
		}
		int first = start + (u32)anew(tid_x()) / CHUNKS;
		i64 token = anew(s.token);
		u64 page = (u32)anew(s.page);
#pragma unroll
		for (int n = 0; n < K / 16; n++) {
			const u8 *rows = s.at + (u32)pages[n] * page * 16 + places[n] * token;
#pragma unroll
			for (int i = 0; i < 16; i += TURN, rows += TURN * token) {
				int key = first + 16 * n + i;
				copy_async(s.into, (16 * n + i) * BYTES, rows, key >= from && key <= to && s.wide);
			}
		}
		commit_async();
	}

	DEVICE_MEMBER int slots_of(u32 thread) { return thread / 32 * 16 + thread % 32 / 4; }

	// slot_of is a slot's row; head is within the block's.
	DEVICE_MEMBER bool slot_of(const Attention &a, int m, int heads, int row0, int begin, int end, int *row, int *head) {
		*row = row0 + m / a.row_heads, *head = m % a.row_heads;
		return m / a.row_heads < SLOTS / a.row_heads && *head < heads && *row >= begin && *row < end;
	}

	//	grid x  SLOTS ÷ row_heads rows each
	//	     y  heads of keys × parts of their query heads
	DEVICE_MEMBER void run(const Step *step, const Attention &a) {
		Memory &mem = *(Memory *)attend_memory;
		int per = SLOTS / a.row_heads;
		int row0 = block_x() * per;
		if (row0 >= step->rows) return;
		int rows = min_of(row0 + per, step->rows);
		int group = a.heads / a.kv_heads, parts = (group + a.row_heads - 1) / a.row_heads;
		int kv_head = block_y() / parts, part = block_y() % parts;
		int head0 = kv_head * group + part * a.row_heads, heads = min_of(a.row_heads, group - part * a.row_heads);
		int lane = tid_x() % 32, warp = tid_x() / 32;
		Places at_lane = places(lane, warp);
		Source keys = source(a.keys, a.key_page, kv_head, a.page_size, a.key_dim, a.key_dim, shared_at(mem.keys));
		Source values = source(a.values, a.value_page, kv_head, a.page_size, a.value_dim, a.value_step, shared_at(mem.values));

		for (int seq = at(step->seq, row0); seq <= at(step->seq, rows - 1); seq++) {
			int begin = at(step->seq_start, seq), end = at(step->seq_start, seq + 1);
			if (end - begin <= a.few) continue;
			begin = max_of(begin, row0), end = min_of(end, rows);

			// What the block's rows of this sequence see, and what this lane's slots do.
			int low = 0x7fffffff, high = -1;
			for (int row = begin + lane; row < end; row += 32) {
				Sight s = sight_of(step, a, row, seq);
				low = min_of(low, s.first), high = max_of(high, s.last);
			}
#pragma unroll
			for (int m = 1; m < 32; m *= 2) {
				low = min_of(low, __nvvm_shfl_sync_bfly_i32(0xffffffffu, low, m, 31));
				high = max_of(high, __nvvm_shfl_sync_bfly_i32(0xffffffffu, high, m, 31));
			}
			Sight sight[2];
			int slot0 = slots_of(anew(tid_x())); // and slot0 + 8: the slots of this lane's accumulators
			int row[2], head[2], mine = -1; // the last key that a slot of this warp sees
			bool there[2];
#pragma unroll
			for (int h = 0; h < 2; h++) {
				there[h] = slot_of(a, slot0 + 8 * h, heads, row0, begin, end, &row[h], &head[h]);
				sight[h] = {1, 0};
				if (there[h]) sight[h] = sight_of(step, a, row[h], seq), mine = max_of(mine, sight[h].last);
			}
#pragma unroll
			for (int m = 1; m < 32; m *= 2) mine = max_of(mine, __nvvm_shfl_sync_bfly_i32(0xffffffffu, mine, m, 31));

			if (low > high) continue;
			int start = low / K * K;
			const int *table = step->tables + (i64)anew(seq) * step->stride;
			barrier(); // the tiles of the sequence before are done with
			fetch(keys, table, a.page_size, start, low, high);

			// Queries in two terms, × 2^−lift so that the largest of a slot is about 2¹⁰; its
			// unit, the scale × 2^lift, brings scores back.
			u32 query[HELD ? D / 16 : 1][2][4];
			u32 query_in = shared_at(&mem.queries[0][HELD ? 0 : slot0][2 * (lane % 4)]);
#pragma unroll
			for (int h = 0; h < 2; h++) {
				const float *q = a.q + (i64)anew(row[h] * a.heads + head0 + head[h]) * anew(a.key_dim);
				float most = 0;
				int d0 = anew(2 * (lane % 4));
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
				if (lane % 4 == 0) *slot(slot0 + 8 * h) = {sight[h].first, sight[h].last, a.scale * from_bits((u32)(127 + lift) << 23), 0};
#pragma unroll
				for (int k = 0; k < D / 16; k++) {
#pragma unroll
					for (int half = 0; half < 2; half++) {
						int d = 16 * k + 8 * half + d0;
						Pack<2> x = {{0, 0}};
						if (there[h] && d < a.key_dim) x = load<2>(q + d);
						Terms t = split<T>(x.v[0] * down, x.v[1] * down);
						if constexpr (HELD) {
							query[k][0][2 * half + h] = t.high, query[k][1][2 * half + h] = t.low;
						} else {
							store_shared(query_in, 8 * h * BYTES + 32 * k + 16 * half, t.high);
							store_shared(query_in, (SLOTS + 8 * h) * BYTES + 32 * k + 16 * half, t.low);
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
			while (true) { // each row sees a key at least
				wait_async<0>();
				barrier(); // the keys are there; all are done with the values before
				fetch(values, table, a.page_size, start, low, high);
				float score[K / 8][4] = {}; // also where none is computed: else what there was lives on
				if (start <= mine) scores(at_lane, a, query, score);
				wait_async<0>();
				barrier(); // the values are there; all are done with the keys
				if (start + K <= high) fetch(keys, table, a.page_size, start + K, low, high);
				if (start <= mine) {
					weigh(a, score, out, top, sum, start);
					u32 p[K / 16][2][4];
					operands(score, p);
					weighted(at_lane, a, p, out);
				}
				if ((start += K) > high) break;
			}
			// Lanes of a row have parts of its sum.
#pragma unroll
			for (int h = 0; h < 2; h++) {
				sum[h] += shuffle(sum[h], 1);
				sum[h] += shuffle(sum[h], 2);
				if (!slot_of(a, slots_of(anew(tid_x())) + 8 * h, heads, row0, begin, end, &row[h], &head[h])) continue;
				int d0 = anew(2 * (lane % 4));
				float *to = a.out + (i64)anew(row[h] * a.heads + head0 + head[h]) * anew(a.value_dim);
				State state = {top[h], sum[h]};
				float factor = finish(state, 0x1p-15f, a.sinks, head0 + head[h]);
#pragma unroll
				for (int n = 0; n < D / 8; n++) {
					int d = 8 * n + d0;
					if (d < a.value_dim) store<2>(to + d, {{out[n][2 * h] * factor, out[n][2 * h + 1] * factor}});
				}
			}
		}
	}

	// scores adds q · key of the tile: score[n] of keys 8n… in the accumulators' layout.
	DEVICE_MEMBER void scores(const Places &at, const Attention &a, const u32 (&query)[HELD ? D / 16 : 1][2][4], float (&score)[K / 8][4]) {
#pragma unroll
		for (int k = 0; k < D / 16; k++) {
			if (16 * k >= anew(a.key_dim)) continue; // the same for all
			u32 q[2][4];
#pragma unroll
			for (int t = 0; t < 2; t++) {
				if constexpr (HELD) {
#pragma unroll
					for (int i = 0; i < 4; i++) q[t][i] = query[k][t][i];
				} else {
					Matrices m = load_matrices(at.queries, t * SLOTS * BYTES + 32 * k);
#pragma unroll
					for (int i = 0; i < 4; i++) q[t][i] = m.m[i];
				}
			}
#pragma unroll
			for (int n = 0; n < K / 8; n += 2) { // 16 keys: two matrices beside, two below
				Matrices m = load_matrices(at.keys, 8 * n * BYTES + 32 * k);
#pragma unroll
				for (int t = 1; t >= 0; t--) { // the small terms first
					mma(T{}, score[n], q[t], m.m[0], m.m[1]);
					mma(T{}, score[n + 1], q[t], m.m[2], m.m[3]);
				}
			}
		}
	}

	// weigh turns scores into weights relative to the maximum so far, and brings what
	// there is to the new maximum.
	DEVICE_MEMBER void weigh(const Attention &a, float (&score)[K / 8][4], float (&out)[D / 8][4], float (&top)[2], float (&sum)[2], int start) {
		u32 thread = anew(tid_x());
		u32 slots = shared_at(slot(slots_of(thread)));
		Pack<4> told[2] = {shared4(slots, 0), shared4(slots, 8 * BYTES)};
#pragma unroll
		for (int n = 0; n < K / 8; n++) {
#pragma unroll
			for (int i = 0; i < 4; i++) score[n][i] *= told[i / 2].v[2];
		}
		if (float cap = a.cap; cap != 0) {
			settle(cap);
#pragma unroll
			for (int n = 0; n < K / 8; n++) {
#pragma unroll
				for (int i = 0; i < 4; i++) score[n][i] = cap - 2 * cap / (1 + fast_exp(score[n][i] * (2 / cap)));
			}
		}
		int first = start + 2 * (thread % 4); // key of this lane
#pragma unroll
		for (int h = 0; h < 2; h++) {
			float best = top[h];
			Sight sight = {(int)to_bits(told[h].v[0]), (int)to_bits(told[h].v[1])};
#pragma unroll
			for (int n = 0; n < K / 8; n++) {
#pragma unroll
				for (int i = 2 * h; i < 2 * h + 2; i++) {
					int key = first + 8 * n + i % 2;
					score[n][i] = key >= sight.first && key <= sight.last ? score[n][i] : -INFINITE;
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
					score[n][i] = fast_exp(score[n][i] - base);
					sum[h] += score[n][i];
				}
			}
			settle(sum[h]);
		}
	}

	// operands are the weights in two terms: the accumulators of two tiles of 8 keys are a
	// 16×16 operand. They are × 2¹⁵: few are subnormal as F16.
	DEVICE_MEMBER void operands(const float (&score)[K / 8][4], u32 (&p)[K / 16][2][4]) {
#pragma unroll
		for (int k = 0; k < K / 16; k++) {
#pragma unroll
			for (int i = 0; i < 4; i++) {
				const float(&s)[4] = score[2 * k + i / 2];
				Terms t = split<T>(s[i % 2 * 2] * 0x1p15f, s[i % 2 * 2 + 1] * 0x1p15f);
				p[k][0][i] = t.high, p[k][1][i] = t.low;
				settle(p[k][0][i]), settle(p[k][1][i]);
			}
		}
	}

	// weighted is out += weights · values of the tile.
	DEVICE_MEMBER void weighted(const Places &at, const Attention &a, const u32 (&p)[K / 16][2][4], float (&out)[D / 8][4]) {
#pragma unroll
		for (int k = 0; k < K / 16; k++) {
#pragma unroll
			for (int n = 0; n < D / 8; n += 2) {
				if (8 * n >= anew(a.value_dim)) continue; // the same for all
				Matrices m = load_transposed(at.values, 16 * k * BYTES + 16 * n);
#pragma unroll
				for (int t = 1; t >= 0; t--) {
					mma(T{}, out[n], p[k][t], m.m[0], m.m[1]);
					mma(T{}, out[n + 1], p[k][t], m.m[2], m.m[3]);
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
