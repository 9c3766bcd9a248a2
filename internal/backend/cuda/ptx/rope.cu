// Rotary embeddings, and what is written to the KV cache.
//
//	rope_angles   cosine and sine of each pair at each row's position, once a step for
//	              all layers that share a table of frequencies
//	rope_temps    what a row's queries are multiplied by
//	rope_append   heads: normalise, rotate; queries stay, keys and values are stored
#include "cache.cuh"

// sin_cos is num.SinCos64: the angle less multiples of π/2 in three parts, of which
// the fused steps lose nothing, then polynomials for |r| ≤ π/4. Right for |x| up to
// 2³⁰.
DEVICE void sin_cos(double x, double *sin, double *cos) {
	double n = __builtin_rint(x * (1 / 1.5707963267948966e+00));
	double r = __builtin_fma(-n, 1.5707963267948966e+00, x);
	r = __builtin_fma(-n, 6.123233995736766e-17, r);
	r = __builtin_fma(-n, -1.4973849048591833e-33, r);
	double z = r * r;
	double s = 1.0 / 355687428096000, c = -1.0 / 6402373705728000;
	s = __builtin_fma(s, z, -1.0 / 1307674368000), c = __builtin_fma(c, z, 1.0 / 20922789888000);
	s = __builtin_fma(s, z, 1.0 / 6227020800), c = __builtin_fma(c, z, -1.0 / 87178291200);
	s = __builtin_fma(s, z, -1.0 / 39916800), c = __builtin_fma(c, z, 1.0 / 479001600);
	s = __builtin_fma(s, z, 1.0 / 362880), c = __builtin_fma(c, z, -1.0 / 3628800);
	s = __builtin_fma(s, z, -1.0 / 5040), c = __builtin_fma(c, z, 1.0 / 40320);
	s = __builtin_fma(s, z, 1.0 / 120), c = __builtin_fma(c, z, -1.0 / 720);
	s = __builtin_fma(s, z, -1.0 / 6), c = __builtin_fma(c, z, 1.0 / 24);
	s = __builtin_fma(r * z, s, r);
	c = __builtin_fma(z * z, c, __builtin_fma(z, -0.5, 1));
	int quarter = (int)(long long)n & 3;
	double a = quarter & 1 ? c : s, b = quarter & 1 ? s : c;
	*sin = quarter & 2 ? -a : a;
	*cos = (quarter + 1) & 2 ? -b : b;
}

// log_of is num.Log64 for a whole number x ≥ 1.
DEVICE double log_of(double x) {
	u64 bits = __builtin_bit_cast(u64, x);
	int e = (int)(bits >> 52) - 1022;
	double m = __builtin_bit_cast(double, (bits & 0xfffffffffffffull) | (1022ull << 52)); // in [½, 1)
	if (m < 0.7071067811865476) m *= 2, e--;
	double f = m - 1;
	double s = f / (2 + f), z = s * s;
	double r = 2.0 / 23;
	for (int i = 21; i >= 3; i -= 2) r = __builtin_fma(r, z, 2.0 / i);
	r *= z;
	double k = e;
	double d = s * (f - r) - k * 1.90821492927058770002e-10;
	return k * 6.93147180369123816490e-01 - (d - f);
}

// rope_angles fills angles[row][pair] = cos × mag, sin × mag. One thread a pair.
GLOBAL BLOCK(128) void rope_angles(const Step *step, float *angles, const float *freqs, float mag, int pairs) {
	i64 i = (i64)block_x() * threads_x() + tid_x();
	if (i >= (i64)step->rows * pairs) return;
	double sin, cos;
	sin_cos((double)at(step->pos, i / pairs) * (double)freqs[i % pairs], &sin, &cos);
	Pack<2> pair = {{mul((float)cos, mag), mul((float)sin, mag)}};
	store<2>(angles + 2 * i, pair);
}

// rope_temps fills temps[row] = 1 + scale × ln(1 + ⌊position ÷ every⌋).
GLOBAL BLOCK(128) void rope_temps(const Step *step, float *temps, float scale, int every) {
	i64 i = (i64)block_x() * threads_x() + tid_x();
	if (i >= step->rows) return;
	temps[i] = (float)(1 + (double)scale * log_of((double)(1 + at(step->pos, i) / every)));
}

// Rope are the arguments of rope_append.
struct Rope {
	float *q;            // [rows][heads][dim]
	const float *k, *v;  // [rows][kv_heads][dim], [rows][kv_heads][value_dim]; v may be null
	const float *q_norm; // [dim], or null
	const float *k_norm; // [k_normed], or null
	const float *angles; // [rows][pairs][2]
	const float *temps;  // [rows], or null
	void *keys, *values; // of the layer
	i64 key_page, value_page; // bytes from page to page
	int heads, kv_heads, dim, value_dim;
	int k_normed;            // how many values of a key are normalised
	int pairs, first, apart; // rotation: pairs, from this value on; apart 0: neighbours, else their distance
	float eps;
	int page_size;
};

// head_of normalises the first `normed` values of a head, rotates it and hands each
// value to put(index, value). A warp does a head; each lane reads and writes the same
// values after the sum of squares.
template <class Put> DEVICE void head_of(const Rope &a, const float *head, const float *norm, int normed, i64 row, float factor, Put put) {
	int lane = tid_x() % 32;
	float scale = 1;
	if (norm) {
		float squares = 0;
		for (int i = lane; i < normed; i += 32) squares = fma(head[i], head[i], squares);
		scale = 1 / root(warp_sum(squares) / normed + a.eps);
	}
	auto value = [&](int i) { return norm && i < normed ? mul(mul(head[i], scale), norm[i]) : head[i]; };
	for (int i = lane; i < a.pairs; i += 32) {
		int one = a.first + (a.apart ? i : 2 * i), two = one + (a.apart ? a.apart : 1);
		float x = value(one), y = value(two);
		Pack<2> turn = load<2>(a.angles + 2 * (row * a.pairs + i));
		put(one, mul(add(mul(x, turn.v[0]), -mul(y, turn.v[1])), factor));
		put(two, mul(add(mul(x, turn.v[1]), mul(y, turn.v[0])), factor));
	}
	for (int i = lane; i < a.dim - 2 * a.pairs; i += 32) { // what does not rotate
		int at = i < a.first ? i : i + 2 * a.pairs;
		put(at, mul(value(at), factor));
	}
}

// rope_append: a warp does one head of one row: queries first, then keys, then values.
template <class T> DEVICE void append(const Step *step, const Rope &a) {
	typedef typename T::word word;
	int per_row = a.heads + a.kv_heads * (a.v ? 2 : 1);
	i64 item = (i64)block_x() * 4 + tid_x() / 32;
	i64 row = item / per_row;
	int head = item % per_row;
	if (row >= step->rows) return;
	if (head < a.heads) {
		float *q = a.q + (row * a.heads + head) * a.dim;
		head_of(a, q, a.q_norm, a.dim, row, a.temps ? a.temps[row] : 1, [&](int i, float v) { q[i] = v; });
		return;
	}
	head -= a.heads;
	int slot = at(step->slots, row), page = slot / a.page_size, place = slot % a.page_size;
	if (head < a.kv_heads) {
		word *to = token_at<T>(a.keys, a.key_page, page, head, a.page_size, place, a.dim);
		head_of(a, a.k + (row * a.kv_heads + head) * a.dim, a.k_norm, a.k_normed, row, 1, [&](int i, float v) { to[i] = T::pack(v); });
		return;
	}
	head -= a.kv_heads;
	word *to = token_at<T>(a.values, a.value_page, page, head, a.page_size, place, a.value_dim);
	const float *v = a.v + (row * a.kv_heads + head) * a.value_dim;
	for (int i = tid_x() % 32; i < a.value_dim; i += 32) to[i] = T::pack(v[i]);
}

#define ROPE_APPEND(name, T) \
	GLOBAL BLOCK(128) void name(const Step *step, float *q, const float *k, const float *v, const float *q_norm, const float *k_norm, \
		const float *angles, const float *temps, void *keys, void *values, i64 key_page, i64 value_page, int heads, int kv_heads, int dim, int value_dim, \
		int k_normed, int pairs, int first, int apart, float eps, int page_size) { \
		append<T>(step, {q, k, v, q_norm, k_norm, angles, temps, keys, values, key_page, value_page, heads, kv_heads, dim, value_dim, k_normed, pairs, first, apart, eps, page_size}); \
	}

ROPE_APPEND(rope_append_f16, F16)
ROPE_APPEND(rope_append_bf16, BF16)
ROPE_APPEND(rope_append_f32, F32)
