// The tensor-core products of formats with integer quants: what their formats share.
#pragma once
#include "gemm.cuh"

// Activations of 8 bits, as the right operand: UB blocks a unit. Chunk 2b + h of a row
// of shared memory is half h of block b.
template <int UB> DEVICE const u8 *acts_of(const Job &j, int n, int u, int i, int &c, bool &there) {
	int b = i % UB, h = i / UB, block = u * UB + b;
	c = 2 * b + h;
	there = block < j.nb;
	return j.call.x + ((i64)(j.x0 + n) * 2 + h) * j.nb * 16 + (i64)block * 16;
}

// The right operand's fragments of block b for two neighbouring tiles of 8 rows: the
// matrices are rows 0–7 of halves 0 and 1, then rows 8–15.
template <int UB> DEVICE void acts_fragments(u32 *f, u32 at, int n, int b, int lane) {
	int row = n + (lane >> 4) * 8 + (lane & 7);
	load_matrices(f, at + chunk_at<2 * UB>(row, 2 * b + ((lane >> 3) & 1)));
}

// Copies what each of `panels` panels of 8 rows has for a unit: `chunks` times 16 bytes.
template <int PANELS, int CHUNKS, int THREADS, class Source> DEVICE void fill_panels(u32 to, const u8 *none, Source source) {
	spread<PANELS * CHUNKS, THREADS>([&](int i) {
		bool there;
		const u8 *from = source(i / CHUNKS, i % CHUNKS, there);
		copy16(to + i * 16, there ? from : none, there);
	});
}

// Weights of nibbles: chunk b of a row is block b. The matrices are outputs 0–7 and
// 8–15 of block 2p, then of block 2p + 1; lane t of a row has bytes 4t to 4t + 3, whose
// low halves are the values 4t … of the left operand and the high ones 16 + 4t ….
DEVICE void nibble_matrices(u32 *r, u32 at, int m, int p, int lane) {
	load_matrices(r, at + chunk_at<8>(m + (lane & 15), 2 * p + (lane >> 4)));
}
DEVICE const u8 *nibbles_of(const Job &j, int m, int u, int i, int &c, bool &there, int panel) {
	int block = u * 8 + i;
	c = i;
	there = block < j.nb;
	return j.panel(m, panel) + (i64)((m & 7) * j.nb + block) * 16;
}

DEVICE float half_in(const u8 *p) { return half_to_float(*(const u16 *)p); }

// Formats with a scale for each 32: B says how weights become fragments.
template <class B> struct Blocks32 {
	static constexpr int UB = B::UB, UNIT = UB, B_CHUNKS = 2 * UB;
	template <class S> static constexpr int side() { return S::BM / 8 * UB * 16 + S::BN / 8 * UB * 32; }
	INLINE static const u8 *weights(const Job &j, int m, int u, int i, int &c, bool &there) { return B::weights(j, m, u, i, c, there); }
	INLINE static const u8 *acts(const Job &j, int n, int u, int i, int &c, bool &there) { return acts_of<UB>(j, n, u, i, c, there); }
	template <class S> INLINE static void fill_side(const Job &j, u32 to, int u) {
		fill_panels<S::BM / 8, UB, S::THREADS>(to, j.w, [&](int panel, int b, bool &there) {
			there = j.has(panel * 8) && u * UB + b < j.nb;
			return j.panel(panel * 8, B::PANEL) + (i64)j.nb * (B::PANEL - 16) + (i64)(u * UB + b) * 16;
		});
		fill_panels<S::BN / 8, UB * 2, S::THREADS>(to + S::BM / 8 * UB * 16, j.w, [&](int panel, int i, bool &there) {
			there = panel * 8 < j.live && u * UB + i / 2 < j.nb;
			return (const u8 *)j.call.xd + ((i64)(j.x0 / 8 + panel) * j.nb + u * UB) * 32 + i * 16;
		});
	}
	// Each product of a block is read by its seed (see SEED) and added scaled.
	template <class S> INLINE static void multiply(float (*sum)[S::NT][4], int from, int wm, int wn, int lane) {
		const u8 *unit = pool + from;
		u32 a_at = shared_at(unit), b_at = a_at + Stage<Blocks32, S>::A;
		const u8 *ws = unit + Stage<Blocks32, S>::A + Stage<Blocks32, S>::B;
		u32 xs = shared_at(ws) + S::BM / 8 * UB * 16;
		int m0 = wm * S::MT * 16, n0 = wn * S::NT * 8, g = lane >> 2, t = lane & 3;
#pragma unroll
		for (int p = 0; p < UB / 2; p++) {
			u32 a[S::MT][2][4];
#pragma unroll
			for (int mt = 0; mt < S::MT; mt++) B::fragments(a[mt], a_at, m0 + mt * 16, p, lane);
#pragma unroll
			for (int e = 0; e < 2; e++) {
				int b = 2 * p + e;
				float d[S::MT][2];
#pragma unroll
				for (int i = 0; i < S::MT * 2; i++) d[i / 2][i % 2] = half_in(ws + (((m0 >> 3) + i) * UB + b) * 16 + g * 2) * B::FACTOR;
#pragma unroll
				for (int nt = 0; nt < S::NT; nt += 2) {
					u32 x[4];
					acts_fragments<UB>(x, b_at, n0 + nt * 8, b, lane);
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
