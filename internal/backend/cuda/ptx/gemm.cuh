// Products for many rows, by tensor cores.
//
// A block of threads makes a tile of BM outputs × BN rows. Weights are the left operand
// of mma.sync (16 outputs × 32 of K), activations the right one (32 of K × 8 rows), so
// that tiles can be narrow in rows. Stages of K come into shared memory by cp.async,
// ST of them at once:
//
//	a stage: WK units of │ weights [BM][128 B] │ activations [BN][128 or 256 B] │ scales …
//
// A unit is what 128 bytes of a weight row hold. With WK > 1 warps share a tile by
// units, and their sums are added at the end in order. The 16-byte chunks of a row of
// weights or activations are stored at chunk XOR (row mod 8), so that the 8 rows which
// ldmatrix reads at once lie in different banks.
//
// A row's result depends on the kind of tile, but not on other rows.
#pragma once
#include "linear.cuh"

extern __attribute__((shared)) __attribute__((aligned(128))) u8 pool[];

DEVICE u32 shared_at(const void *p) { return (u32)(u64)(const __attribute__((address_space(3))) void *)p; }

// Copies 16 bytes in the background; zeros where there are none.
DEVICE void copy16(u32 to, const void *from, bool there) {
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"((const __attribute__((address_space(1))) void *)from), "r"(there ? 16 : 0) : "memory");
}
DEVICE void copies_end() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEVICE void copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// Four 8 × 16-byte matrices; lane l gives the address of row l % 8 of the (l ÷ 8)-th.
DEVICE void load_matrices(u32 *r, u32 at) {
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}

// Loads of shared memory, spelled out for the same reason as load16.
DEVICE f32x2 shared8(u32 at) {
	float a, b;
	asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "r"(at) : "memory");
	return f32x2{a, b};
}
DEVICE u32x4 shared16(u32 at) {
	u32 a, b, c, d;
	asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");
	return u32x4{a, b, c, d};
}

// Bytes, 16 × 32 by 32 × 8; sums begin at c.
DEVICE void mma_32(int *d, const u32 *a, const u32 *b, int c) {
	asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
		: "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
		: "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c));
}
// Bytes, 16 × 16 by 16 × 8.
DEVICE void mma_16(int *d, u32 a0, u32 a1, u32 b, int c) {
	asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
		: "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
		: "r"(a0), "r"(a1), "r"(b), "r"(c));
}
#define MMA_FLOATS(name, type)                                                                                                  \
	DEVICE void name(float *d, const u32 *a, const u32 *b) {                                                                    \
		asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
			: "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                                    \
			: "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                                                \
	}
MMA_FLOATS(mma_f16, "f16")
MMA_FLOATS(mma_bf16, "bf16")

// The shape of a tile. Warps: WM by outputs, WN by rows, WK by K; each has MT × NT
// products of 16 × 8.
template <int Wm, int Wn, int Wk, int Mt, int Nt> struct Shape {
	static constexpr int WM = Wm, WN = Wn, WK = Wk, MT = Mt, NT = Nt;
	static constexpr int BM = WM * MT * 16, BN = WN * NT * 8, THREADS = 32 * WM * WN * WK;
};
typedef Shape<1, 1, 4, 2, 2> Rows16;  // 32 × 16
typedef Shape<2, 1, 2, 2, 4> Rows32;  // 64 × 32
typedef Shape<2, 2, 1, 2, 4> Rows64;  // 64 × 64
typedef Shape<4, 2, 1, 2, 4> RowsAny; // 128 × 64

constexpr int MOST_SHARED = 99 << 10;

// What is to be loaded for one product.
struct Job {
	const Call &call;
	const u8 *w; // the matrix
	int n, m0;   // its rows, and the first of the tile
	int x0, live; // first row of activations, and how many there are
	int nb;
	// Panel p of the tile, of so many bytes a block.
	INLINE const u8 *panel(int p, int bytes) const { return w + (i64)((m0 >> 3) + p) * nb * bytes; }
	INLINE bool has(int m) const { return m0 + m < ((n + 7) & ~7); }
};

// Where a stage's parts lie, from its begin on.
template <class F, class S> struct Stage {
	static constexpr int A = S::BM * 128, B = S::BN * F::B_CHUNKS * 16;
	static constexpr int UNIT = (A + B + F::template Sides<S>::BYTES + 127) / 128 * 128;
	static constexpr int BYTES = UNIT * S::WK;
	static constexpr int FIT = MOST_SHARED / BYTES, ST = FIT < 4 ? FIT : 4;
	static_assert(ST >= 2, "two stages must fit");
};

// Where chunk c of row r lies, in rows of so many chunks.
template <int CHUNKS> DEVICE int chunk_at(int r, int c) { return (r * CHUNKS + (c ^ (r & 7))) * 16; }
// Where chunk c XOR c0 of a row lies, given where c0, which is 0 or 1, does: one
// instruction for a constant c. Parts begin on 128 bytes.
DEVICE u32 other_chunk(u32 at, int c) { return (at ^ ((c & 7) << 4)) + (c >> 3) * 128; }

// The first of the chunks that a thread loads for each unit.
struct Chunk {
	const u8 *from; // moves along K
	u32 to;
	int block; // of the unit
};

// Loads units of K one after the other. A thread has the same chunk of every few rows,
// so that all that it keeps is where the first one is.
template <class F, class S> struct Loader {
	typedef Stage<F, S> G;
	static constexpr int W_ROWS = S::THREADS / 8, X_ROWS = S::THREADS / F::B_CHUNKS; // rows from chunk to chunk
	static_assert(W_ROWS % 8 == 0 && X_ROWS % 8 == 0 && S::BM % W_ROWS == 0 && S::BN % X_ROWS == 0, "whole panels");
	const Job &job;
	Chunk w, x;
	int w_row, x_row;
	i64 w_step, x_step;
	typename F::template Sides<S> sides;
	int u = 0; // the next unit

	INLINE Loader(const Job &j) : job(j), sides(j) {
		int c;
		w_row = tid_x() / 8;
		w.from = F::weights(j, w_row, tid_x() % 8, c, w.block);
		w.to = chunk_at<8>(w_row, c);
		w_step = (i64)j.nb * F::PANEL * (W_ROWS / 8);
		x_row = tid_x() / F::B_CHUNKS;
		x.from = F::acts(j, x_row, tid_x() % F::B_CHUNKS, c, x.block);
		x.to = chunk_at<F::B_CHUNKS>(x_row, c);
		x_step = (i64)j.nb * F::X_BLOCK * X_ROWS;
	}
	INLINE void unit(u32 to) {
		const u8 *from = w.from;
		bool in = u * F::UNIT + w.block < job.nb;
#pragma unroll
		for (int i = 0; i < S::BM / W_ROWS; i++, from += w_step) copy16(to + w.to + i * W_ROWS * 128, from, in && job.has(w_row + i * W_ROWS));
		from = x.from;
		in = u * F::UNIT + x.block < job.nb;
#pragma unroll
		for (int i = 0; i < S::BN / X_ROWS; i++, from += x_step) {
			copy16(to + G::A + x.to + i * X_ROWS * F::B_CHUNKS * 16, from, in && x_row + i * X_ROWS < job.live);
		}
		sides.unit(job, to + G::A + G::B, u);
		w.from += F::ADVANCE;
		x.from += F::ADVANCE;
		u++;
	}
};

// Chunks of 16 bytes that panels of 8 rows have beside their quants: CHUNKS for each unit
// and panel, in this order in shared memory. They move along K as the loader's do.
template <int PANELS, int CHUNKS, int THREADS> struct PanelLoads {
	static constexpr int ROUNDS = (PANELS * CHUNKS + THREADS - 1) / THREADS, STEP = THREADS / CHUNKS;
	static_assert(THREADS % CHUNKS == 0, "a thread has the same chunk in each round");
	const u8 *from;
	i64 step;
	int panel, chunk;
	// first: of panel 0; apart: bytes from panel to panel.
	INLINE PanelLoads(const u8 *first, i64 apart) {
		panel = tid_x() / CHUNKS;
		chunk = tid_x() % CHUNKS;
		from = first + panel * apart + chunk * 16;
		step = apart * STEP;
	}
	// Panels below `panels` are there, and chunks below `chunks`.
	INLINE void unit(u32 to, int panels, int chunks) {
		const u8 *at = from;
#pragma unroll
		for (int i = 0; i < ROUNDS; i++, at += step) {
			int p = panel + i * STEP;
			if (PANELS * CHUNKS % THREADS == 0 || p < PANELS) copy16(to + (p * CHUNKS + chunk) * 16, at, p < panels && chunk < chunks);
		}
		from += CHUNKS * 16;
	}
};

template <class F, class S> DEVICE void gemm(const Call &c, const Part &p, int tile) {
	typedef Stage<F, S> G;
	Rows r;
	if (!rows_of(c, S::BN, r)) return;
	Job job{c, p.w + p.stack * r.group, p.n, tile * S::BM, r.x, r.count, c.nb};
	int lane = tid_x() & 31, warp = tid_x() >> 5;
	int wm = warp % S::WM, wn = warp / S::WM % S::WN, wk = warp / (S::WM * S::WN);
	float sum[S::MT][S::NT][4] = {};
	bool busy = job.m0 + wm * S::MT * 16 < job.n && wn * S::NT * 8 < job.live;
	int units = (c.nb + F::UNIT - 1) / F::UNIT, stages = (units + S::WK - 1) / S::WK;
	Loader<F, S> loader(job);
	u32 base = shared_at(pool);
	int slot = 0, free = 0;
	for (int s = 1 - G::ST; s < stages; s++) { // below 0: the first stages are loaded
		if (s >= 0) {
			copies_wait<G::ST - 2>();
			barrier(); // the stage is there for all, and all are done with the one before
		}
		if (s + G::ST - 1 < stages) {
#pragma nounroll
			for (int k = 0; k < S::WK; k++) loader.unit(base + free * G::BYTES + k * G::UNIT);
		}
		copies_end();
		free = free + 1 == G::ST ? 0 : free + 1;
		if (s < 0) continue;
		if (busy) F::template multiply<S>(sum, slot * G::BYTES + wk * G::UNIT, wm, wn, lane);
		slot = slot + 1 == G::ST ? 0 : slot + 1;
	}
	if (S::WK > 1) {
		copies_wait<0>();
		barrier();
		float *others = (float *)pool + ((wk - 1) * S::WM * S::WN + wn * S::WM + wm) * (S::MT * S::NT * 4 * 32) + lane;
#pragma unroll
		for (int i = 0; i < S::MT * S::NT * 4; i++) {
			if (wk > 0) others[i * 32] = sum[i / 4 / S::NT][i / 4 % S::NT][i % 4];
		}
		barrier();
		if (wk > 0) return;
		const float *first = (const float *)pool + (wn * S::WM + wm) * (S::MT * S::NT * 4 * 32) + lane;
#pragma unroll
		for (int i = 0; i < S::MT * S::NT * 4; i++) {
#pragma unroll
			for (int k = 1; k < S::WK; k++) {
				float &to = sum[i / 4 / S::NT][i / 4 % S::NT][i % 4];
				to = to + first[((k - 1) * S::WM * S::WN * S::MT * S::NT * 4 + i) * 32];
			}
		}
	}
	if (!busy) return;
#pragma unroll
	for (int nt = 0; nt < S::NT; nt++) {
#pragma unroll
		for (int e = 0; e < 2; e++) {
			int n = (wn * S::NT + nt) * 8 + (lane & 3) * 2 + e;
			if (n >= job.live) continue;
			float scale = F::row_scale(c, job.x0 + n);
#pragma unroll
			for (int mt = 0; mt < S::MT; mt++) {
#pragma unroll
				for (int h = 0; h < 2; h++) {
					int m = job.m0 + (wm * S::MT + mt) * 16 + h * 8 + (lane >> 2);
					if (m < job.n) put(c, p, r, n, m, mul(sum[mt][nt][2 * h + e], scale));
				}
			}
		}
	}
}

// F::BLOCKS is how many blocks of a multiprocessor the registers should do for, F::WIDE
// how many of the 256 threads of RowsAny: two of those leave a thread 128 registers.
#define GEMM(name, F, S, suffix)                                    \
	GLOBAL __attribute__((launch_bounds(S::THREADS, S::THREADS > 128 ? F::WIDE : F::BLOCKS))) void name##_##suffix(LINEAR_PARAMS) { \
		LINEAR_PART(S::BM)                                          \
		gemm<F, S>(LINEAR_CALL, part, tile);                        \
	}
#define GEMMS(name, F) GEMM(name, F, Rows16, 16) GEMM(name, F, Rows32, 32) GEMM(name, F, Rows64, 64) GEMM(name, F, RowsAny, any)
