// Products for few rows: the weights are read once, 16 bytes to a lane.
//
// A warp has 4 outputs; lane l takes blocks l, l + 32, … of all four and of N rows of
// activations. The next blocks' loads are under way while these are multiplied. What
// the lanes have is added in one tree, 16 lanes apart first, which does not depend on
// N: a row's outputs have the same bits whatever rows are beside it.
#pragma once
#include "linear.cuh"

constexpr int WARP_ROWS = 4; // outputs of a warp
constexpr int GEMV_WARPS = 4;
constexpr int GEMV_ROWS = WARP_ROWS * GEMV_WARPS;

// Sums v over the warp. Of V values, lane l then has that of value l ÷ (32 ÷ V) in v[0]:
// in each exchange a lane gives half of its values away and takes the others' sums.
//
//	values 0…15 │ 16…31     lanes 0…15 keep the first, 16…31 the second, and so on
template <int V, int BIT = 16> DEVICE void scatter_sum(float *v, int lane) {
	if constexpr (V > 1) {
		u32 upper = lane & BIT ? ~0u : 0;
#pragma unroll
		for (int i = 0; i < V / 2; i++) {
			// Exchanged as bits: of a choice between two places of an array the compiler
			// makes an array in memory.
			u32 a = __builtin_bit_cast(u32, v[i]), b = __builtin_bit_cast(u32, v[i + V / 2]), swap = (a ^ b) & upper;
			v[i] = __builtin_bit_cast(float, a ^ swap) + shuffle_xor(__builtin_bit_cast(float, b ^ swap), BIT);
		}
	} else if constexpr (BIT > 0) {
		v[0] += shuffle_xor(v[0], BIT);
	}
	if constexpr (BIT > 0) scatter_sum<(V > 1 ? V / 2 : 1), BIT / 2>(v, lane);
}

// F is a format:
//
//	F(w, nb)                      a matrix
//	Raw fetch(r0, b)              block b of 4 outputs, as it lies
//	Block open(Raw)               ready to be multiplied
//	Acts acts(call, row, b)       block b of a row of activations
//	add(float *sum, Block, Acts)  to 4 sums
template <class F, int N> DEVICE void gemv(const Call &c, const Part &p, int tile) {
	Rows r;
	if (N == 1 && c.ids) { // one product of one row
		int pair = block_z();
		if (pair >= c.counts[0] * c.used) return;
		r = Rows{pair / c.per, pair, 1, (int)c.ids[pair]};
	} else if (!rows_of(c, N, r)) {
		return;
	}
	int lane = tid_x() & 31;
	int r0 = (tile * GEMV_WARPS + (tid_x() >> 5)) * WARP_ROWS;
	if (r0 >= p.n) return;
	F f(p.w + p.stack * r.group, c.nb);
	float sum[N * WARP_ROWS] = {};
	int last = r.count - 1; // rows beyond are computed as it is, and dropped
	typename F::Raw now = f.fetch(r0, min_of(lane, c.nb - 1));
	for (int b = lane; b < c.nb; b += 32) {
		typename F::Raw next = f.fetch(r0, min_of(b + 32, c.nb - 1));
		typename F::Block w = f.open(now);
#pragma unroll
		for (int n = 0; n < N; n++) f.add(&sum[n * WARP_ROWS], w, f.acts(c, r.x + min_of(n, last), b));
		now = next;
	}
	scatter_sum<N * WARP_ROWS>(sum, lane);
	constexpr int lanes = 32 / (N * WARP_ROWS); // that have one value
	int n = lane / lanes / WARP_ROWS, at = r0 + lane / lanes % WARP_ROWS;
	if (lane % lanes == 0 && n < r.count && at < p.n) put(c, p, r, n, at, sum[0]);
}

#define GEMV(name, F, N)                                              \
	GLOBAL BLOCK(32 * GEMV_WARPS) void name##_##N(LINEAR_PARAMS) { \
		LINEAR_PART(GEMV_ROWS)                                        \
		gemv<F, N>(LINEAR_CALL, part, tile);                          \
	}
// Up to 4 or 8 rows; see multipliers in product.go.
#define GEMVS_4(name, F) GEMV(name, F, 1) GEMV(name, F, 2) GEMV(name, F, 4)
#define GEMVS_8(name, F) GEMVS_4(name, F) GEMV(name, F, 8)

// Block b of a row of 8-bit activations.
struct Acts8 {
	u32x4 q[2];
	float d, sum;
};
// Where panels of 8 rows have what they have of a block.
DEVICE i64 panel8(int row, int blocks, int b) { return ((i64)(row >> 3) * blocks + b) * 8 + (row & 7); }
DEVICE Acts8 acts8(const Call &c, int row, int b) {
	const u8 *q = c.x + (i64)row * c.nb * 32 + (i64)b * 16;
	return {{load16(q), load16(q + (i64)c.nb * 16)}, ((const float *)c.xd)[panel8(row, c.nb, b)], 0};
}
// The same with one scale for 8 blocks, and sums.
DEVICE Acts8 acts_k(const Call &c, int row, int b) {
	const u8 *q = c.x + (i64)row * c.nb * 32 + (i64)b * 16;
	return {{load16(q), load16(q + (i64)c.nb * 16)}, ((const float *)c.xd)[panel8(row, c.nb / 8, b / 8)],
		(float)((const i16 *)c.xs)[panel8(row, c.nb, b)]};
}

DEVICE int dot16(u32x4 w, u32x4 x, int sum) {
	sum = dot4(w.x, x.x, sum);
	sum = dot4(w.y, x.y, sum);
	sum = dot4(w.z, x.z, sum);
	return dot4(w.w, x.w, sum);
}
// The i-th of four 16-bit values.
DEVICE u32 half_of(u32x2 v, int i) { return (v[i >> 1] >> (16 * (i & 1))) & 0xffff; }
