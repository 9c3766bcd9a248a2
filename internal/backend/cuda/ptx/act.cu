// What is done value by value.
#include "paddock.cuh"

// add_to is dst[row][i] += scale × src[row][i], fused. One thread a value.
GLOBAL BLOCK(256) void add_to(const Step *step, float *dst, const float *src, float scale, int width) {
	i64 i = (i64)block_x() * threads_x() + tid_x();
	if (i >= (i64)step->rows * width) return;
	dst[i] = __builtin_fmaf(src[i], scale, dst[i]);
}
