// Q4_K: 256 nibbles in 8 blocks of 32, each with a scale and a minimum of 6 bits, and f16
// factors of both; activations in blocks of 256.
//
// A packed nibble is the file's; scale and minimum are a byte each, the factors share
// a word. A block's products, scale × dot, are exact and below 2^22:
//
//	63 × 32 × 15 × 127 = 3840480
#include "gemmk.cuh"
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
GEMVS_4(gemv_q4_k, Q4_K)

// A panel has 148 bytes a block, of which 4 are of the super-blocks: 8 × 16 of nibbles,
// 16 of scales and minima.
struct Tile4_K {
	static constexpr int PANEL = 148, SCALES = 128, SUPER = 32, HIGH_ROW = 0;
	static constexpr bool MINIMA = true;
	INLINE static void fragments(u32 (*a)[4], u32 at, u32, int p, int) {
		u32 r[4];
		load_matrices(r, other_chunk(at, 2 * p));
#pragma unroll
		for (int e = 0; e < 2; e++) {
			a[e][0] = r[2 * e] & 0x0f0f0f0f;
			a[e][1] = r[2 * e + 1] & 0x0f0f0f0f;
			a[e][2] = (r[2 * e] >> 4) & 0x0f0f0f0f;
			a[e][3] = (r[2 * e + 1] >> 4) & 0x0f0f0f0f;
		}
	}
	typedef float Scales;
	INLINE static float scales(u16 s) { return (float)(s & 255); }
	INLINE static void add(float *part, const u32 *a, const u32 *x, const float *scale) {
		int dot[4];
		mma_32(dot, a, x, SEED);
#pragma unroll
		for (int i = 0; i < 4; i++) part[i] = fma(seeded(dot[i]), scale[i / 2], part[i]);
	}
	// Σ minimum × sum of 32 over a super-block is a product too, of f16: the sum, up to
	// 4064, as 64 × high + low, which f16 has exactly. The left operand has 64 × minimum
	// in its first 8 columns and the minimum in the others; lane t of a row has blocks
	// 2t and 2t + 1 of both.
	INLINE static void minima(u32 *a, const u8 *scales, int g, int t) {
#pragma unroll
		for (int h = 0; h < 2; h++) {
			const u8 *s = scales + (h * 8 + 2 * t) * 16 + g * 2 + 1;
			int m0 = s[0], m1 = s[16];
			a[h] = halves(64 * m0, 64 * m1);
			a[2 + h] = halves(m0, m1);
		}
	}
	INLINE static void finish(float *sum, const float *part, const float *low, const u8 *supers, int g, f32x2 dx) {
		float d = half_in(supers + g * 4), dmin = half_in(supers + g * 4 + 2);
#pragma unroll
		for (int i = 0; i < 2; i++) {
			sum[i] = fma(part[i], mul(d, dx[i]), sum[i]);
			sum[i] = fma(-low[i], mul(dmin, dx[i]), sum[i]);
		}
	}
};
typedef Blocks256<Tile4_K> Blocks4_K;
GEMMS(gemm_q4_k, Blocks4_K)
