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

// Part is the keys or the values of one layer in the cache: pages of so many bytes, a
// multiple of 16, from an offset on.
struct Part {
	i64 offset, bytes;
};

// copy_pages copies whole pages of all parts, one copy after the other: a thread has
// the same places of all pages. copies holds pairs, from and to.
//
//	grid x  pieces of a page
//	     y  parts
GLOBAL BLOCK(256) void copy_pages(float *cache, const Part *parts, const int *copies, int count) {
	i64 offset = parts[block_y()].offset, bytes = parts[block_y()].bytes;
	for (i64 at = 16 * ((i64)block_x() * threads_x() + tid_x()); at < bytes; at += 16 * (i64)blocks_x() * threads_x()) {
		for (int i = 0; i < count; i++) {
			i64 from = offset + copies[2 * i] * bytes + at, to = offset + copies[2 * i + 1] * bytes + at;
			store<4>(cache + to / 4, load<4>(cache + from / 4));
		}
	}
}
