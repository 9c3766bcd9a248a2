// What the card can do at most, measured with nothing else in the way.
#include "../../../backend/cuda/ptx/paddock.cuh"

typedef u32 quad __attribute__((ext_vector_type(4)));

// peak_copy copies n pieces of 16 bytes, four under way at a time for each thread; n is
// a multiple of 1024.
GLOBAL BLOCK(256) void peak_copy(quad *dst, const quad *src, i64 n) {
	for (i64 i = (i64)block_x() * 1024 + tid_x(); i < n; i += (i64)blocks_x() * 1024) {
		quad a = src[i], b = src[i + 256], c = src[i + 512], d = src[i + 768];
		dst[i] = a;
		dst[i + 256] = b;
		dst[i + 512] = c;
		dst[i + 768] = d;
	}
}

// peak_read adds up n pieces of 16 bytes: who reads nothing else can't be faster.
GLOBAL BLOCK(256) void peak_read(u32 *out, const quad *src, i64 n) {
	quad sum = 0;
	for (i64 i = (i64)block_x() * 1024 + tid_x(); i < n; i += (i64)blocks_x() * 1024)
		sum += (src[i] ^ src[i + 256]) + (src[i + 512] ^ src[i + 768]);
	out[(i64)block_x() * 256 + tid_x()] = sum.x + sum.y + sum.z + sum.w;
}

// The rates of the tensor cores: every warp multiplies registers, into eight sums that
// don't wait for each other. A round is 8 instructions.
GLOBAL BLOCK(256) void peak_bf16(float *out, int rounds) {
	float c[8][4];
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 4; j++) c[i][j] = 0;
	u32 one = 0x3f803f80u + tid_x(); // near 1, and nothing that the compiler could know
	for (int r = 0; r < rounds; r++) {
#pragma unroll
		for (int i = 0; i < 8; i++)
			asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
			             : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
			             : "r"(one));
	}
	float sum = 0;
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 4; j++) sum += c[i][j];
	out[(i64)block_x() * threads_x() + tid_x()] = sum;
}

GLOBAL BLOCK(256) void peak_s8(int *out, int rounds) {
	int c[8][4];
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 4; j++) c[i][j] = 0;
	u32 one = 0x01010101u + tid_x() % 2;
	for (int r = 0; r < rounds; r++) {
#pragma unroll
		for (int i = 0; i < 8; i++)
			asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
			             : "+r"(c[i][0]), "+r"(c[i][1]), "+r"(c[i][2]), "+r"(c[i][3])
			             : "r"(one));
	}
	int sum = 0;
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 4; j++) sum += c[i][j];
	out[(i64)block_x() * threads_x() + tid_x()] = sum;
}
