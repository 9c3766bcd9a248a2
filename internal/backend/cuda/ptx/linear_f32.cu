// F32: activations as they are. These are small matrices, routers say; a step of many
// rows takes eight at a time.
#include "gemv.cuh"

struct F32 {
	const u8 *w;
	int nb;
	INLINE F32(const u8 *matrix, int blocks) : w(matrix), nb(blocks) {}

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
		float v[WARP_ROWS][4];
	};
	INLINE static void widen(float *v, u32x4 x) {
#pragma unroll
		for (int k = 0; k < 4; k++) v[k] = as_float(x[k]);
	}
	INLINE Block open(const Raw &x) const {
		Block w;
#pragma unroll
		for (int i = 0; i < WARP_ROWS; i++) widen(w.v[i], x.v[i]);
		return w;
	}
	struct Acts {
		float v[4];
	};
	INLINE Acts acts(const Call &c, int row, int b) const {
		Acts x;
		const float *at = (const float *)c.x + ((i64)row * nb + b) * 4;
#pragma unroll
		for (int i = 0; i < 1; i++) {
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
			for (int k = 0; k < 4; k++) sum[i] = __builtin_fmaf(w.v[i][k], x.v[k], sum[i]);
		}
	}
};
GEMVS_8(gemv_f32, F32)
