// F16: activations as they are for few rows; for many in two terms of f16, which keep 22
// bits, with a scale for each row (split_f16).
#include "gemmfloat.cuh"
#include "gemvfloat.cuh"

struct F16 {
	enum { N = 8, ROUNDED = 0 };
	INLINE static void widen(float *v, u32x4 x) {
#pragma unroll
		for (int k = 0; k < 4; k++) {
			v[2 * k] = half_to_float((u16)x[k]);
			v[2 * k + 1] = half_to_float((u16)(x[k] >> 16));
		}
	}
};
GEMVS_8(gemv_f16, Floating<F16>)

typedef Floats<2, mma_f16> TileF16;
GEMMS(gemm_f16, TileF16)
