// Q8_0: 32 signed bytes, an f16 scale; activations in blocks of 32.
#include "gemmint.cuh"
#include "gemv.cuh"

struct Q8_0 {
	const u8 *w;
	int nb;
	INLINE Q8_0(const u8 *matrix, int blocks) : w(matrix), nb(blocks) {}

	struct Raw {
		u32x4 q[WARP_ROWS][2];
		u32x2 d;
	};
	INLINE Raw fetch(int r0, int b) const {
		Raw x;
		const u8 *panel = w + (i64)(r0 >> 3) * nb * (8 * 32 + 16);
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) {
			const u8 *q = panel + (i64)((r0 & 7) + i) * nb * 32 + (i64)b * 16;
			x.q[i][0] = load16(q);
			x.q[i][1] = load16(q + (i64)nb * 16);
		}
		x.d = load8(panel + (i64)nb * 256 + (i64)b * 16 + (r0 & 7) * 2);
		return x;
	}
	struct Block {
		u32x4 q[WARP_ROWS][2];
		float d[WARP_ROWS];
	};
	INLINE Block open(const Raw &x) const {
		Block w;
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) {
			w.q[i][0] = x.q[i][0];
			w.q[i][1] = x.q[i][1];
			w.d[i] = half_to_float((u16)half_of(x.d, i));
		}
		return w;
	}
	INLINE Acts8 acts(const Call &c, int row, int b) const { return acts8(c, row, b); }
	INLINE void add(float *sum, const Block &w, const Acts8 &x) const {
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) {
			int dot = dot16(w.q[i][1], x.q[1], dot16(w.q[i][0], x.q[0], SEED));
			sum[i] = __builtin_fmaf(seeded(dot), mul(w.d[i], x.d), sum[i]);
		}
	}
};
GEMVS_8(gemv_q8_0, Q8_0)

// Chunk 2b + h of a row of shared memory is half h of block b, as of the activations:
// the matrices of a fragment are outputs 0–7 and 8–15 of the first half, then of the
// second.
struct Tile8_0 {
	static constexpr int UB = 4, PANEL = 272;
	static constexpr float FACTOR = 1;
	INLINE static const u8 *weights(const Job &j, int m, int i, int &c, int &block) {
		int h = i / UB;
		block = i % UB;
		c = 2 * block + h;
		return j.panel(m >> 3, PANEL) + ((i64)(m & 7) * 2 + h) * j.nb * 16 + block * 16;
	}
	INLINE static void fragments(u32 (*a)[4], u32 at, int p) {
#pragma unroll
		for (int e = 0; e < 2; e++) load_matrices(a[e], other_chunk(at, 2 * (2 * p + e)));
	}
};
typedef Blocks32<Tile8_0> Blocks8_0;
GEMMS(gemm_q8_0, Blocks8_0)
