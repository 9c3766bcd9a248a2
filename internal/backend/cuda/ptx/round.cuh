// Activations rounded to 8 bits as the weights they meet want it: internal/quant's Act,
// to the bit. How the results lie is in linear.cuh. What rounds and nothing else is in
// quantize.cu; norm.cu and act.cu round what they have just made.
#pragma once
#include "linear.cuh"

DEVICE u32 warp_max_bits(u32 v, int lanes) {
	for (int i = lanes / 2; i > 0; i >>= 1) {
		u32 o = __nvvm_shfl_sync_bfly_i32(0xffffffffu, v, i, 31);
		v = v > o ? v : o;
	}
	return v;
}

// The magnitude as an integer: NaN is above infinity.
DEVICE u32 bits_of(float v) { return __builtin_bit_cast(u32, v) & 0x7fffffff; }
DEVICE u32 most_of(f32x4 v) {
	u32 a = bits_of(v.x), b = bits_of(v.y), c = bits_of(v.z), d = bits_of(v.w);
	a = a > b ? a : b;
	c = c > d ? c : d;
	return a > c ? a : c;
}

// x × inv to the nearest, ties to even, within ±127; NaN is 0.
DEVICE int quant_of(float x, float inv) {
	float r = __builtin_rintf(mul(x, inv));
	int i = (int)__builtin_fminf(__builtin_fmaxf(r, -127.f), 127.f);
	return r == r ? i : 0;
}
DEVICE u32 quants_of(f32x4 v, float inv, int *sum) {
	int a = quant_of(v.x, inv), b = quant_of(v.y, inv), c = quant_of(v.z, inv), d = quant_of(v.w, inv);
	*sum += a + b + c + d;
	return (u32)(a & 255) | (u32)(b & 255) << 8 | (u32)(c & 255) << 16 | (u32)(d & 255) << 24;
}

// Which row of the result a row becomes.
struct Target {
	i64 to;
	int pads; // rows behind it in its panel that are nobody's
	int nb;   // blocks of 32
};

// Rows in order, each as it is.
DEVICE Target in_order(i64 row, int rows, int width) { return Target{row, row + 1 >= rows ? 7 - (int)(row & 7) : 0, width / 32}; }

// What lies by panels is copied by 16 bytes: rows of a panel that are nobody's get
// zeros, which become columns of a product that nobody reads.

// A thread's values of block b of 32: `part` says which four, that many lanes apart.
// All lanes of a warp shuffle; those that are not `in` the row write nothing.
DEVICE void round_32(f32x4 v, bool in, int b, const Target &t, u8 *q, float *d) {
	int part = tid_x() & 7;
	float most = __builtin_bit_cast(float, warp_max_bits(most_of(v), 8));
	if (!in) return;
	int sum = 0;
	u32 bytes = quants_of(v, 127.f / most, &sum);
	*(u32 *)(q + t.to * t.nb * 32 + (i64)(part / 4) * t.nb * 16 + (i64)b * 16 + part % 4 * 4) = bytes;
	float *to = d + ((t.to >> 3) * t.nb + b) * 8 + (t.to & 7);
	if (part == 0) *to = half_to_float(float_to_half(most / 127.f));
	else if (part <= t.pads) to[part] = 0;
}

// A lane's eight values of a block of 256 that its warp has; with the sum of each 32
// quants.
DEVICE void round_256(f32x4 v, f32x4 w, int super, const Target &t, u8 *q, float *d, i16 *sums) {
	int lane = tid_x() & 31;
	u32 a = most_of(v), c = most_of(w);
	float inv = 127.f / __builtin_bit_cast(float, warp_max_bits(a > c ? a : c, 32));
	int sum = 0, b = super * 8 + lane / 4, part = lane & 3;
	u32x2 bytes;
	bytes.x = quants_of(v, inv, &sum);
	bytes.y = quants_of(w, inv, &sum);
	*(u32x2 *)(q + t.to * t.nb * 32 + (i64)(part / 2) * t.nb * 16 + (i64)b * 16 + part % 2 * 8) = bytes;
	sum += __nvvm_shfl_sync_bfly_i32(0xffffffffu, sum, 1, 31);
	sum += __nvvm_shfl_sync_bfly_i32(0xffffffffu, sum, 2, 31);
	i64 panel = t.to >> 3;
	int in = (int)(t.to & 7);
	i16 *sum_to = sums + (panel * t.nb + b) * 8 + in;
	if (part == 0) {
		*sum_to = (i16)sum;
		for (int i = 1; i <= t.pads; i++) sum_to[i] = 0;
	}
	float *to = d + (panel * (t.nb / 8) + super) * 8 + in;
	if (lane == 0) *to = 1.f / inv;
	else if (lane <= t.pads) to[lane] = 0;
}
