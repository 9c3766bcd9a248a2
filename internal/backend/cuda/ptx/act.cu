// What is done value by value. A thread does four values, or one where the width is no
// multiple of four; rows lie one after the other, so that a step's are one long run.
#include "round.cuh"

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

// act(gate) × up of N values from i on; without up, act(gate).
template <int N> DEVICE Pack<N> gated(const float *gate, const float *up, int kind, i64 i) {
	Pack<N> x = load<N>(gate + i);
#pragma unroll
	for (int j = 0; j < N; j++) x.v[j] = act(kind, x.v[j]);
	if (up) {
		Pack<N> y = load<N>(up + i);
		for (int j = 0; j < N; j++) x.v[j] = mul(x.v[j], y.v[j]);
	}
	return x;
}
template <int N> DEVICE void gate_packs(const Step *step, float *out, const float *gate, const float *up, int kind, int width, int of_logits) {
	EACH(N, i);
	store<N>(out + i, gated<N>(gate, up, kind, i));
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

// gate_mul and the rounding of what it makes, by the blocks of the rounding: 128 threads
// have 512 values of a row in blocks of 32, or 1,024 in blocks of 256, and width is a
// multiple of the block.
GLOBAL BLOCK(128) void gate_mul_q8x32(const Step *step, float *out, const float *gate, const float *up, int kind, int width, int of_logits, u8 *q, float *d) {
	int rows = of_logits ? step->logits : step->rows;
	i64 row = block_x(), first = row * width;
	if (row >= rows) return;
	int i = block_y() * 512 + tid_x() * 4;
	bool in = i < width; // all lanes of a warp shuffle
	Pack<4> x = {};
	if (in) store<4>(out + first + i, x = gated<4>(gate, up, kind, first + i));
	round_32(__builtin_bit_cast(f32x4, x), in, i / 32, in_order(row, rows, width), q, d);
}
GLOBAL BLOCK(128) void gate_mul_q8x256(const Step *step, float *out, const float *gate, const float *up, int kind, int width, int of_logits, u8 *q, float *d, i16 *sums) {
	int rows = of_logits ? step->logits : step->rows;
	i64 row = block_x(), first = row * width;
	if (row >= rows) return;
	int i = block_y() * 1024 + tid_x() * 8;
	if (i >= width) return; // a warp as a whole
	Pack<4> x = gated<4>(gate, up, kind, first + i), y = gated<4>(gate, up, kind, first + i + 4);
	store<4>(out + first + i, x);
	store<4>(out + first + i + 4, y);
	round_256(__builtin_bit_cast(f32x4, x), __builtin_bit_cast(f32x4, y), i / 256, in_order(row, rows, width), q, d, sums);
}

// row_scale is dst[row] ×= 1 ÷ (1 + e^−gate[row]), one block a row.
GLOBAL BLOCK(256) void row_scale(const Step *step, float *dst, const float *gate, int width, int of_logits) {
	i64 row = block_x();
	if (row >= (of_logits ? step->logits : step->rows)) return;
	float s = sigmoid32(gate[row]);
	dst += row * width;
	for (int i = tid_x(); i < width; i += threads_x()) dst[i] = mul(dst[i], s);
}
