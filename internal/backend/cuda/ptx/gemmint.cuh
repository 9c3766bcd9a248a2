// The tensor-core products of formats with integer quants: what their formats share.
#pragma once
#include "gemm.cuh"

// Activations of 8 bits, as the right operand: UB blocks a unit. Chunk 2b + h of a row
// of shared memory is half h of block b; c and block are told for the i-th chunk as it
// lies in memory.
template <int UB> DEVICE const u8 *acts_of(const Job &j, int n, int i, int &c, int &block) {
	int h = i / UB;
	block = i % UB;
	c = 2 * block + h;
	return j.call.x + ((i64)(j.x0 + n) * 2 + h) * j.nb * 16 + block * 16;
}

// The right operand's fragments of a block for two neighbouring tiles of 8 rows: the
// matrices are rows 0–7 of halves 0 and 1, then rows 8–15. This is the lane's place for
// block 0; other_chunk(…, 2b) is that for block b.
template <int UB> DEVICE u32 acts_place(u32 at, int n, int lane) {
	return at + chunk_at<2 * UB>(n + (lane >> 4) * 8 + (lane & 7), (lane >> 3) & 1);
}

// Weights of nibbles: chunk b of a row is block b. The matrices are outputs 0–7 and
// 8–15 of block 2p, then of block 2p + 1; lane t of a row has bytes 4t to 4t + 3, whose
// low halves are the values 4t … of the left operand and the high ones 16 + 4t ….
DEVICE const u8 *nibbles_of(const Job &j, int m, int i, int &c, int &block, int panel) {
	c = block = i;
	return j.panel(m >> 3, panel) + (i64)(m & 7) * j.nb * 16 + i * 16;
}
// The lane's place for block 0 of a tile's outputs from m on, also of 8-bit quants with
// halves in the place of blocks.
DEVICE u32 weights_place(u32 at, int m, int lane) { return at + chunk_at<8>(m + (lane & 15), lane >> 4); }

DEVICE float half_in(const u8 *p) { return half_to_float(*(const u16 *)p); }

// Formats with a scale for each 32: B says how weights become fragments.
template <class B> struct Blocks32 {
	static constexpr int BLOCKS = 2, WIDE = 1, UB = B::UB, UNIT = UB, B_CHUNKS = 2 * UB, PANEL = B::PANEL, X_BLOCK = 32, ADVANCE = UB * 16;
	INLINE static const u8 *weights(const Job &j, int m, int i, int &c, int &block) { return B::weights(j, m, i, c, block); }
	INLINE static const u8 *acts(const Job &j, int n, int i, int &c, int &block) { return acts_of<UB>(j, n, i, c, block); }
	// Scales of both.
	template <class S> struct Sides {
		static constexpr int XS = S::BM / 8 * UB * 16, BYTES = XS + S::BN / 8 * UB * 32;
		PanelLoads<S::BM / 8, UB, S::THREADS> w;
		PanelLoads<S::BN / 8, UB * 2, S::THREADS> x;
		INLINE Sides(const Job &j)
			: w(j.panel(0, PANEL) + (i64)j.nb * (PANEL - 16), (i64)j.nb * PANEL),
			  x((const u8 *)j.call.xd + (i64)(j.x0 >> 3) * j.nb * 32, (i64)j.nb * 32) {}
		INLINE void unit(const Job &j, u32 to, int u) {
			w.unit(to, (j.n - j.m0 + 7) >> 3, j.nb - u * UB);
			x.unit(to + XS, (j.live + 7) >> 3, 2 * (j.nb - u * UB));
		}
	};
	// Each product of a block is read by its seed (see SEED) and added scaled.
	template <class S> INLINE static void multiply(float (*sum)[S::NT][4], int from, int wm, int wn, int lane) {
		const u8 *unit = pool + from;
		u32 a_at = shared_at(unit), b_at = a_at + Stage<Blocks32, S>::A;
		const u8 *ws = unit + Stage<Blocks32, S>::A + Stage<Blocks32, S>::B;
		u32 xs = shared_at(ws) + Sides<S>::XS;
		int m0 = wm * S::MT * 16, n0 = wn * S::NT * 8, g = lane >> 2, t = lane & 3;
		u32 w_at = weights_place(a_at, m0, lane), x_at = acts_place<UB>(b_at, n0, lane);
#pragma unroll
		for (int p = 0; p < UB / 2; p++) {
			u32 a[S::MT][2][4];
#pragma unroll
			for (int mt = 0; mt < S::MT; mt++) B::fragments(a[mt], w_at + mt * 16 * 128, p);
#pragma unroll
			for (int e = 0; e < 2; e++) {
				int b = 2 * p + e;
				float d[S::MT][2];
#pragma unroll
				for (int i = 0; i < S::MT * 2; i++) d[i / 2][i % 2] = half_in(ws + (((m0 >> 3) + i) * UB + b) * 16 + g * 2) * B::FACTOR;
#pragma unroll
				for (int nt = 0; nt < S::NT; nt += 2) {
					u32 x[4];
					load_matrices(x, other_chunk(x_at + nt * 8 * UB * 32, 2 * b));
#pragma unroll
					for (int k = 0; k < 2; k++) {
						f32x2 dx = shared8(xs + (((n0 >> 3) + nt + k) * UB + b) * 32 + t * 8);
#pragma unroll
						for (int mt = 0; mt < S::MT; mt++) {
							int dot[4];
							mma_32(dot, a[mt][e], x + 2 * k, SEED);
							float *to = sum[mt][nt + k];
							to[0] = fma(seeded(dot[0]), mul(d[mt][0], dx.x), to[0]);
							to[1] = fma(seeded(dot[1]), mul(d[mt][0], dx.y), to[1]);
							to[2] = fma(seeded(dot[2]), mul(d[mt][1], dx.x), to[2]);
							to[3] = fma(seeded(dot[3]), mul(d[mt][1], dx.y), to[3]);
						}
					}
				}
			}
		}
	}
	INLINE static float row_scale(const Call &, int) { return 1; }
};
