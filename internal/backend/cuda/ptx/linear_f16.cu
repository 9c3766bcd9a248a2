// F16: activations as they are for few rows; for many in two terms of f16, which keep 22
// bits, with a scale for each row (split_f16).
#include "gemmfloat.cuh"
#include "gemv.cuh"

struct F16 {
	const u8 *w;
	int nb;
	INLINE F16(const u8 *matrix, int blocks) : w(matrix), nb(blocks) {}

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
		float v[WARP_ROWS][8];
	};
	INLINE static void widen(float *v, u32x4 x) {
#pragma unroll
		for (int k = 0; k < 4; k++) {
			v[2 * k] = half_to_float((u16)x[k]);
			v[2 * k + 1] = half_to_float((u16)(x[k] >> 16));
		}
	}
	INLINE Block open(const Raw &x) const {
		Block w;
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) widen(w.v[i], x.v[i]);
		return w;
	}
	struct Acts {
		float v[8];
	};
	INLINE Acts acts(const Call &c, int row, int b) const {
		Acts x;
		const float *at = (const float *)c.x + ((i64)row * nb + b) * 8;
#pragma unroll
		for (int i = 0; i < 2; i++) {
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
			for (int k = 0; k < 8; k++) sum[i] = __builtin_fmaf(w.v[i][k], x.v[k], sum[i]);
		}
	}
};
GEMVS_8(gemv_f16, F16)

typedef Floats<2, mma_f16> TileF16;
GEMMS(gemm_f16, TileF16)
