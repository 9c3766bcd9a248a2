// The KV cache's layout. A layer's keys, and its values, are
//
//	[page][head][token of the page][value of the head]
//
// so that the keys of one head in one page are one run, and a page of a layer is one
// piece. Values of a layer whose values begin its keys lie in the keys, every
// key's width apart.
#pragma once
#include "math.cuh"

// F16, BF16 and F32 are the types of an element.
struct F16 {
	u16 bits;
	typedef u16 word;
	DEVICE_MEMBER u16 pack(float f) { return float_to_half(f); }
};
struct BF16 {
	u16 bits;
	typedef u16 word;
	DEVICE_MEMBER u16 pack(float f) {
		u32 b = to_bits(f);
		if (is_nan(f)) return (b >> 16) | 0x40;
		return (b + 0x7fff + ((b >> 16) & 1)) >> 16; // to nearest even
	}
};
struct F32 {
	float bits;
	typedef float word;
	DEVICE_MEMBER float pack(float f) { return f; }
};

// token_at is where head's entry of a token begins that is the one at place offset in
// page.
DEVICE i64 token_at(int page, int offset, int head, int heads, int page_size, int dim) {
	return (((i64)page * heads + head) * page_size + offset) * dim;
}
