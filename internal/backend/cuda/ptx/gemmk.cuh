// The tensor-core products of K types: a unit is a super-block of 256.
#pragma once
#include "gemmint.cuh"

// Two values as halves of a word, the first in the low one.
DEVICE u32 halves(int a, int b) { return float_to_half((float)a) | (u32)float_to_half((float)b) << 16; }

// Weights of nibbles with a scale or two for each block and what B says for each
// super-block. The scaled products of a super-block are added first, as floats: each is
// an integer below 2^24 and so is what they sum to, unless nearly all quants are at
// their limits; then the sum rounds like any other. The sums of activations are there
// for minima, where B has them.
//
//	after weights and activations: scales │ supers │ high bits │ x scales │ x sums
template <class B> struct Blocks256 {
	static constexpr int BLOCKS = 1, WIDE = 1, UB = 8, UNIT = UB, B_CHUNKS = 2 * UB, PANEL = B::PANEL, X_BLOCK = 32, ADVANCE = UB * 16;
	INLINE static const u8 *weights(const Job &j, int m, int i, int &c, int &block) { return nibbles_of(j, m, i, c, block, PANEL); }
	INLINE static const u8 *acts(const Job &j, int n, int i, int &c, int &block) { return acts_of<UB>(j, n, i, c, block); }
	template <class S> struct Sides {
		static constexpr int SUPERS = S::BM / 8 * UB * 16, HIGH = SUPERS + S::BM / 8 * B::SUPER, XD = HIGH + S::BM * B::HIGH_ROW,
							 XS = XD + S::BN / 8 * 32, BYTES = XS + (B::MINIMA ? S::BN / 8 * UB * 16 : 0);
		static constexpr int HIGH_ROWS = S::THREADS / 4; // rows from chunk to chunk of a thread
		PanelLoads<S::BM / 8, UB, S::THREADS> scales;
		PanelLoads<S::BM / 8, B::SUPER / 16, S::THREADS> supers;
		PanelLoads<S::BN / 8, 2, S::THREADS> xd;
		PanelLoads<S::BN / 8, UB, S::THREADS> xs;
		const u8 *high;
		INLINE Sides(const Job &j)
			: scales(j.panel(0, PANEL) + (i64)j.nb * B::SCALES, (i64)j.nb * PANEL),
			  supers(j.panel(0, PANEL) + (i64)j.nb * (B::SCALES + 16), (i64)j.nb * PANEL),
			  xd((const u8 *)j.call.xd + (i64)(j.x0 >> 3) * j.nb * 4, (i64)j.nb * 4),
			  xs((const u8 *)j.call.xs + (i64)(j.x0 >> 3) * j.nb * 16, (i64)j.nb * 16) {
			int m = tid_x() / 4;
			high = j.panel(m >> 3, PANEL) + (i64)j.nb * 128 + (i64)(m & 7) * j.nb * 8 + tid_x() % 4 * 16;
		}
		INLINE void unit(const Job &j, u32 to, int u) {
			int in = u * UB < j.nb ? 16 : 0, outs = (j.n - j.m0 + 7) >> 3, rows = (j.live + 7) >> 3;
			scales.unit(to, outs, in);
			supers.unit(to + SUPERS, outs, in);
			xd.unit(to + XD, rows, in);
			if constexpr (B::MINIMA) xs.unit(to + XS, rows, in);
			if constexpr (B::HIGH_ROW > 0) {
				const u8 *from = high;
#pragma unroll
				for (int i = 0; i < (S::BM + HIGH_ROWS - 1) / HIGH_ROWS; i++, from += (i64)j.nb * PANEL * (HIGH_ROWS / 8)) {
					int m = tid_x() / 4 + i * HIGH_ROWS;
					copy16(to + HIGH + m * B::HIGH_ROW + tid_x() % 4 * 16, from, in && j.has(m));
				}
				high += UB * 8;
			}
		}
	};
	template <class S> INLINE static void multiply(float (*sum)[S::NT][4], int from, int wm, int wn, int lane) {
		typedef Sides<S> P;
		typedef Stage<Blocks256, S> G;
		const u8 *side = pool + from + G::A + G::B;
		u32 a_at = shared_at(pool + from), b_at = a_at + G::A, side_at = b_at + G::B;
		int m0 = wm * S::MT * 16, n0 = wn * S::NT * 8, g = lane >> 2, t = lane & 3;
		u32 w_at = weights_place(a_at, m0, lane), x_at = acts_place<UB>(b_at, n0, lane);
		u32 high_at = side_at + P::HIGH + (m0 + g) * B::HIGH_ROW;
		float part[S::MT][S::NT][4] = {};
#pragma unroll
		for (int p = 0; p < UB / 2; p++) {
			u32 a[S::MT][2][4];
#pragma unroll
			for (int mt = 0; mt < S::MT; mt++) B::fragments(a[mt], w_at + mt * 16 * 128, high_at + mt * 16 * B::HIGH_ROW, p, t);
#pragma unroll
			for (int e = 0; e < 2; e++) {
				int b = 2 * p + e;
				typename B::Scales scales[S::MT][2];
#pragma unroll
				for (int i = 0; i < S::MT * 2; i++) scales[i / 2][i % 2] = B::scales(*(const u16 *)(side + (((m0 >> 3) + i) * UB + b) * 16 + g * 2));
#pragma unroll
				for (int nt = 0; nt < S::NT; nt += 2) {
					u32 x[4];
					load_matrices(x, other_chunk(x_at + nt * 8 * UB * 32, 2 * b));
#pragma unroll
					for (int k = 0; k < 2; k++) {
#pragma unroll
						for (int mt = 0; mt < S::MT; mt++) B::add(part[mt][nt + k], a[mt][e], x + 2 * k, scales[mt]);
					}
				}
			}
		}
		u32 least[S::MT][4];
#pragma unroll
		for (int mt = 0; mt < S::MT; mt++) B::minima(least[mt], side + ((m0 >> 3) + 2 * mt) * UB * 16, g, t);
#pragma unroll
		for (int nt = 0; nt < S::NT; nt++) {
			f32x2 dx = shared8(side_at + P::XD + ((n0 >> 3) + nt) * 32 + t * 8);
#pragma unroll
			for (int mt = 0; mt < S::MT; mt++) {
				float low[4] = {};
				if constexpr (B::MINIMA) {
					const u8 *sums = side + P::XS + (((n0 >> 3) + nt) * UB + 2 * t) * 16 + g * 2;
					int s0 = *(const i16 *)sums, s1 = *(const i16 *)(sums + 16);
					u32 x[2] = {halves(s0 >> 6, s1 >> 6), halves(s0 & 63, s1 & 63)};
					mma_f16(low, least[mt], x);
				}
#pragma unroll
				for (int h = 0; h < 2; h++) B::finish(&sum[mt][nt][2 * h], &part[mt][nt][2 * h], &low[2 * h], side + P::SUPERS + ((m0 >> 3) + 2 * mt + h) * B::SUPER, g, dx);
			}
		}
	}
	INLINE static float row_scale(const Call &, int) { return 1; }
};
