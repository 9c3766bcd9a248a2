// What is done value by value. A thread does four values, or one where the width is no
// multiple of four; rows lie one after the other, so that a step's are one long run.
#include "math.cuh"

// count is how many values a buffer has in this step.
DEVICE i64 count(const Step *step, int width, int of_logits) { return (i64)(of_logits ? step->logits : step->rows) * width; }

// Act as prog has it.
enum { SILU, GELU, TANH };

DEVICE float act(int kind, float x) {
	if (kind == GELU) return gelu32(x);
	if (kind == TANH) return softcap32(x, 1);
	return silu32(x);
}

// EACH finds the first value i of the thread's pack; a thread beyond the step leaves.
#define EACH(N, i) \
	i64 i = N * ((i64)block_x() * threads_x() + tid_x()); \
	if (i >= count(step, width, of_logits)) return

// dst += scale × src, fused.
template <int N> DEVICE void add_packs(const Step *step, float *dst, const float *src, float scale, int width, int of_logits) {
	EACH(N, i);
	Pack<N> x = load<N>(dst + i), y = load<N>(src + i);
	for (int j = 0; j < N; j++) x.v[j] = fma(y.v[j], scale, x.v[j]);
	store<N>(dst + i, x);
}

// out = act(gate) × up; without up, act(gate).
template <int N> DEVICE void gate_packs(const Step *step, float *out, const float *gate, const float *up, int kind, int width, int of_logits) {
	EACH(N, i);
	Pack<N> x = load<N>(gate + i);
#pragma unroll
	for (int j = 0; j < N; j++) x.v[j] = act(kind, x.v[j]);
	if (up) {
		Pack<N> y = load<N>(up + i);
		for (int j = 0; j < N; j++) x.v[j] = mul(x.v[j], y.v[j]);
	}
	store<N>(out + i, x);
}

GLOBAL BLOCK(256) void add_to_4(const Step *step, float *dst, const float *src, float scale, int width, int of_logits) {
	add_packs<4>(step, dst, src, scale, width, of_logits);
}
GLOBAL BLOCK(256) void add_to_1(const Step *step, float *dst, const float *src, float scale, int width, int of_logits) {
	add_packs<1>(step, dst, src, scale, width, of_logits);
}
GLOBAL BLOCK(256) void gate_mul_4(const Step *step, float *out, const float *gate, const float *up, int kind, int width, int of_logits) {
	gate_packs<4>(step, out, gate, up, kind, width, of_logits);
}
GLOBAL BLOCK(256) void gate_mul_1(const Step *step, float *out, const float *gate, const float *up, int kind, int width, int of_logits) {
	gate_packs<1>(step, out, gate, up, kind, width, of_logits);
}

// row_scale is dst[row] ×= 1 ÷ (1 + e^−gate[row]), one block a row.
GLOBAL BLOCK(256) void row_scale(const Step *step, float *dst, const float *gate, int width, int of_logits) {
	i64 row = block_x();
	if (row >= (of_logits ? step->logits : step->rows)) return;
	float s = sigmoid32(gate[row]);
	dst += row * width;
	for (int i = tid_x(); i < width; i += threads_x()) dst[i] = mul(dst[i], s);
}
