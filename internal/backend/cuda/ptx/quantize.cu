// Activations rounded as the weights they meet want it, by kernels that do nothing else:
// internal/quant's Act, to the bit. How the results lie is in linear.cuh.
//
// Rows of the source come by a stride and may be parts of rows: heads, or rows that
// are gathered (experts).
#include "round.cuh"

// Four values, aligned, that no running kernel writes.
DEVICE f32x4 floats(const float *p) { return __builtin_bit_cast(f32x4, load16(p)); }

// Where row block_x of a rounding comes from, and which row of the result it is. Rows
// lie `stride` values apart, those of group block_z `apart` behind; or `from` says for
// each which one it is a copy of, none if that is below 0.
struct Source {
	const float *row;
	i64 to;
	int cols; // values; what a block has beyond is 0
	int pads; // rows behind it in its panel that are nobody's
};
DEVICE bool source_of(const int *counts, const int *from, const float *src, int stride, int apart, int to_row, int to_group, int cols, Source &s) {
	int row = block_x();
	if (row >= counts[0]) return false;
	int at = from ? from[row] : row;
	if (at < 0) return false;
	i64 to = (i64)row * to_row + (i64)block_z() * to_group;
	bool last = to_row == 1 && (row + 1 >= counts[0] || (from && from[row + 1] < 0));
	s = Source{src + (i64)at * stride + (i64)block_z() * apart, to, cols, last ? 7 - (int)(to & 7) : 0};
	return true;
}

#define ROUND_PARAMS \
	const int *counts, const int *from, const float *src, int stride, int apart, int to_row, int to_group, int cols, int nb
#define ROUND_SOURCE \
	Source s;        \
	if (!source_of(counts, from, src, stride, apart, to_row, to_group, cols, s)) return;

// Blocks of 32, each by 8 lanes with 4 values; 128 threads have 16 blocks.
GLOBAL BLOCK(128) void round_q8x32(ROUND_PARAMS, u8 *q, float *d) {
	ROUND_SOURCE
	int b = block_y() * 16 + tid_x() / 8, part = tid_x() & 7;
	bool in = b < nb; // all lanes of a warp shuffle
	f32x4 v = {};
	if (in) v = floats(s.row + b * 32 + part * 4);
	round_32(v, in, b, Target{s.to, s.pads, nb}, q, d);
}

// Blocks of 256, each by a warp whose lanes have 8 values. 128 threads have 4 blocks.
GLOBAL BLOCK(128) void round_q8x256(ROUND_PARAMS, u8 *q, float *d, i16 *sums) {
	ROUND_SOURCE
	int super = block_y() * 4 + tid_x() / 32, lane = tid_x() & 31;
	if (super * 8 >= nb) return;
	const float *x = s.row + super * 256 + lane * 8;
	round_256(floats(x), floats(x + 4), super, Target{s.to, s.pads, nb}, q, d, sums);
}

// Floats; rows are whole chunks of 16 bytes of the weights, which may be more than the
// values fill.

// A copy: where rows of the source are not whole chunks, or not in order. nb is the
// values of a row of the result.
GLOBAL BLOCK(128) void round_f32(ROUND_PARAMS, float *to) {
	ROUND_SOURCE
	int i = block_y() * 128 + tid_x();
	if (i < nb) to[s.to * nb + i] = i < cols ? s.row[i] : 0;
}

// What follows takes nb as the chunks of 8 values.

// To bf16, to the nearest, ties to even, denormals to zero first.
DEVICE u16 bf16_of(float v) {
	u32 b = __builtin_bit_cast(u32, v), magnitude = b & 0x7fffffff;
	if (magnitude < 0x00800000) return (u16)(b >> 16 & 0x8000);
	if (magnitude > 0x7f800000) return (u16)(b >> 16 | 0x40); // a NaN stays one
	return (u16)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
GLOBAL BLOCK(128) void round_bf16(ROUND_PARAMS, u16 *to) {
	ROUND_SOURCE
	int i = block_y() * 128 + tid_x();
	if (i < nb * 8) to[s.to * nb * 8 + i] = i < cols ? bf16_of(s.row[i]) : 0;
}

// As two terms of f16, x × 2^k = high + low, which keep 22 bits: with k such that the
// largest magnitude of the row is 2^14 to 2^15. scale is 2^-k. One block a row.
GLOBAL BLOCK(256) void split_f16(ROUND_PARAMS, u16 *high, u16 *low, float *scale) {
	SHARED u32 most_by_warp[8];
	ROUND_SOURCE
	u32 most = 0;
	for (int i = tid_x(); i < cols; i += 256) {
		u32 b = bits_of(s.row[i]);
		most = most > b ? most : b;
	}
	most = warp_max_bits(most, 32);
	if ((tid_x() & 31) == 0) most_by_warp[tid_x() / 32] = most;
	barrier();
#pragma unroll
	for (int i = 0; i < 8; i++) most = most > most_by_warp[i] ? most : most_by_warp[i];
	int k = min_of(141 - (int)(most >> 23), 120);
	float up = __builtin_bit_cast(float, (127 + k) << 23);
	if (tid_x() == 0) scale[s.to] = __builtin_bit_cast(float, (127 - k) << 23);
	for (int i = tid_x(); i < nb * 8; i += 256) {
		float v = i < cols ? s.row[i] * up : 0;
		u16 h = float_to_half(v);
		high[s.to * nb * 8 + i] = h;
		low[s.to * nb * 8 + i] = float_to_half(v - half_to_float(h));
	}
}
