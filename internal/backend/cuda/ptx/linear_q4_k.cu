// Q4_K: 256 nibbles in 8 blocks of 32, each with a scale and a minimum of 6 bits, and f16
// factors of both; activations in blocks of 256.
//
// A packed nibble is the file's; scale and minimum are a byte each, the factors share
// a word. A block's products, scale × dot, are exact and below 2^22:
//
//	63 × 32 × 15 × 127 = 3840480
#include "gemv.cuh"

struct Q4_K {
	const u8 *w;
	int nb;
	INLINE Q4_K(const u8 *matrix, int blocks) : w(matrix), nb(blocks) {}

	struct Raw {
		u32x4 q[WARP_ROWS];
		u32x2 s;
		u32x4 d;
	};
	INLINE Raw fetch(int r0, int b) const {
		Raw x;
		const u8 *panel = w + (i64)(r0 >> 3) * nb * (8 * 16 + 16 + 4);
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) x.q[i] = load16(panel + (i64)((r0 & 7) + i) * nb * 16 + (i64)b * 16);
		x.s = load8(panel + (i64)nb * 128 + (i64)b * 16 + (r0 & 7) * 2);
		x.d = load16(panel + (i64)nb * 144 + (i64)(b >> 3) * 32 + (r0 & 7) * 4);
		return x;
	}
	struct Block {
		u32x4 lo[WARP_ROWS], hi[WARP_ROWS];
		int scale[WARP_ROWS];
		float least[WARP_ROWS], d[WARP_ROWS], dmin[WARP_ROWS];
	};
	INLINE Block open(const Raw &x) const {
		Block w;
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) {
			w.lo[i] = x.q[i] & 0x0f0f0f0f;
			w.hi[i] = (x.q[i] >> 4) & 0x0f0f0f0f;
			w.scale[i] = half_of(x.s, i) & 255;
			w.least[i] = (float)(half_of(x.s, i) >> 8);
			w.d[i] = half_to_float((u16)x.d[i]);
			w.dmin[i] = half_to_float((u16)(x.d[i] >> 16));
		}
		return w;
	}
	INLINE Acts8 acts(const Call &c, int row, int b) const { return acts_k(c, row, b); }
	INLINE void add(float *sum, const Block &w, const Acts8 &x) const {
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) {
			int dot = dot16(w.hi[i], x.q[1], dot16(w.lo[i], x.q[0], 0)) * w.scale[i] + SEED;
			sum[i] = __builtin_fmaf(seeded(dot), mul(w.d[i], x.d), sum[i]);
			sum[i] = __builtin_fmaf(-mul(w.least[i], x.sum), mul(w.dmin[i], x.d), sum[i]);
		}
	}
};
GEMVS(gemv_q4_k, Q4_K)
