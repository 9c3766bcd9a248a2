// Attention row by row in float32, for any width of heads and any type of cache: the
// keys of decode steps (attend_few), and rows of prompts where no tensor cores help
// (attend_many). This file is the kernels' body; attend_TYPE.cu makes them.
//
// A block has several slots, pairs of row and query head that share a head of keys, so
// that each key is loaded once for all of them.
//
//	few    slots are heads of one row; the keys are cut into spans, a block each
//	many   slots are heads of several rows; the block walks over all spans
//
// In a block each of four warps takes every fourth chunk of a span's keys:
//
//	lane        0 … L−1 │ L … 2L−1 │ …       L lanes share a key, eight values each
//	key         base    │ base + 1 │ …
//	            ── then the same lanes take the next keys: a chunk is U such turns
//
// Each group of lanes keeps its own maximum, sum and weighted values. They are joined
// over lanes, then over warps, then over spans, always in the same order; spans begin at
// multiples of their length. So what a row gets depends on its sequence and position
// alone.
#pragma once
#include "attention.cuh"

// Body is a kernel for a type of cache, L lanes a key, N turns of eight values a lane,
// and G slots.
template <class T, int L, int N, int G> struct Body {
	static constexpr int KEYS = 32 / L;                        // keys of a turn
	static constexpr int LOADS = sizeof(typename T::Eight) / 16 * N; // of a lane, for a key
	static constexpr int TURNS = KEYS >= 16 || LOADS >= 6 ? 1 : LOADS > 1 || KEYS == 8 ? 2 : 4; // of a chunk
	static constexpr int CHUNK = KEYS * TURNS;                 // keys: at most 16, so within a page
	static constexpr int WIDTH = 8 * L * N;                    // values of a head, at most
	static constexpr bool HELD = G * N <= 4;                   // queries stay in registers
	static constexpr int TOGETHER = HELD || TURNS == 1 ? 1 : 2; // turns that share what is read of a query
	typedef typename T::word word;
	typedef typename T::Eight Eight;

	// Shared memory of a block. Of a lane's eight values the first four of all lanes lie
	// together, and then the others, 16 bytes to a lane: lanes beside each other are in
	// banks beside each other.
	struct Shared {
		float q[HELD ? 1 : G][HELD ? 4 : WIDTH];
		float acc[4][G][WIDTH];
		State state[4][G];
		float all[G][WIDTH];  // many: joined over the spans before
		State before[2][G];   // many: the same, of this span and the next
		Sight sight[G];       // many: of each slot; first > last: none
	};

	// place is where value d of a head is.
	DEVICE_MEMBER int place(int d) { return (d / 4 % 2 * L * N + d / 8) * 4 + d % 4; }

	// load8 reads this lane's part of a key or a value of dim values, zeros beyond.
	DEVICE_MEMBER void load8(Eight e[N], const u8 *p, int dim, bool seen) {
#pragma unroll
		for (int c = 0; c < N; c++) {
			e[c] = Eight{};
			if (seen && 8 * (c * L + tid_x() % L) < dim) {
#pragma unroll
				for (int i = 0; i < (int)sizeof(Eight) / 16; i++) global16((u32 *)&e[c] + 4 * i, p, c * L * sizeof(Eight) + 16 * i);
			}
		}
	}

	// first is where this lane's part of the first key, or value, of a turn lies in page 0.
	DEVICE_MEMBER const u8 *first(const void *part, int kv_head, int page_size, int step_of) {
		const u8 *p = (const u8 *)(token_at<T>(part, 0, 0, kv_head, page_size, tid_x() % 32 / L, step_of) + 8 * (tid_x() % L));
		asm volatile("" : "+l"(p)); // rather than what it is made of
		return p;
	}

	// span attends to the keys from…to of one span that begins at start, and leaves
	// what each warp has in shared memory. MANY: slots see different keys.
	template <bool MANY>
	DEVICE_MEMBER void span(const Step *step, const Attention &a, Shared &s, const float (&q)[HELD ? G : 1][N][8], int seq, int kv_head, int start, int from, int to) {
		int lane = tid_x() % 32, warp = tid_x() / 32;
		u32 queries = shared_at(&s.q[0][HELD ? 0 : 4 * (lane % L)]);
		float top[G], sum[G], acc[G][N][8];
#pragma unroll
		for (int g = 0; g < G; g++) {
			top[g] = -INFINITE, sum[g] = 0;
#pragma unroll
			for (int c = 0; c < N; c++) {
#pragma unroll
				for (int i = 0; i < 8; i++) acc[g][c][i] = 0;
			}
		}
		const int *table = step->tables + (i64)seq * step->stride;
		const u8 *first_key = first(a.keys, kv_head, a.page_size, a.key_dim), *first_value = first(a.values, kv_head, a.page_size, a.value_step);
		for (int base = start + warp * CHUNK; base <= to; base += 4 * CHUNK) {
			if (base + CHUNK <= from) continue;
			int page = at(table, (u32)base / (u32)a.page_size), offset = (u32)base % (u32)a.page_size;
			i64 key_bytes = anew(a.key_dim * (int)sizeof(word)), value_bytes = anew(a.value_step * (int)sizeof(word));
			const u8 *k = first_key + page * a.key_page + offset * key_bytes;
			const u8 *v = first_value + page * a.value_page + offset * value_bytes;
			Eight keys[TURNS][N], values[TURNS][N];
#pragma unroll
			for (int u = 0; u < TURNS; u++) {
				int key = base + u * KEYS + lane / L;
				load8(keys[u], k + u * KEYS * key_bytes, a.key_dim, key >= from && key <= to);
			}
#pragma unroll
			for (int u = 0; u < TURNS; u++) {
				int key = base + u * KEYS + lane / L;
				load8(values[u], v + u * KEYS * value_bytes, a.value_dim, key >= from && key <= to);
			}
			float score[TURNS][G] = {};
#pragma unroll
			for (int from = 0; from < TURNS; from += TOGETHER) {
#pragma unroll
				for (int c = 0; c < N; c++) {
					float x[TOGETHER][8];
#pragma unroll
					for (int u = 0; u < TOGETHER; u++) {
#pragma unroll
						for (int i = 0; i < 8; i++) x[u][i] = T::get(keys[from + u][c], i);
					}
#pragma unroll
					for (int g = 0; g < G; g++) {
						Pack<4> part[2];
						if constexpr (!HELD) part[0] = shared4(queries, (g * WIDTH + 4 * L * c) * 4), part[1] = shared4(queries, (g * WIDTH + 4 * L * (N + c)) * 4);
#pragma unroll
						for (int i = 0; i < 8; i++) {
							float y = HELD ? q[HELD ? g : 0][c][i] : part[i / 4].v[i % 4];
#pragma unroll
							for (int u = 0; u < TOGETHER; u++) score[from + u][g] = fma(y, x[u][i], score[from + u][g]);
						}
					}
				}
			}
#pragma unroll
			for (int u = 0; u < TURNS; u++) {
#pragma unroll
				for (int g = 0; g < G; g++) {
#pragma unroll
					for (int m = 1; m < L; m *= 2) score[u][g] += shuffle(score[u][g], m);
					score[u][g] *= a.scale;
					settle(score[u][g]);
				}
			}
			if (float cap = a.cap; cap != 0) {
				settle(cap);
#pragma unroll
				for (int u = 0; u < TURNS; u++) {
#pragma unroll
					for (int g = 0; g < G; g++) score[u][g] = cap - 2 * cap / (1 + fast_exp(score[u][g] * (2 / cap)));
				}
			}
#pragma unroll
			for (int g = 0; g < G; g++) {
				float best = top[g];
#pragma unroll
				for (int u = 0; u < TURNS; u++) {
					int key = base + u * KEYS + lane / L;
					bool seen = MANY ? key >= s.sight[g].first && key <= s.sight[g].last : key >= from && key <= to;
					score[u][g] = seen ? score[u][g] : -INFINITE;
					best = __builtin_fmaxf(best, score[u][g]);
				}
				float rest = weight(top[g], best);
				top[g] = best;
				sum[g] *= rest;
#pragma unroll
				for (int c = 0; c < N; c++) {
#pragma unroll
					for (int i = 0; i < 8; i++) acc[g][c][i] *= rest;
				}
#pragma unroll
				for (int u = 0; u < TURNS; u++) {
					score[u][g] = weight(score[u][g], best);
					sum[g] += score[u][g];
				}
				settle(sum[g]);
			}
#pragma unroll
			for (int u = 0; u < TURNS; u++) {
#pragma unroll
				for (int c = 0; c < N; c++) {
#pragma unroll
					for (int i = 0; i < 8; i++) {
						float x = T::get(values[u][c], i);
#pragma unroll
						for (int g = 0; g < G; g++) acc[g][c][i] = fma(score[u][g], x, acc[g][c][i]);
					}
				}
			}
		}
		// Over the groups of lanes of the warp.
#pragma unroll
		for (int g = 0; g < G; g++) {
			float best = top[g];
#pragma unroll
			for (int m = L; m < 32; m *= 2) best = __builtin_fmaxf(best, shuffle(best, m));
			float f = weight(top[g], best), all = sum[g] * f;
#pragma unroll
			for (int m = L; m < 32; m *= 2) all += shuffle(all, m);
#pragma unroll
			for (int c = 0; c < N; c++) {
#pragma unroll
				for (int half = 0; half < 2; half++) {
					Pack<4> x;
#pragma unroll
					for (int i = 0; i < 4; i++) {
						x.v[i] = acc[g][c][4 * half + i] * f;
#pragma unroll
						for (int m = L; m < 32; m *= 2) x.v[i] += shuffle(x.v[i], m);
					}
					if (lane < L) store<4>(&s.acc[warp][g][place(8 * (c * L + lane) + 4 * half)], x);
				}
			}
			if (lane == 0) s.state[warp][g] = {best, all};
		}
	}

	// warps joins what the four warps have of value d of slot g.
	DEVICE_MEMBER float warps(const Shared &s, int g, int d, State *state) {
		float top = -INFINITE, sum = 0, acc = 0;
		for (int w = 0; w < 4; w++) top = __builtin_fmaxf(top, s.state[w][g].top);
		for (int w = 0; w < 4; w++) {
			float f = weight(s.state[w][g].top, top);
			sum = fma(s.state[w][g].sum, f, sum);
			acc = fma(s.acc[w][g][place(d)], f, acc);
		}
		*state = {top, sum};
		return acc;
	}

	// four reads values d… of slot g's query.
	DEVICE_MEMBER Pack<4> four(const Attention &a, int g, int d, i64 row0, i64 rows, int head0, int heads) {
		i64 row = row0 + g / a.row_heads;
		int head = g % a.row_heads;
		if (row >= rows || head >= heads || d >= a.key_dim) return {};
		return load<4>(a.q + (row * a.heads + head0 + head) * a.key_dim + d);
	}

	// load_q reads this lane's part of each slot's query, or all of it to shared memory,
	// where it is after a barrier.
	DEVICE_MEMBER void load_q(float (&q)[HELD ? G : 1][N][8], Shared &s, const Attention &a, i64 row0, i64 rows, int head0, int heads) {
		if constexpr (!HELD) {
#pragma unroll 1
			for (int i = tid_x(); i < G * WIDTH / 4; i += 128) {
				int g = i / (WIDTH / 4), d = 4 * (i % (WIDTH / 4));
				store<4>(&s.q[g][place(d)], four(a, g, d, row0, rows, head0, heads));
			}
			return;
		}
#pragma unroll
		for (int g = 0; g < (HELD ? G : 0); g++) {
#pragma unroll
			for (int c = 0; c < N; c++) {
#pragma unroll
				for (int half = 0; half < 2; half++) {
					Pack<4> x = four(a, g, 8 * (c * L + tid_x() % L) + 4 * half, row0, rows, head0, heads);
#pragma unroll
					for (int i = 0; i < 4; i++) q[g][c][4 * half + i] = x.v[i];
				}
			}
		}
	}

	//	grid x  rows of sequences that have few: row × seqs + sequence
	//	     y  heads of keys × parts of their query heads
	//	     z  spans
	DEVICE_MEMBER void few(const Step *step, const Attention &a, Shared &s) {
		int seq = block_x() % a.seqs, i = block_x() / a.seqs;
		if (seq >= step->seqs) return;
		int row = at(step->seq_start, seq) + i, rows = at(step->seq_start, seq + 1) - row + i;
		if (rows > a.few || i >= rows) return;
		Sight sight = sight_of(step, a, row, seq);
		int span_keys = span_of(sight, a.spans), first = sight.first / span_keys, spans = sight.last / span_keys - first + 1;
		if (block_z() >= spans) return;
		int group = a.heads / a.kv_heads, parts = (group + a.row_heads - 1) / a.row_heads;
		int kv_head = block_y() / parts, part = block_y() % parts;
		int head0 = kv_head * group + part * a.row_heads, heads = min_of(a.row_heads, group - part * a.row_heads);

		float q[HELD ? G : 1][N][8];
		load_q(q, s, a, row, row + 1, head0, heads);
		if (!HELD) barrier();
		int start = (first + block_z()) * span_keys;
		span<false>(step, a, s, q, seq, kv_head, start, max_of(start, sight.first), min_of(start + span_keys - 1, sight.last));
		barrier();
		for (int v = tid_x(); v < heads * WIDTH; v += 128) {
			int g = v / WIDTH, d = v % WIDTH;
			if (d >= a.value_dim) continue;
			State state;
			float acc = warps(s, g, d, &state);
			if (spans == 1) {
				a.out[((i64)row * a.heads + head0 + g) * a.value_dim + d] = finish(state, acc, a.sinks, head0 + g);
				continue;
			}
			i64 at = (((i64)seq * a.few + i) * a.heads + head0 + g) * a.spans + block_z();
			a.partial[at * a.value_dim + d] = acc;
			if (d == 0) a.tops[2 * at] = state.top, a.tops[2 * at + 1] = state.sum;
		}
	}

	//	grid x  G ÷ row_heads rows each
	//	     y  heads of keys × parts of their query heads
	DEVICE_MEMBER void many(const Step *step, const Attention &a, Shared &s) {
		int per = G / a.row_heads;
		i64 row0 = (i64)block_x() * per;
		if (row0 >= step->rows) return;
		i64 rows = row0 + per < step->rows ? row0 + per : step->rows;
		int group = a.heads / a.kv_heads, parts = (group + a.row_heads - 1) / a.row_heads;
		int kv_head = block_y() / parts, part = block_y() % parts;
		int head0 = kv_head * group + part * a.row_heads, heads = min_of(a.row_heads, group - part * a.row_heads);
		float q[HELD ? G : 1][N][8];
		load_q(q, s, a, row0, rows, head0, heads);
		for (int seq = at(step->seq, row0); seq <= at(step->seq, rows - 1); seq++) {
			int begin = at(step->seq_start, seq), end = at(step->seq_start, seq + 1);
			if (end - begin <= a.few) continue;
			int low = 0x7fffffff, high = -1; // what any slot of this sequence sees
			barrier();
#pragma unroll
			for (int g = 0; g < G; g++) {
				i64 row = row0 + g / a.row_heads;
				Sight sight = {1, 0};
				if (row >= begin && row < end && row < rows && g / a.row_heads < per && g % a.row_heads < heads) sight = sight_of(step, a, row, seq);
				if (sight.last >= sight.first) low = min_of(low, sight.first), high = max_of(high, sight.last);
				if (tid_x() == 0) s.sight[g] = sight, s.before[0][g] = {-INFINITE, 0};
			}
			for (int i = tid_x(); i < G * WIDTH; i += 128) s.all[i / WIDTH][i % WIDTH] = 0;
			int turn = 0;
			for (int start = low / SPAN * SPAN; start <= high; start += SPAN) {
				barrier();
				span<true>(step, a, s, q, seq, kv_head, start, max_of(start, low), min_of(start + SPAN - 1, high));
				barrier();
				for (int i = tid_x(); i < G * WIDTH; i += 128) {
					int g = i / WIDTH, d = i % WIDTH;
					State state, before = s.before[turn][g];
					float acc = warps(s, g, d, &state);
					Join j = join(before.top, state.top);
					s.all[g][d] = fma(acc, j.theirs, s.all[g][d] * j.mine);
					if (d == 0) s.before[turn ^ 1][g] = {j.top, fma(state.sum, j.theirs, before.sum * j.mine)};
				}
				turn ^= 1;
			}
			barrier();
			for (int i = tid_x(); i < G * WIDTH; i += 128) {
				int g = i / WIDTH, d = i % WIDTH;
				if (s.sight[g].last < s.sight[g].first || d >= a.value_dim) continue;
				int head = head0 + g % a.row_heads;
				a.out[((row0 + g / a.row_heads) * a.heads + head) * a.value_dim + d] = finish(s.before[turn][g], s.all[g][d], a.sinks, head);
			}
		}
	}
};

// How many blocks of a multiprocessor the registers should do for. Decode steps wait for
// memory, and each block has 16 KiB on their way; the bounds are what KERNELS.md lets
// hope for, 168 registers for three blocks, 128 for four.
constexpr int few_blocks(int turns, int slots) { return turns * slots == 1 ? 4 : turns * slots <= 4 ? 3 : 2; }
constexpr int many_blocks(int, int) { return 2; }

#define ATTEND(name, kind, T, L, N, G) \
	GLOBAL __attribute__((launch_bounds(128, kind##_blocks(N, G)))) void name(const Step *step, const float *q, float *out, float *partial, float *tops, const void *keys, \
		const void *values, const float *sinks, i64 key_page, i64 value_page, int heads, int kv_heads, int key_dim, int value_dim, int value_step, \
		float scale, float cap, int window, int both, int page_size, int spans, int few, int seqs, int row_heads) { \
		SHARED static Body<T, L, N, G>::Shared s; \
		Body<T, L, N, G>::kind(step, {q, out, partial, tops, keys, values, sinks, key_page, value_page, heads, kv_heads, key_dim, value_dim, value_step, \
			scale, cap, window, both, page_size, spans, few, seqs, row_heads}, s); \
	}

// The kernels of one type: NAME_KIND_LANESxSLOTS; 96 lanes stand for 32 of three turns.
#define ATTEND_FEW(type, T) \
	ATTEND(attend_##type##_few_2x1, few, T, 2, 1, 1) \
	ATTEND(attend_##type##_few_8x1, few, T, 8, 1, 1) \
	ATTEND(attend_##type##_few_8x4, few, T, 8, 1, 4) \
	ATTEND(attend_##type##_few_8x8, few, T, 8, 1, 8) \
	ATTEND(attend_##type##_few_16x1, few, T, 16, 1, 1) \
	ATTEND(attend_##type##_few_16x4, few, T, 16, 1, 4) \
	ATTEND(attend_##type##_few_16x8, few, T, 16, 1, 8) \
	ATTEND(attend_##type##_few_32x1, few, T, 32, 1, 1) \
	ATTEND(attend_##type##_few_32x4, few, T, 32, 1, 4) \
	ATTEND(attend_##type##_few_96x2, few, T, 32, 3, 2)

// Of the types that tensor cores take (attend_tiles.cuh) only the widest heads are left.
#define ATTEND_MANY_WIDE(type, T) \
	ATTEND(attend_##type##_many_96x2, many, T, 32, 3, 2)

#define ATTEND_MANY(type, T) \
	ATTEND(attend_##type##_many_2x8, many, T, 2, 1, 8) \
	ATTEND(attend_##type##_many_8x8, many, T, 8, 1, 8) \
	ATTEND(attend_##type##_many_16x8, many, T, 16, 1, 8) \
	ATTEND(attend_##type##_many_32x4, many, T, 32, 1, 4) \
	ATTEND_MANY_WIDE(type, T)
