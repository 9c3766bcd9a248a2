// What the products of weights with activations share: how weights and rounded
// activations lie in memory, and which rows a block works on.
//
// Integers come in blocks of 32 values, also those of the K types, whose 8 (Q4_K) or
// 16 (Q6_K) scales then belong to parts of a super-block. A matrix is panels of 8
// rows, the last one padded with zeros (pack.go writes them). A panel of nb blocks:
//
//	quants  [8 rows][nb × 16 bytes]; of 8-bit quants the second 16 values of all
//	        blocks lie behind the first 16 of all; nibbles: value i low, i + 16 high
//	high    [8 rows][nb × 8 bytes], Q6_K alone
//	scales  [nb][8 rows] 16 bits
//	supers  [nb ÷ 8][8 rows], K types alone
//
// so that 32 lanes that take a block each read 512 bytes that lie together, and a few
// rows' scales of a block are one load. Floats are [8 rows][16-byte chunks].
//
// Activations: quants lie as 8-bit ones do, row by row; scales [rows ÷ 8][nb][8] of
// float32 and sums of 32 quants [rows ÷ 8][nb][8] of int16.
#pragma once
#include "math.cuh"

typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef u16 u16x4 __attribute__((ext_vector_type(4)));
typedef short i16;

// DEVICE, of a member.
#define INLINE __attribute__((device)) inline __attribute__((always_inline))

// Loads of what no running kernel writes. They are spelled out, since the compiler
// takes a vector whose parts are used apart to pieces.
DEVICE u32x4 load16(const void *p) {
	u32 a, b, c, d;
	asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"((const __attribute__((address_space(1))) void *)p));
	return u32x4{a, b, c, d};
}
DEVICE u32x2 load8(const void *p) {
	u32 a, b;
	asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"((const __attribute__((address_space(1))) void *)p));
	return u32x2{a, b};
}


// One product of a Linear: n outputs of a row. Of a stack, its matrices are `stack`
// bytes apart.
struct Part {
	const u8 *w;
	float *out;
	const float *bias; // [n], of a stack [matrices][n]; or null
	i64 stack;
	int n, stride; // stride: values of a row of out
};

// What all products of one launch share. Rows are cut into groups, one for each
// matrix of a stack: the rows that an expert was chosen for, or all rows' heads.
struct Call {
	const int *counts;  // rows; by group where offsets is not null
	const int *offsets; // a group's first row, a multiple of 8; or null: group × apart
	int apart;
	int out_apart;   // values between groups in a row of out, where offsets is null
	const u8 *x;     // quants, or floats
	const void *xd;  // their scales
	const void *xs;  // their sums
	int nb;          // blocks of 32, or chunks of 16 bytes of floats
	float scale;
	const float *ids; // few rows: the matrix of each of `used` products of a row; or null
	int used, per;    // per: products that share a row of x
};

#define PART_PARAMS(i) const u8 *w##i, float *out##i, const float *bias##i, i64 stack##i, int n##i, int stride##i
#define LINEAR_PARAMS                                                                                              \
	const int *counts, const int *offsets, int apart, int out_apart, const u8 *x, const void *xd, const void *xs, \
		int nb, float scale, const float *ids, int used, int per, PART_PARAMS(0), PART_PARAMS(1), PART_PARAMS(2)
#define LINEAR_CALL \
	Call { counts, offsets, apart, out_apart, x, xd, xs, nb, scale, ids, used, per }
// The product that this block is of, and which of its tiles of `most` outputs.
#define LINEAR_PART(most)                                           \
	Part part{w0, out0, bias0, stack0, n0, stride0};                \
	int tile = block_x();                                           \
	if (tile >= (n0 + (most)-1) / (most)) {                         \
		tile -= (n0 + (most)-1) / (most);                           \
		part = Part{w1, out1, bias1, stack1, n1, stride1};          \
		if (tile >= (n1 + (most)-1) / (most)) {                     \
			tile -= (n1 + (most)-1) / (most);                       \
			part = Part{w2, out2, bias2, stack2, n2, stride2};      \
		}                                                           \
	}

// The rows of a block.
struct Rows {
	int x;     // first row of x
	int out;   // its row of out
	int count; // rows from there on, perhaps more than the block takes
	int group; // matrix of the stack
};

// Rows of the block_y-th tile of `most` rows of group block_z; none: false.
DEVICE bool rows_of(const Call &c, int most, Rows &r) {
	r.group = block_z();
	int first = c.offsets ? c.offsets[r.group] : r.group * c.apart;
	int row = block_y() * most;
	r.count = c.counts[c.offsets ? r.group : 0] - row;
	r.x = first + row;
	r.out = (c.offsets ? first : 0) + row;
	return r.count > 0;
}

DEVICE int dot4(u32 a, u32 b, int c) {
	int d;
	asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
	return d;
}

// 12582912 = 1.5 × 2^23 has the float pattern 0x4b400000, and the floats around it are
// the integers around it: an integer sum of less than 2^22 either way that began at
// this pattern is, read as a float, 12582912 + sum. Subtracting is exact and one
// instruction at full rate, which the conversion is not.
//
//	bound of a block's sum: 32 × 128 × 127 = 520192 < 4194304
constexpr int SEED = 0x4b400000;
DEVICE float seeded(int sum) { return __builtin_bit_cast(float, sum) - 12582912.f; }

DEVICE float shuffle_xor(float v, int bit) { return __nvvm_shfl_sync_bfly_f32(0xffffffffu, v, bit, 31); }

// Writes one output: scale × (sum + bias).
DEVICE void put(const Call &c, const Part &p, const Rows &r, int row, int at, float v) {
	if (p.bias) v += p.bias[(i64)r.group * p.n + at];
	i64 group = c.offsets || c.ids ? 0 : (i64)r.group * c.out_apart;
	p.out[(i64)(r.out + row) * p.stride + group + at] = mul(v, c.scale);
}
