// BF16: activations rounded to bf16.
#include "gemmfloat.cuh"
#include "gemv.cuh"

struct BF16 {
	const u8 *w;
	int nb;
	INLINE BF16(const u8 *matrix, int blocks) : w(matrix), nb(blocks) {}

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
			v[2 * k] = __builtin_bit_cast(float, x[k] << 16);
			v[2 * k + 1] = __builtin_bit_cast(float, x[k] & 0xffff0000);
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
		widen(x.v, load16(c.x + ((i64)row * nb + b) * 16));
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
GEMVS_8(gemv_bf16, BF16)

typedef Floats<1, mma_bf16> TileBF16;
GEMMS(gemm_bf16, TileBF16)
