// BF16: activations rounded to bf16.
#include "gemmfloat.cuh"
#include "gemvfloat.cuh"

struct BF16 {
	enum { N = 8, ROUNDED = 1 };
	INLINE static void widen(float *v, u32x4 x) {
#pragma unroll
		for (int k = 0; k < 4; k++) {
			v[2 * k] = __builtin_bit_cast(float, x[k] << 16);
			v[2 * k + 1] = __builtin_bit_cast(float, x[k] & 0xffff0000);
		}
	}
};
GEMVS_8(gemv_bf16, Floating<BF16>)

typedef Floats<1, mma_bf16> TileBF16;
GEMMS(gemm_bf16, TileBF16)
