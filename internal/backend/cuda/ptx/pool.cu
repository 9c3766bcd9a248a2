// What looks back at earlier tokens of its sequence beside attention: convolutions and
// pooling. What they keep of a token lies in its slot as float32, width values.
#include "cache.cuh"

// state_at is where what is kept of a position of a sequence lies.
DEVICE float *state_at(const Step *step, void *states, i64 page_bytes, int seq, int pos, int page_size, int width) {
	int page = at(step->tables, (i64)seq * step->stride + pos / page_size);
	return token_at<F32>(states, page_bytes, page, 0, page_size, pos % page_size, width);
}

// conv_state keeps b × x of each row, which short_conv reads. One thread a value.
//
//	grid x  rows
//	     y  256 values each
GLOBAL BLOCK(256) void conv_state(const Step *step, const float *b, const float *x, void *states, i64 page_bytes, int width, int page_size) {
	i64 row = block_x();
	int i = block_y() * 256 + tid_x();
	if (row >= step->rows || i >= width) return;
	int slot = at(step->slots, row);
	token_at<F32>(states, page_bytes, slot / page_size, 0, page_size, slot % page_size, width)[i] = mul(b[row * width + i], x[row * width + i]);
}

// The formats of a convolution's weights, rows of taps padded to so many bytes.
enum { TAPS_F32, TAPS_F16, TAPS_BF16 };

DEVICE float tap_of(const void *row, int format, int t) {
	if (format == TAPS_F16) return half_to_float(((const u16 *)row)[t]);
	if (format == TAPS_BF16) return bf16_to_float(((const u16 *)row)[t]);
	return ((const float *)row)[t];
}

// short_conv is out = c × Σ taps[t] × state of the t-th of the last tokens, the earliest
// first; what lies before position 0 is left out. Weights are a row of taps for each of
// the width channels.
GLOBAL BLOCK(256) void short_conv(const Step *step, float *out, const float *c, const void *weights, int format, int row_bytes, void *states, i64 page_bytes, int taps, int width, int page_size) {
	i64 row = block_x();
	int i = block_y() * 256 + tid_x();
	if (row >= step->rows || i >= width) return;
	int seq = at(step->seq, row), first = at(step->pos, row) - taps + 1, from = max_of(0, -first);
	const u8 *weight = (const u8 *)weights + (i64)i * row_bytes;
	float sum = 0;
	for (int t = from; t < taps; t++) {
		float product = mul(tap_of(weight, format, t), state_at(step, states, page_bytes, seq, first + t, page_size, width)[i]);
		sum = t == from ? product : add(sum, product);
	}
	out[row * width + i] = mul(c[row * width + i], sum);
}

// pool_sums keeps the sum of a sequence's rows up to each row, added in order of
// positions. One thread a value of a sequence.
//
//	grid x  sequences
//	     y  256 values each
GLOBAL BLOCK(256) void pool_sums(const Step *step, const float *in, void *states, i64 page_bytes, int width, int page_size) {
	int seq = block_x(), i = block_y() * 256 + tid_x();
	if (seq >= step->seqs || i >= width) return;
	for (i64 row = at(step->seq_start, seq); row < at(step->seq_start, seq + 1); row++) {
		int pos = at(step->pos, row);
		float v = in[row * width + i];
		if (pos > 0) v = add(state_at(step, states, page_bytes, seq, pos - 1, page_size, width)[i], v);
		state_at(step, states, page_bytes, seq, pos, page_size, width)[i] = v;
	}
}

// Pool as prog has it, and the mean from sums that were kept.
enum { MEAN, CLS, LAST, KEPT };

// pool makes a row of its sequence's rows for each row that wants output.
//
//	grid x  rows that want output
//	     y  256 values each
GLOBAL BLOCK(256) void pool(const Step *step, float *out, const float *in, void *states, i64 page_bytes, int kind, int width, int page_size) {
	i64 n = block_x();
	int i = block_y() * 256 + tid_x();
	if (n >= step->logits || i >= width) return;
	i64 row = at(step->logit_rows, n);
	int seq = at(step->seq, row), pos = at(step->pos, row);
	i64 first = at(step->seq_start, seq);
	float v;
	if (kind == LAST) {
		v = in[row * width + i];
	} else if (kind == KEPT) {
		v = state_at(step, states, page_bytes, seq, pos, page_size, width)[i] / (pos + 1);
	} else {
		v = in[first * width + i];
		if (kind == MEAN) {
			for (i64 r = first + 1; r <= row; r++) v = add(v, in[r * width + i]);
			v /= pos + 1;
		}
	}
	out[n * width + i] = v;
}
