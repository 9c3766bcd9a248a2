// The tensor-core instructions on registers that the host chose, bit for bit: one warp
// a block, and every block its own registers. What an instruction takes for which
// element shows in what comes out.
#include "../../../backend/cuda/ptx/paddock.cuh"

// Register r of lane l of block b lies at (b × registers + r) × 32 + l.
DEVICE i64 place(int registers, int r) { return ((i64)block_x() * registers + r) * 32 + tid_x(); }

// A of four registers, B of two.
#define MMA_4_2(NAME, TEXT, TYPE)                                                                              \
	GLOBAL BLOCK(32) void NAME(const u32 *a, const u32 *b, const TYPE *c, TYPE *d) {                           \
		TYPE d0, d1, d2, d3;                                                                                   \
		asm volatile(TEXT " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"               \
		             : REG(d0), REG(d1), REG(d2), REG(d3)                                                      \
		             : "r"(a[place(4, 0)]), "r"(a[place(4, 1)]), "r"(a[place(4, 2)]), "r"(a[place(4, 3)]),     \
		               "r"(b[place(2, 0)]), "r"(b[place(2, 1)]), ARG(c[place(4, 0)]), ARG(c[place(4, 1)]),     \
		               ARG(c[place(4, 2)]), ARG(c[place(4, 3)]));                                              \
		d[place(4, 0)] = d0;                                                                                   \
		d[place(4, 1)] = d1;                                                                                   \
		d[place(4, 2)] = d2;                                                                                   \
		d[place(4, 3)] = d3;                                                                                   \
	}

// A of two registers, B of one.
#define MMA_2_1(NAME, TEXT, TYPE)                                                                              \
	GLOBAL BLOCK(32) void NAME(const u32 *a, const u32 *b, const TYPE *c, TYPE *d) {                           \
		TYPE d0, d1, d2, d3;                                                                                   \
		asm volatile(TEXT " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"                              \
		             : REG(d0), REG(d1), REG(d2), REG(d3)                                                      \
		             : "r"(a[place(2, 0)]), "r"(a[place(2, 1)]), "r"(b[place(1, 0)]), ARG(c[place(4, 0)]),     \
		               ARG(c[place(4, 1)]), ARG(c[place(4, 2)]), ARG(c[place(4, 3)]));                         \
		d[place(4, 0)] = d0;                                                                                   \
		d[place(4, 1)] = d1;                                                                                   \
		d[place(4, 2)] = d2;                                                                                   \
		d[place(4, 3)] = d3;                                                                                   \
	}

#define REG(x) "=f"(x)
#define ARG(x) "f"(x)
MMA_2_1(mma_k8_f16, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", float)
MMA_2_1(mma_k8_bf16, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", float)
MMA_4_2(mma_k16_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", float)
MMA_4_2(mma_k16_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", float)
#undef REG
#undef ARG
#define REG(x) "=r"(x)
#define ARG(x) "r"(x)
MMA_2_1(mma_k16_s8, "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", int)
MMA_4_2(mma_k32_s8, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", int)

// ldmatrix of 1 KiB of shared memory that holds what data does; lane l gives the
// address offsets[l]. One block.
#define LOAD_BEGIN                                                                                             \
	SHARED static u32 memory[256];                                                                             \
	for (int i = tid_x(); i < 256; i += 32) memory[i] = data[i];                                               \
	barrier();                                                                                                 \
	u32 at = (u32)(u64)(__attribute__((address_space(3))) char *)((char *)memory + offsets[tid_x()]);

#define LOAD_1(NAME, TEXT)                                                                                     \
	GLOBAL BLOCK(32) void NAME(const u32 *data, const u32 *offsets, u32 *d) {                                  \
		LOAD_BEGIN                                                                                             \
		u32 d0;                                                                                                \
		asm volatile(TEXT " {%0}, [%1];" : "=r"(d0) : "r"(at) : "memory");                                     \
		d[tid_x()] = d0;                                                                                       \
	}
#define LOAD_2(NAME, TEXT)                                                                                     \
	GLOBAL BLOCK(32) void NAME(const u32 *data, const u32 *offsets, u32 *d) {                                  \
		LOAD_BEGIN                                                                                             \
		u32 d0, d1;                                                                                            \
		asm volatile(TEXT " {%0, %1}, [%2];" : "=r"(d0), "=r"(d1) : "r"(at) : "memory");                       \
		d[tid_x()] = d0;                                                                                       \
		d[32 + tid_x()] = d1;                                                                                  \
	}
#define LOAD_4(NAME, TEXT)                                                                                     \
	GLOBAL BLOCK(32) void NAME(const u32 *data, const u32 *offsets, u32 *d) {                                  \
		LOAD_BEGIN                                                                                             \
		u32 d0, d1, d2, d3;                                                                                    \
		asm volatile(TEXT " {%0, %1, %2, %3}, [%4];" : "=r"(d0), "=r"(d1), "=r"(d2), "=r"(d3) : "r"(at) : "memory"); \
		d[tid_x()] = d0;                                                                                       \
		d[32 + tid_x()] = d1;                                                                                  \
		d[64 + tid_x()] = d2;                                                                                  \
		d[96 + tid_x()] = d3;                                                                                  \
	}

LOAD_1(load_x1, "ldmatrix.sync.aligned.m8n8.x1.shared.b16")
LOAD_2(load_x2, "ldmatrix.sync.aligned.m8n8.x2.shared.b16")
LOAD_4(load_x4, "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
LOAD_1(load_x1_trans, "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16")
LOAD_2(load_x2_trans, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16")
LOAD_4(load_x4_trans, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
