// What all kernels share. No header of a toolkit is used: clang brings the
// builtins, and what a header would declare is declared here.
//
// All sizes that are multiplied are 64-bit (i64): a row times a width may pass
// 2^31.
#pragma once

#define GLOBAL extern "C" __attribute__((global))
#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))
#define SHARED __attribute__((shared)) __attribute__((aligned(128)))
// BLOCK(n) promises that a block has at most n threads.
#define BLOCK(n) __attribute__((launch_bounds(n)))

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
typedef signed char i8;

// Step is what changes from one step to the next: the one thing that kernels read
// beside weights, activations and the cache. The host writes it by one copy before the
// kernels run, and the arrays with it, as tightly behind it as the step lets them lie:
// each step has its own pointers. Go's side is step.go, which pins the offsets.
//
//	row       0  1  2 │ 3 │ 4  5  6  7
//	sequence  0       │ 1 │ 2             seq_start = 0 3 4 8
struct Step {
	int rows;       // token rows of this step
	int seqs;       // sequences
	int logits;     // rows that want logits
	int stride;     // entries in a row of tables
	int page_size;  // tokens of a page
	int max_ctx;    // the largest of ctx_len
	int most_rows;  // the most rows that a sequence has in this step
	int reserved;
	const int *tokens;     // [rows] token ids
	const int *pos;        // [rows] positions
	const int *slots;      // [rows] page × page_size + offset that the row writes
	const int *seq;        // [rows] the row's sequence
	const int *seq_start;  // [seqs + 1] first row
	const int *ctx_len;    // [seqs] keys there are once this step's rows are written
	const int *logit_rows; // [logits] rows that want logits, ascending
	const int *tables;     // [seqs][stride] pages
	const float *temps;    // [logits] temperatures, where tokens are picked (sample.cu)
	const void *spare;
};

DEVICE int tid_x() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE int tid_y() { return __nvvm_read_ptx_sreg_tid_y(); }
DEVICE int block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE int block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DEVICE int block_z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
DEVICE int threads_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE int blocks_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }

DEVICE void barrier() { __syncthreads(); }

// Sums and maxima over the 32 lanes of a warp, in one fixed tree; every lane has the
// result.
DEVICE float warp_sum(float v) {
	for (int i = 16; i > 0; i >>= 1) v += __nvvm_shfl_sync_bfly_f32(0xffffffffu, v, i, 31);
	return v;
}
DEVICE float warp_max(float v) {
	for (int i = 16; i > 0; i >>= 1) v = __builtin_fmaxf(v, __nvvm_shfl_sync_bfly_f32(0xffffffffu, v, i, 31));
	return v;
}

// A word's bits as a float. By value: of an element of a vector, the builtin itself
// takes the first one, whichever is named (clang 16).
DEVICE float as_float(u32 bits) { return __builtin_bit_cast(float, bits); }

DEVICE float half_to_float(u16 h) {
	float f;
	asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
	return f;
}
DEVICE u16 float_to_half(float f) { // to nearest even, infinite beyond the range
	u16 h;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
	return h;
}
DEVICE float bf16_to_float(u16 h) { return __builtin_bit_cast(float, (u32)h << 16); }

// e^x by the hardware's 2^x: within 2 units in the last place for |x| < 88.
DEVICE float fast_exp(float x) {
	float y;
	asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950408889634f));
	return y;
}
