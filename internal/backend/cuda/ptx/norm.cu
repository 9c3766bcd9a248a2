// Normalisation of rows. One block a row, any width; the residual is added first and
// written back.
//
//	in += add                                 rounded, where add is not null
//	rms     out = in ÷ √(mean in² + eps) × w (+ bias)
//	layer   out = (in − mean) ÷ √(variance + eps) × w (+ bias)
//
// Every pass gives a thread the same values of the row, so that none waits for what
// another wrote, and in and out may be one buffer. Each step rounds as on the CPU; only
// the order of the sums is this kernel's own.
#include "math.cuh"

// sum_in adds the residual and returns the thread's part of a sum over the row: of
// squares, or of the values.
template <int N, bool SQUARES> DEVICE float sum_in(float *in, const float *plus, int width) {
	float sum = 0;
	for (int i = N * tid_x(); i < width; i += N * threads_x()) {
		Pack<N> x = load<N>(in + i);
		if (plus) {
			Pack<N> y = load<N>(plus + i);
			for (int j = 0; j < N; j++) x.v[j] = add(x.v[j], y.v[j]);
			store<N>(in + i, x);
		}
		for (int j = 0; j < N; j++) sum = SQUARES ? fma(x.v[j], x.v[j], sum) : sum + x.v[j];
	}
	return sum;
}

// squares_about adds the thread's squares of in − mean.
template <int N> DEVICE float squares_about(const float *in, float mean, int width) {
	float sum = 0;
	for (int i = N * tid_x(); i < width; i += N * threads_x()) {
		Pack<N> x = load<N>(in + i);
		for (int j = 0; j < N; j++) {
			float d = x.v[j] - mean;
			sum = fma(d, d, sum);
		}
	}
	return sum;
}

// finish writes (in − mean) × scale × w (+ bias).
template <int N> DEVICE void finish(float *out, const float *in, float mean, float scale, const float *w, const float *bias, int width) {
	for (int i = N * tid_x(); i < width; i += N * threads_x()) {
		Pack<N> x = load<N>(in + i), g = load<N>(w + i);
		for (int j = 0; j < N; j++) x.v[j] = mul(mul(x.v[j] - mean, scale), g.v[j]);
		if (bias) {
			Pack<N> b = load<N>(bias + i);
			for (int j = 0; j < N; j++) x.v[j] = add(x.v[j], b.v[j]);
		}
		store<N>(out + i, x);
	}
}

template <int N> DEVICE void rms(float *in, const float *plus, float *out, const float *w, const float *bias, float eps, int width, float *parts) {
	float squares = block_sum(sum_in<N, true>(in, plus, width), parts);
	finish<N>(out, in, 0, 1 / root(squares / width + eps), w, bias, width);
}

template <int N> DEVICE void layer(float *in, const float *plus, float *out, const float *w, const float *bias, float eps, int width, float *parts) {
	float mean = block_sum(sum_in<N, false>(in, plus, width), parts) / width;
	float squares = block_sum(squares_about<N>(in, mean, width), parts);
	finish<N>(out, in, mean, 1 / root(squares / width + eps), w, bias, width);
}

// plus and bias may be null; of_logits says that the rows are those that want logits.
GLOBAL BLOCK(1024) void norm_rms(const Step *step, float *in, const float *plus, float *out, const float *w, const float *bias, float eps, int width, int of_logits) {
	SHARED static float parts[32];
	i64 row = block_x();
	if (row >= (of_logits ? step->logits : step->rows)) return;
	in += row * width, out += row * width, plus = plus ? plus + row * width : plus;
	if (width % 4 == 0) rms<4>(in, plus, out, w, bias, eps, width, parts);
	else rms<1>(in, plus, out, w, bias, eps, width, parts);
}

GLOBAL BLOCK(1024) void norm_layer(const Step *step, float *in, const float *plus, float *out, const float *w, const float *bias, float eps, int width, int of_logits) {
	SHARED static float parts[32];
	i64 row = block_x();
	if (row >= (of_logits ? step->logits : step->rows)) return;
	in += row * width, out += row * width, plus = plus ? plus + row * width : plus;
	if (width % 4 == 0) layer<4>(in, plus, out, w, bias, eps, width, parts);
	else layer<1>(in, plus, out, w, bias, eps, width, parts);
}
