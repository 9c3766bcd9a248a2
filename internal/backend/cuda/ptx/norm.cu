// Normalisation of rows. One block a row, any width; the residual is added first and
// written back.
//
//	in += add                                 rounded, where add is not null
//	rms     out = in ÷ √(mean in² + eps) × w (+ bias)
//	layer   out = (in − mean) ÷ √(variance + eps) × w (+ bias)
//
// Every pass gives a thread the same values of the row, but where said, so that none
// waits for what another wrote, and in and out may be one buffer. Each step rounds as on
// the CPU; only the order of the sums is this kernel's own.
#include "round.cuh"

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

// Scaling is what a row's norm makes of in: (in − mean) × scale × w (+ bias).
struct Scaling {
	float mean, scale;
	const float *w, *bias;
};

template <int N, bool LAYER> DEVICE Scaling scaling(float *in, const float *plus, const float *w, const float *bias, float eps, int width, float *parts) {
	float sum = block_sum(sum_in<N, !LAYER>(in, plus, width), parts);
	if (!LAYER) return Scaling{0, 1 / root(sum / width + eps), w, bias};
	float mean = sum / width;
	float squares = block_sum(squares_about<N>(in, mean, width), parts);
	return Scaling{mean, 1 / root(squares / width + eps), w, bias};
}

// scaled is N values of the result from i on.
template <int N> DEVICE Pack<N> scaled(const float *in, const Scaling &s, int i) {
	Pack<N> x = load<N>(in + i), g = load<N>(s.w + i);
	for (int j = 0; j < N; j++) x.v[j] = mul(mul(x.v[j] - s.mean, s.scale), g.v[j]);
	if (s.bias) {
		Pack<N> b = load<N>(s.bias + i);
		for (int j = 0; j < N; j++) x.v[j] = add(x.v[j], b.v[j]);
	}
	return x;
}

template <int N, bool LAYER> DEVICE void norm(float *in, const float *plus, float *out, const float *w, const float *bias, float eps, int width, float *parts) {
	Scaling s = scaling<N, LAYER>(in, plus, w, bias, eps, width, parts);
	for (int i = N * tid_x(); i < width; i += N * threads_x()) store<N>(out + i, scaled<N>(in, s, i));
}

// plus and bias may be null; of_logits says that the rows are those that want logits.
#define NORM_PARAMS const Step *step, float *in, const float *plus, float *out, const float *w, const float *bias, float eps, int width, int of_logits
#define NORM_ROW                                          \
	SHARED static float parts[32];                        \
	i64 row = block_x();                                  \
	int rows = of_logits ? step->logits : step->rows;     \
	if (row >= rows) return;                              \
	in += row * width, out += row * width, plus = plus ? plus + row * width : plus;

GLOBAL BLOCK(1024) void norm_rms(NORM_PARAMS) {
	NORM_ROW
	if (width % 4 == 0) norm<4, false>(in, plus, out, w, bias, eps, width, parts);
	else norm<1, false>(in, plus, out, w, bias, eps, width, parts);
}

GLOBAL BLOCK(1024) void norm_layer(NORM_PARAMS) {
	NORM_ROW
	if (width % 4 == 0) norm<4, true>(in, plus, out, w, bias, eps, width, parts);
	else norm<1, true>(in, plus, out, w, bias, eps, width, parts);
}

// A norm and the rounding of what it makes; width is a multiple of the rounding's block.
template <bool LAYER> DEVICE void norm_32(float *in, const float *plus, float *out, const float *w, const float *bias, float eps, int width, float *parts, const Target &t, u8 *q, float *d) {
	Scaling s = scaling<4, LAYER>(in, plus, w, bias, eps, width, parts);
	for (int i = 4 * tid_x(); (i & ~127) < width; i += 4 * threads_x()) { // a warp as a whole: all its lanes shuffle
		bool inside = i < width;
		Pack<4> x = {};
		if (inside) store<4>(out + i, x = scaled<4>(in, s, i));
		round_32(__builtin_bit_cast(f32x4, x), inside, i / 32, t, q, d);
	}
}

template <bool LAYER> DEVICE void norm_256(float *in, const float *plus, float *out, const float *w, const float *bias, float eps, int width, float *parts, const Target &t, u8 *q, float *d, i16 *sums) {
	Scaling s = scaling<4, LAYER>(in, plus, w, bias, eps, width, parts);
	barrier(); // a thread has other values of the row from here on
	for (int i = 8 * tid_x(); i < width; i += 8 * threads_x()) {
		Pack<4> x = scaled<4>(in, s, i), y = scaled<4>(in, s, i + 4);
		store<4>(out + i, x);
		store<4>(out + i + 4, y);
		round_256(__builtin_bit_cast(f32x4, x), __builtin_bit_cast(f32x4, y), i / 256, t, q, d, sums);
	}
}

GLOBAL BLOCK(1024) void norm_rms_q8x32(NORM_PARAMS, u8 *q, float *d) {
	NORM_ROW
	norm_32<false>(in, plus, out, w, bias, eps, width, parts, in_order(row, rows, width), q, d);
}
GLOBAL BLOCK(1024) void norm_rms_q8x256(NORM_PARAMS, u8 *q, float *d, i16 *sums) {
	NORM_ROW
	norm_256<false>(in, plus, out, w, bias, eps, width, parts, in_order(row, rows, width), q, d, sums);
}
GLOBAL BLOCK(1024) void norm_layer_q8x32(NORM_PARAMS, u8 *q, float *d) {
	NORM_ROW
	norm_32<true>(in, plus, out, w, bias, eps, width, parts, in_order(row, rows, width), q, d);
}
GLOBAL BLOCK(1024) void norm_layer_q8x256(NORM_PARAMS, u8 *q, float *d, i16 *sums) {
	NORM_ROW
	norm_256<true>(in, plus, out, w, bias, eps, width, parts, in_order(row, rows, width), q, d, sums);
}
