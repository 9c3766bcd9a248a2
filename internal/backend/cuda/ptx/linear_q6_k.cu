// Q6_K: 256 quants of 6 bits in 16 sub-blocks with int8 scales, and an f16 factor;
// activations in blocks of 256.
//
// A packed quant is the weight, −32 to 31, in two's complement, its low 4 bits in a
// nibble and its high 2 in a word for each half of a block, where bits 2w and 2w + 1 of
// byte i belong to value 4w + i. Put at the top of a byte it is 4 × the weight; the
// factor is a quarter.
#include "gemmk.cuh"
#include "gemv.cuh"

struct Q6_K {
	const u8 *w;
	int nb;
	INLINE Q6_K(const u8 *matrix, int blocks) : w(matrix), nb(blocks) {}

	struct Raw {
		u32x4 q[WARP_ROWS];
		u32x2 high[WARP_ROWS], s, d;
	};
	INLINE Raw fetch(int r0, int b) const {
		Raw x;
		const u8 *panel = w + (i64)(r0 >> 3) * nb * (8 * 24 + 16 + 2);
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) {
			int r = (r0 & 7) + i;
			x.q[i] = load16(panel + (i64)r * nb * 16 + (i64)b * 16);
			x.high[i] = load8(panel + (i64)nb * 128 + (i64)r * nb * 8 + (i64)b * 8);
		}
		x.s = load8(panel + (i64)nb * 192 + (i64)b * 16 + (r0 & 7) * 2);
		x.d = load8(panel + (i64)nb * 208 + (i64)(b >> 3) * 16 + (r0 & 7) * 2);
		return x;
	}
	struct Block {
		u32x4 lo[WARP_ROWS], hi[WARP_ROWS]; // the two sub-blocks
		int scale[WARP_ROWS][2];
		float d[WARP_ROWS];
	};
	INLINE Block open(const Raw &x) const {
		Block w;
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) {
#pragma unroll
			for (int k = 0; k < 4; k++) {
				w.lo[i][k] = ((x.q[i][k] << 2) & 0x3c3c3c3c) | ((x.high[i].x << (6 - 2 * k)) & 0xc0c0c0c0);
				w.hi[i][k] = ((x.q[i][k] >> 2) & 0x3c3c3c3c) | ((x.high[i].y << (6 - 2 * k)) & 0xc0c0c0c0);
			}
			w.scale[i][0] = (i8)half_of(x.s, i);
			w.scale[i][1] = (i8)(half_of(x.s, i) >> 8);
			w.d[i] = half_to_float((u16)half_of(x.d, i)) * 0.25f;
		}
		return w;
	}
	INLINE Acts8 acts(const Call &c, int row, int b) const {
		Acts8 x = acts_k(c, row, b);
		x.sum = 0; // no minima
		return x;
	}
	// At most 2 × 128 × 16 × 128 × 127, which float32 may not have; but it is 4 times an
	// integer below 2^24, which float32 has.
	INLINE void add(float *sum, const Block &w, const Acts8 &x) const {
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) {
			int dot = dot16(w.lo[i], x.q[0], 0) * w.scale[i][0] + dot16(w.hi[i], x.q[1], 0) * w.scale[i][1];
			sum[i] = __builtin_fmaf((float)dot, mul(w.d[i], x.d), sum[i]);
		}
	}
};
GEMVS_4(gemv_q6_k, Q6_K)

// A panel has 210 bytes a block, of which 2 are of the super-blocks: 8 × 16 of nibbles,
// 8 × 8 of high bits, 16 of scales. A sub-block is 16 values: half a block, and half of
// what m16n8k32 would take.
struct Tile6_K {
	static constexpr int PANEL = 210, SCALES = 192, SUPER = 16;
	static constexpr int HIGH_ROW = 80; // of 64 bytes: rows lie in different banks
	static constexpr bool MINIMA = false;
	INLINE static void fragments(u32 (*a)[4], u32 at, u32 high, int p, int t) {
		u32 r[4];
		load_matrices(r, other_chunk(at, 2 * p));
		int shift = 6 - 2 * t;
#pragma unroll
		for (int h = 0; h < 2; h++) {
			u32x4 bits = shared16(high + h * 8 * HIGH_ROW + p * 16);
#pragma unroll
			for (int e = 0; e < 2; e++) {
				u32 q = r[2 * e + h];
				a[e][h] = ((q << 2) & 0x3c3c3c3c) | ((bits[2 * e] << shift) & 0xc0c0c0c0);
				a[e][2 + h] = ((q >> 2) & 0x3c3c3c3c) | ((bits[2 * e + 1] << shift) & 0xc0c0c0c0);
			}
		}
	}
	struct Scales {
		float first, second;
	};
	INLINE static Scales scales(u16 s) { return {(float)(i8)s, (float)(i8)(s >> 8)}; }
	INLINE static void add(float *part, const u32 *a, const u32 *x, const Scales *scale) {
		int dot[4];
		mma_16(dot, a[0], a[1], x[0], SEED);
#pragma unroll
		for (int i = 0; i < 4; i++) part[i] = fma(seeded(dot[i]), scale[i / 2].first, part[i]);
		mma_16(dot, a[2], a[3], x[1], SEED);
#pragma unroll
		for (int i = 0; i < 4; i++) part[i] = fma(seeded(dot[i]), scale[i / 2].second, part[i]);
	}
	INLINE static void minima(u32 *, const u8 *, int, int) {}
	INLINE static void finish(float *sum, const float *part, const float *, const u8 *supers, int g, f32x2 dx) {
		float d = half_in(supers + g * 2) * 0.25f;
#pragma unroll
		for (int i = 0; i < 2; i++) sum[i] = fma(part[i], mul(d, dx[i]), sum[i]);
	}
};
typedef Blocks256<Tile6_K> Blocks6_K;
GEMMS(gemm_q6_k, Blocks6_K)
