// Rows of a matrix looked up: packed weights back to numbers, one by one and to the bit
// as internal/quant's Decode has them (each product is rounded before it is added to).
#include "linear.cuh"

DEVICE float half_at(const u8 *p) { return half_to_float(*(const u16 *)p); }

// Value c of row r. nb as the products count a row: blocks of 32, or chunks of 16 bytes.
DEVICE float value_f32(const u8 *w, int nb, i64 r, int c) { return ((const float *)w)[r * nb * 4 + c]; }
DEVICE float value_f16(const u8 *w, int nb, i64 r, int c) { return half_to_float(((const u16 *)w)[r * nb * 8 + c]); }
DEVICE float value_bf16(const u8 *w, int nb, i64 r, int c) { return bf16_to_float(((const u16 *)w)[r * nb * 8 + c]); }

// A place in a panel whose rows have so many bytes a block beside those of super-blocks.
struct Place {
	const u8 *panel;
	i64 nb;
	int r, b, i;
	INLINE Place(const u8 *w, int blocks, i64 row, int c, int bytes) : panel(w + (row >> 3) * blocks * bytes), nb(blocks), r((int)(row & 7)), b(c >> 5), i(c & 31) {}
	INLINE u32 nibble() const { return (panel[r * nb * 16 + b * 16 + (i & 15)] >> (i >> 4 << 2)) & 15; }
};
DEVICE float value_q8_0(const u8 *w, int nb, i64 r, int c) {
	Place p(w, nb, r, c, 272);
	i8 q = (i8)p.panel[p.r * p.nb * 32 + (p.i >> 4) * p.nb * 16 + p.b * 16 + (p.i & 15)];
	return mul((float)q, half_at(p.panel + p.nb * 256 + p.b * 16 + p.r * 2));
}
DEVICE float value_q4_0(const u8 *w, int nb, i64 r, int c) {
	Place p(w, nb, r, c, 144);
	int q = (int)(p.nibble() << 28) >> 28;
	return mul((float)q, half_at(p.panel + p.nb * 128 + p.b * 16 + p.r * 2));
}
DEVICE float value_q4_k(const u8 *w, int nb, i64 r, int c) {
	Place p(w, nb, r, c, 148);
	const u8 *s = p.panel + p.nb * 128 + p.b * 16 + p.r * 2;
	const u8 *d = p.panel + p.nb * 144 + (p.b >> 3) * 32 + p.r * 4;
	float step = mul(half_at(d), (float)s[0]), base = mul(half_at(d + 2), (float)s[1]);
	return mul(step, (float)p.nibble()) - base;
}
DEVICE float value_q6_k(const u8 *w, int nb, i64 r, int c) {
	Place p(w, nb, r, c, 210);
	u32 high = p.panel[p.nb * 128 + p.r * p.nb * 8 + p.b * 8 + (p.i >> 4) * 4 + (p.i & 3)] >> ((p.i & 15) >> 2 << 1) & 3;
	int q = (int)((p.nibble() | high << 4) << 26) >> 26;
	i8 s = (i8)p.panel[p.nb * 192 + p.b * 16 + p.r * 2 + (p.i >> 4)];
	return mul(mul(half_at(p.panel + p.nb * 208 + (p.b >> 3) * 16 + p.r * 2), (float)s), (float)q);
}

// out[row] = scale × w[token of row], or with of_pos out[row] += w[position of row].
// One thread a value.
//
//	grid x  rows
//	     y  pieces of a row
#define EMBED(format)                                                                                                   \
	GLOBAL BLOCK(256) void embed_##format(const Step *step, float *out, const u8 *w, int nb, int width, float scale, int of_pos) { \
		int row = block_x(), c = block_y() * 256 + tid_x();                                                             \
		if (row >= step->rows || c >= width) return;                                                                    \
		float *to = out + (i64)row * width + c;                                                                         \
		if (of_pos) {                                                                                                   \
			*to += value_##format(w, nb, step->pos[row], c);                                                            \
		} else {                                                                                                        \
			*to = mul(value_##format(w, nb, step->tokens[row], c), scale);                                            \
		}                                                                                                               \
	}
EMBED(f32)
EMBED(f16)
EMBED(bf16)
EMBED(q8_0)
EMBED(q4_0)
EMBED(q4_k)
EMBED(q6_k)

// out[row] += v.
GLOBAL BLOCK(256) void embed_type(const Step *step, float *out, const float *v, int width) {
	int row = block_x(), c = block_y() * 256 + tid_x();
	if (row < step->rows && c < width) out[(i64)row * width + c] += v[c];
}

// out[row] = cap × tanh(out[row] ÷ cap): what some heads do to logits.
GLOBAL BLOCK(256) void cap_logits(const Step *step, float *out, int width, float cap) {
	int row = block_x(), c = block_y() * 256 + tid_x();
	if (row >= step->logits || c >= width) return;
	float *at = out + (i64)row * width + c;
	*at = softcap32(*at, cap);
}
