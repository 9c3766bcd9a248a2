// F32: activations as they are. These are small matrices, routers say; a step of many
// rows takes eight at a time.
#include "gemvfloat.cuh"

struct F32 {
	enum { N = 4, ROUNDED = 0 };
	INLINE static void widen(float *v, u32x4 x) {
#pragma unroll
		for (int k = 0; k < 4; k++) v[k] = as_float(x[k]);
	}
};
GEMVS_8(gemv_f32, Floating<F32>)
