// Rows from one place to another.
#include "math.cuh"

// take_rows is out[i] = in[logit_rows[i]], one block a row.
GLOBAL BLOCK(256) void take_rows(const Step *step, float *out, const float *in, int width) {
	i64 i = block_x();
	if (i >= step->logits) return;
	out += i * width, in += (i64)at(step->logit_rows, i) * width;
	for (int j = tid_x(); j < width; j += threads_x()) out[j] = in[j];
}

// output copies the rows that want logits to where the host fetches them.
GLOBAL BLOCK(256) void output(const Step *step, float *out, const float *in, int width) {
	i64 i = block_x();
	if (i >= step->logits) return;
	out += i * width, in += i * width;
	for (int j = tid_x(); j < width; j += threads_x()) out[j] = in[j];
}
