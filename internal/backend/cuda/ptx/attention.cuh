// What all attention kernels share: what they are told, what a row sees, how parts of a
// softmax are joined, and how values are kept from living longer than they are needed.
#pragma once
#include "cache.cuh"

// What a kernel is told.
struct Attention {
	const float *q;     // [rows][heads][key_dim]
	float *out;         // [rows][heads][value_dim]
	float *partial;     // few: [seqs × few][heads][spans][value_dim]
	float *tops;        // few: [seqs × few][heads][spans][2]: maximum and sum
	const void *keys;   // of the layer
	const void *values; // of the layer, or keys
	const float *sinks; // [heads], or null
	i64 key_page, value_page; // bytes from page to page
	int heads, kv_heads, key_dim, value_dim;
	int value_step; // from value to value: value_dim, or key_dim where they lie in keys
	float scale, cap; // cap 0: none
	int window, both;
	int page_size;
	int spans;     // few: the most spans of a row, to which partial is made
	int few;       // sequences of up to so many rows are attend_few's
	int seqs;      // few: the grid's sequences, at least the step's
	int row_heads; // slots of one row: at most the query heads of a head of keys
};

constexpr int SPAN = 128; // keys of the shortest span

// Sight are the first and the last key that a row sees.
struct Sight {
	int first, last;
};

DEVICE Sight sight_of(const Step *step, const Attention &a, i64 row, int seq) {
	int pos = at(step->pos, row), end = at(step->ctx_len, seq) - 1;
	if (a.both) {
		if (a.window > 0) return {max_of(0, pos - a.window / 2), min_of(end, pos + a.window / 2)};
		return {0, end};
	}
	return {a.window > 0 ? max_of(0, pos - a.window + 1) : 0, pos};
}

// span_of is how long a row's spans are: so long that there are at most `most`. It
// depends on what the row sees alone.
DEVICE int span_of(Sight s, int most) {
	int span = SPAN;
	while (s.last / span - s.first / span >= most) span *= 2;
	return span;
}

// weight is e^(score − top), 0 for what is left out, also where nothing was seen yet.
DEVICE float weight(float score, float top) { return fast_exp(score - (top == -INFINITE ? 0 : top)); }

DEVICE float shuffle(float v, int mask) { return __nvvm_shfl_sync_bfly_f32(0xffffffffu, v, mask, 31); }

// State is the softmax of a slot over some keys: out = acc ÷ sum, weights being
// relative to e^top.
struct State {
	float top, sum;
};

// joined is the factor of either of two states once they are one.
struct Join {
	float top, mine, theirs;
};
DEVICE Join join(float mine, float theirs) {
	float top = __builtin_fmaxf(mine, theirs);
	return {top, weight(mine, top), weight(theirs, top)};
}

// finish is a slot's output: the sink takes part in the sum alone.
DEVICE float finish(State s, float acc, const float *sinks, int head) {
	if (sinks) {
		Join j = join(s.top, sinks[head]);
		s.sum = fma(s.sum, j.mine, j.theirs);
		acc *= j.mine;
	}
	return acc * (1 / s.sum);
}

// shared_at is an address for the instructions that want one of shared memory.
DEVICE u32 shared_at(const void *p) { return (u32)(u64)(const __attribute__((address_space(3))) void *)p; }

// anew is v, of which the compiler knows nothing: what is computed from it is computed
// there, rather than kept from before.
DEVICE int anew(int v) {
	asm volatile("" : "+r"(v));
	return v;
}

// settle has v computed by here: put off, it would keep all that it is made of.
DEVICE void settle(float &v) { asm volatile("" : "+f"(v)); }
DEVICE void settle(u32 &v) { asm volatile("" : "+r"(v)); }

// global16 reads 16 bytes, where it stands and by one instruction: values are loaded
// before keys are used.
DEVICE void global16(u32 *w, const u8 *p, int apart) {
	asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4+%5];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "l"((const __attribute__((address_space(1))) u8 *)p), "i"(apart));
}

// shared4 reads four floats of shared memory, each time anew.
DEVICE Pack<4> shared4(u32 at, int apart) {
	Pack<4> x;
	asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4+%5];" : "=f"(x.v[0]), "=f"(x.v[1]), "=f"(x.v[2]), "=f"(x.v[3]) : "r"(at), "i"(apart) : "memory");
	return x;
}
