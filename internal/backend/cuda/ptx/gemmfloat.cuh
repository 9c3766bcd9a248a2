// The tensor-core products of 16-bit floats: 64 values a unit.
#pragma once
#include "gemm.cuh"

// TERMS of activations, one after the other in a row of shared memory; mma multiplies
// 16 of K.
template <int TERMS, void (*MMA)(float *, const u32 *, const u32 *)> struct Floats {
	static constexpr int UNIT = 8, B_CHUNKS = 8 * TERMS;
	template <class S> static constexpr int side() { return 0; }
	INLINE static const u8 *weights(const Job &j, int m, int u, int i, int &c, bool &there) {
		c = i;
		there = u * 8 + i < j.nb;
		return j.w + ((i64)(j.m0 + m) * j.nb + u * 8 + i) * 16;
	}
	INLINE static const u8 *acts(const Job &j, int n, int u, int i, int &c, bool &there) {
		c = i;
		there = u * 8 + i % 8 < j.nb;
		const u8 *term = i < 8 ? j.call.x : (const u8 *)j.call.xs;
		return term + ((i64)(j.x0 + n) * j.nb + u * 8 + i % 8) * 16;
	}
	template <class S> INLINE static void fill_side(const Job &, u32, int) {}
	template <class S> INLINE static void multiply(float (*sum)[S::NT][4], int from, int wm, int wn, int lane) {
		u32 a_at = shared_at(pool + from), b_at = a_at + Stage<Floats, S>::A;
		int m0 = wm * S::MT * 16, n0 = wn * S::NT * 8;
#pragma unroll
		for (int k = 0; k < 4; k++) {
			u32 a[S::MT][4];
#pragma unroll
			for (int mt = 0; mt < S::MT; mt++) load_matrices(a[mt], a_at + chunk_at<8>(m0 + mt * 16 + (lane & 15), 2 * k + (lane >> 4)));
#pragma unroll
			for (int nt = 0; nt < S::NT; nt += 2) {
#pragma unroll
				for (int term = 0; term < TERMS; term++) {
					u32 x[4];
					int row = n0 + nt * 8 + (lane >> 4) * 8 + (lane & 7);
					load_matrices(x, b_at + chunk_at<B_CHUNKS>(row, term * 8 + 2 * k + ((lane >> 3) & 1)));
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
