// The functions that internal/num defines, operation by operation, so that a value
// of an activation or a router is that of the CPU to the bit. Products and sums that
// must round on their own are mul and add: the compilers, clang's and the driver's,
// fuse any others as they like.
#pragma once
#include "paddock.cuh"

DEVICE float mul(float a, float b) {
	float r;
	asm("mul.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
	return r;
}
DEVICE float add(float a, float b) {
	float r;
	asm("add.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
	return r;
}
DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DEVICE float from_bits(u32 b) { return __builtin_bit_cast(float, b); }
DEVICE u32 to_bits(float f) { return __builtin_bit_cast(u32, f); }
DEVICE bool is_nan(float f) { return f != f; }
DEVICE int min_of(int a, int b) { return a < b ? a : b; }
DEVICE int max_of(int a, int b) { return a > b ? a : b; }

DEVICE float root(float f) { return __nvvm_sqrt_rn_f(f); }

// at is p[i] of an array that Step points to, by a load that knows the memory is
// global.
DEVICE int at(const int *p, i64 i) { return *(const __attribute__((address_space(1))) int *)(p + i); }

// N floats that are loaded and stored at once; their address is a multiple of their
// size.
template <int N> struct alignas(4 * N) Pack {
	float v[N];
};
template <int N> DEVICE Pack<N> load(const float *p) { return *(const Pack<N> *)p; }
template <int N> DEVICE void store(float *p, const Pack<N> &x) { *(Pack<N> *)p = x; }

// DEVICE_MEMBER is DEVICE for a static member.
#define DEVICE_MEMBER static __attribute__((device)) inline __attribute__((always_inline))

constexpr float INFINITE = __builtin_huge_valf();

// e^x, num.Exp32.
DEVICE float exp32(float x) {
	if (x > 88.72283f) return INFINITE;
	if (x < -87.33654f) return 0;
	const float magic = 12582912.f; // adding it rounds to an integer in the low bits
	float t = fma(x, 1.44269504088896340736f, magic);
	float n = t - magic;
	float r = fma(n, -0.693147182464599609375f, x);
	r = fma(n, 1.904654299957767878e-9f, r);
	float p = 1.f / 5040;
	p = fma(p, r, 1.f / 720);
	p = fma(p, r, 1.f / 120);
	p = fma(p, r, 1.f / 24);
	p = fma(p, r, 1.f / 6);
	p = fma(p, r, 1.f / 2);
	p = fma(p, r, 1);
	p = fma(p, r, 1);
	int k = (int)to_bits(t) - (int)to_bits(magic);
	int a = k >> 1, b = k - a;
	return mul(mul(p, from_bits((u32)(a + 127) << 23)), from_bits((u32)(b + 127) << 23));
}

// x ÷ (1 + e^−x), num.SiLU32.
DEVICE float silu32(float x) { return x / (1 + exp32(-x)); }

// The tanh form by way of half precision, num.GELU32.
DEVICE float gelu32(float x) {
	if (x >= 10) return x;
	if (x <= -10) return 0;
	x = half_to_float(float_to_half(x));
	float u = mul(x, fma(-0.07135481627159503f, mul(x, x), -1.5957691216057308f));
	return half_to_float(float_to_half(x / (1 + exp32(u))));
}

// limit × tanh(x ÷ limit), num.Softcap32.
DEVICE float softcap32(float x, float limit) {
	float t = exp32(mul(x, 2 / limit));
	return limit - mul(2, limit) / (1 + t);
}

// 1 ÷ (1 + e^−x).
DEVICE float sigmoid32(float x) { return 1 / (1 + exp32(-x)); }

// block_sum adds v over the threads of
// a block (a multiple of 32, at most 1024) in one fixed tree; parts is 32 floats of
// shared memory that no one else uses until the next barrier. Every thread has the
// result.
DEVICE float block_sum(float v, float *parts) {
	v = warp_sum(v);
	if (threads_x() == 32) return v;
	int warps = threads_x() / 32;
	barrier(); // who reads the parts of the sum before has them
	if (tid_x() % 32 == 0) parts[tid_x() / 32] = v;
	barrier();
	return warp_sum(tid_x() % 32 < warps ? parts[tid_x() % 32] : 0);
}
