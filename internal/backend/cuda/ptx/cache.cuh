// The KV cache's layout. A layer's keys, and its values, are
//
//	page 0 │ head 0: token 0: dim values, token 1, … │ head 1 │ … ── a stride ─▶ page 1
//
// so that the keys of one head in one page are one run; what else lies between two
// pages of a layer is none of the kernels' business. Values of a layer whose values begin its keys lie in the keys, every
// key's width apart.
#pragma once
#include "math.cuh"

// Eight values of a head, as they are loaded: 16 bytes of the short types, 32 of
// float32. Widths of heads are multiples of eight.
struct alignas(16) Words {
	u32 w[4];
};

// F16, BF16 and F32 are the types of an element.
struct F16 {
	typedef u16 word;
	struct Eight {
		Words a;
	};
	DEVICE_MEMBER u16 pack(float f) { return float_to_half(f); }
	DEVICE_MEMBER float widen(u16 h) { return half_to_float(h); }
	DEVICE_MEMBER float get(const Eight &e, int i) { return half_to_float(e.a.w[i / 2] >> (16 * (i % 2))); }
};
struct BF16 {
	typedef u16 word;
	struct Eight {
		Words a;
	};
	DEVICE_MEMBER u16 pack(float f) { // to nearest even
		u16 h;
		asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
		return h;
	}
	DEVICE_MEMBER float widen(u16 h) { return bf16_to_float(h); }
	DEVICE_MEMBER float get(const Eight &e, int i) { return from_bits(i % 2 ? e.a.w[i / 2] & 0xffff0000u : e.a.w[i / 2] << 16); }
};
struct F32 {
	typedef float word;
	struct Eight {
		Words a, b;
	};
	DEVICE_MEMBER float pack(float f) { return f; }
	DEVICE_MEMBER float get(const Eight &e, int i) { return from_bits(i < 4 ? e.a.w[i] : e.b.w[i - 4]); }
};

// token_at is where the entry of a head begins for the token at a place in a page.
template <class T> DEVICE typename T::word *token_at(const void *part, i64 page_bytes, int page, int head, int page_size, int place, int dim) {
	return (typename T::word *)((u8 *)part + page * page_bytes) + ((i64)head * page_size + place) * dim;
}
