// Q4_0: 32 nibbles, an f16 scale; activations in blocks of 32.
//
// A packed nibble is the weight, −8 to 7, in two's complement: in the upper half of a
// byte it is 16 × the weight as a signed byte, in one instruction. The sum is 16 times
// what it should be, |sum| ≤ 32 × 128 × 127 as for Q8_0, and the scale a sixteenth.
#include "gemmint.cuh"
#include "gemv.cuh"

struct Q4_0 {
	const u8 *w;
	int nb;
	INLINE Q4_0(const u8 *matrix, int blocks) : w(matrix), nb(blocks) {}

	struct Raw {
		u32x4 q[WARP_ROWS];
		u32x2 d;
	};
	INLINE Raw fetch(int r0, int b) const {
		Raw x;
		const u8 *panel = w + (i64)(r0 >> 3) * nb * (8 * 16 + 16);
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) x.q[i] = load16(panel + (i64)((r0 & 7) + i) * nb * 16 + (i64)b * 16);
		x.d = load8(panel + (i64)nb * 128 + (i64)b * 16 + (r0 & 7) * 2);
		return x;
	}
	struct Block {
		u32x4 lo[WARP_ROWS], hi[WARP_ROWS];
		float d[WARP_ROWS];
	};
	INLINE Block open(const Raw &x) const {
		Block w;
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) {
			w.lo[i] = (x.q[i] << 4) & 0xf0f0f0f0;
			w.hi[i] = x.q[i] & 0xf0f0f0f0;
			w.d[i] = half_to_float((u16)half_of(x.d, i)) * 0.0625f;
		}
		return w;
	}
	INLINE Acts8 acts(const Call &c, int row, int b) const { return acts8(c, row, b); }
	INLINE void add(float *sum, const Block &w, const Acts8 &x) const {
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) {
			int dot = dot16(w.hi[i], x.q[1], dot16(w.lo[i], x.q[0], SEED));
			sum[i] = __builtin_fmaf(seeded(dot), mul(w.d[i], x.d), sum[i]);
		}
	}
};
GEMVS_4(gemv_q4_0, Q4_0)

struct Tile4_0 {
	static constexpr int UB = 8, PANEL = 144;
	static constexpr float FACTOR = 0.0625f;
	INLINE static const u8 *weights(const Job &j, int m, int i, int &c, int &block) { return nibbles_of(j, m, i, c, block, PANEL); }
	INLINE static void fragments(u32 (*a)[4], u32 at, int p) {
		u32 r[4];
		load_matrices(r, other_chunk(at, 2 * p));
#pragma unroll
		for (int e = 0; e < 2; e++) {
			a[e][0] = (r[2 * e] << 4) & 0xf0f0f0f0;
			a[e][1] = (r[2 * e + 1] << 4) & 0xf0f0f0f0;
			a[e][2] = r[2 * e] & 0xf0f0f0f0;
			a[e][3] = r[2 * e + 1] & 0xf0f0f0f0;
		}
	}
};
typedef Blocks32<Tile4_0> Blocks4_0;
GEMMS(gemm_q4_0, Blocks4_0)
