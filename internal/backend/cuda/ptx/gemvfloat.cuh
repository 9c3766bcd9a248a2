// Weights that are numbers by themselves, for few rows. W says what a format is:
//
//	N          values in 16 bytes
//	widen      those values as float32
//	ROUNDED    the activations are rounded to the weights' own format, else float32
#pragma once
#include "gemv.cuh"

template <typename W> struct Floating {
	const u8 *w;
	int nb;
	INLINE Floating(const u8 *matrix, int blocks) : w(matrix), nb(blocks) {}

	struct Raw {
		u32x4 v[WARP_ROWS];
	};
	INLINE Raw fetch(int r0, int b) const {
		Raw x;
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) x.v[i] = load16(w + ((i64)(r0 + i) * nb + b) * 16);
		return x;
	}
	struct Block {
		float v[WARP_ROWS][W::N];
	};
	INLINE Block open(const Raw &x) const {
		Block w;
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) W::widen(w.v[i], x.v[i]);
		return w;
	}
	struct Acts {
		float v[W::N];
	};
	INLINE Acts acts(const Call &c, int row, int b) const {
		Acts x;
		if constexpr (W::ROUNDED) {
			W::widen(x.v, load16(c.x + ((i64)row * nb + b) * 16));
			return x;
		}
		const float *at = (const float *)c.x + ((i64)row * nb + b) * W::N;
#pragma unroll
		for (int i = 0; i < W::N / 4; i++) {
			u32x4 v = load16(at + 4 * i);
#pragma unroll
			for (int k = 0; k < 4; k++) x.v[4 * i + k] = as_float(v[k]);
		}
		return x;
	}
	INLINE void add(float *sum, const Block &w, const Acts &x) const {
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) {
#pragma unroll
			for (int k = 0; k < W::N; k++) sum[i] = __builtin_fmaf(w.v[i][k], x.v[k], sum[i]);
		}
	}
};
