// The tensor-core products of 16-bit floats: 64 values a unit.
#pragma once
#include "gemm.cuh"

// TERMS of activations, one after the other in a row of shared memory; mma multiplies
// 16 of K.
template <int TERMS, void (*MMA)(float *, const u32 *, const u32 *)> struct Floats {
	static constexpr int BLOCKS = 2, WIDE = 2, UNIT = 8, B_CHUNKS = 8 * TERMS, PANEL = 128, X_BLOCK = 16, ADVANCE = 128;
	INLINE static const u8 *weights(const Job &j, int m, int i, int &c, int &block) {
		c = block = i;
		return j.panel(m >> 3, PANEL) + ((i64)(m & 7) * j.nb + i) * 16;
	}
	INLINE static const u8 *acts(const Job &j, int n, int i, int &c, int &block) {
		c = i;
		block = i % 8;
		const u8 *term = i < 8 ? j.call.x : (const u8 *)j.call.xs;
		return term + ((i64)(j.x0 + n) * j.nb + block) * 16;
	}
	template <class S> struct Sides {
		static constexpr int BYTES = 0;
		INLINE Sides(const Job &) {}
		INLINE void unit(const Job &, u32, int) {}
	};
	template <class S> INLINE static void multiply(float (*sum)[S::NT][4], int from, int wm, int wn, int lane) {
		u32 a_at = shared_at(pool + from), b_at = a_at + Stage<Floats, S>::A;
		int m0 = wm * S::MT * 16, n0 = wn * S::NT * 8;
		u32 w_at = a_at + chunk_at<8>(m0 + (lane & 15), lane >> 4);
		u32 x_at = b_at + chunk_at<B_CHUNKS>(n0 + (lane >> 4) * 8 + (lane & 7), (lane >> 3) & 1);
#pragma unroll
		for (int k = 0; k < 4; k++) {
			u32 a[S::MT][4];
#pragma unroll
			for (int mt = 0; mt < S::MT; mt++) load_matrices(a[mt], other_chunk(w_at + mt * 16 * 128, 2 * k));
#pragma unroll
			for (int nt = 0; nt < S::NT; nt += 2) {
#pragma unroll
				for (int term = 0; term < TERMS; term++) {
					u32 x[4];
					load_matrices(x, other_chunk(x_at + nt * 8 * B_CHUNKS * 16, term * 8 + 2 * k));
#pragma unroll
					for (int i = 0; i < 2; i++) {
#pragma unroll
						for (int mt = 0; mt < S::MT; mt++) MMA(sum[mt][nt + i], a[mt], x + 2 * i);
					}
				}
			}
		}
	}
	INLINE static float row_scale(const Call &c, int row) { return TERMS == 1 ? 1 : ((const float *)c.xd)[row]; }
};
