// Instructions of tensor cores on 16-bit values, and of copies in the background, for
// attention.
#pragma once
#include "attention.cuh"

// Two 16-bit values in a register, the first in the low half.
DEVICE u32 pair(u16 low, u16 high) { return (u32)high << 16 | low; }

// Terms are two values as the sums of two pairs.
struct Terms {
	u32 high, low;
};
template <class T> DEVICE Terms split(float x, float y) {
	u16 a = T::pack(x), b = T::pack(y);
	return {pair(a, b), pair(T::pack(x - T::widen(a)), T::pack(y - T::widen(b)))};
}

// mma adds a 16×16 by 16×8 product to c.
#define MMA(T, type) \
	DEVICE void mma(T, float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) { \
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
			: "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) \
			: "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)); \
	}
MMA(F16, "f16")
MMA(BF16, "bf16")

// What lies in shared memory is addressed as a place of this thread's, in a register,
// and a distance from it that is part of the instruction: unrolled loops over a tile
// would keep tens of sums in registers.

// Matrices are four 8×8 matrices of 16-bit values: lane i gives the address of row i mod 8 of
// matrix i ÷ 8.
struct Matrices {
	u32 m[4];
};
#define LOAD_MATRICES(name, how) \
	DEVICE Matrices name(u32 at, int apart) { \
		Matrices r; \
		asm volatile("ldmatrix.sync.aligned.m8n8.x4" how ".shared.b16 {%0, %1, %2, %3}, [%4+%5];" \
			: "=r"(r.m[0]), "=r"(r.m[1]), "=r"(r.m[2]), "=r"(r.m[3]) : "r"(at), "i"(apart) : "memory"); \
		return r; \
	}
LOAD_MATRICES(load_matrices, "")
LOAD_MATRICES(load_transposed, ".trans")

DEVICE void store_shared(u32 at, int apart, u32 v) { asm volatile("st.shared.u32 [%0+%1], %2;" :: "r"(at), "i"(apart), "r"(v) : "memory"); }

// copy_async copies 16 bytes to shared memory, or zeros; they are there for this thread
// after wait_async, for others after a barrier more.
DEVICE void copy_async(u32 to, int apart, const void *from, bool there) {
	asm volatile("cp.async.cg.shared.global [%0+%1], [%2], 16, %3;" :: "r"(to), "i"(apart), "l"((const __attribute__((address_space(1))) void *)from), "r"(there ? 16 : 0) : "memory");
}
DEVICE void commit_async() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEVICE void wait_async() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
