// Experts: which rows go to which, and what is around their products.
#include "math.cuh"

// Sorts the choices of a step by expert, and an expert's by row. Each choice of row and
// rank has a slot; those of an expert lie together, from a multiple of 8 on:
//
//	rows     row 0: experts 5 2 │ row 1: experts 2 7
//	slots    0 1: row 0, row 1 of expert 2 … │ 8: row 0 of 5 … │ 16: row 1 of 7 …
//
//	counts[e]               slots in use of expert e
//	offsets[e]              its first; offsets[experts] is where they end
//	from[slot]              row, −1 of those that only fill up
//	slots[row × used + k]   slot
//
// One block, in which a warp looks all choices through for an expert: their order is
// that of the rows whatever the timing.
GLOBAL BLOCK(1024) void group_rows(const int *rows, const float *ids, int used, int experts, int *counts, int *offsets, int *from, int *slots) {
	int pairs = rows[0] * used, lane = tid_x() & 31, warp = tid_x() >> 5, warps = threads_x() >> 5;
	for (int e = warp; e < experts; e += warps) {
		int n = 0;
		for (int at = 0; at < pairs; at += 32) {
			bool mine = at + lane < pairs && (int)ids[at + lane] == e;
			n += __builtin_popcount(__nvvm_vote_ballot_sync(0xffffffffu, mine));
		}
		if (lane == 0) counts[e] = n;
	}
	barrier();
	if (warp == 0) {
		int first = 0;
		for (int e = 0; e < experts; e += 32) {
			int n = e + lane < experts ? (counts[e + lane] + 7) / 8 * 8 : 0, sum = n;
			for (int d = 1; d < 32; d *= 2) {
				int below = __nvvm_shfl_sync_up_i32(0xffffffffu, sum, d, 0);
				if (lane >= d) sum += below;
			}
			if (e + lane < experts) offsets[e + lane] = first + sum - n;
			first += __nvvm_shfl_sync_idx_i32(0xffffffffu, sum, 31, 31);
		}
		if (lane == 0) offsets[experts] = first;
	}
	barrier();
	for (int e = warp; e < experts; e += warps) {
		int slot = offsets[e], end = offsets[e] + (counts[e] + 7) / 8 * 8;
		for (int at = 0; at < pairs; at += 32) {
			bool mine = at + lane < pairs && (int)ids[at + lane] == e;
			u32 all = __nvvm_vote_ballot_sync(0xffffffffu, mine);
			if (mine) {
				int to = slot + __builtin_popcount(all & ((1u << lane) - 1));
				from[to] = (at + lane) / used;
				slots[at + lane] = to;
			}
			slot += __builtin_popcount(all);
		}
		if (slot + lane < end) from[slot + lane] = -1;
	}
}

// As prog.ExpertAct.
enum { EXPERT_SILU, EXPERT_GELU, EXPERT_CLAMPED };

// gate = act(gate, up), one thread a value. Rows are times × count[0]; those that from
// says are not in use are left out.
//
//	grid x  rows
//	     y  pieces of a row
GLOBAL BLOCK(256) void join_experts(const int *count, int times, const int *from, float *gate, const float *up, int width, int kind, float alpha, float limit) {
	int row = block_x(), c = block_y() * 256 + tid_x();
	if (row >= count[0] * times || c >= width) return;
	i64 i = (i64)row * width + c;
	if (from && from[row] < 0) { // nobody's: zeros, as it is rounded with the others
		gate[i] = 0;
		return;
	}
	float g = gate[i], u = up[i];
	if (kind == EXPERT_GELU) {
		g = gelu32(g);
	} else if (kind == EXPERT_CLAMPED) {
		// Comparisons as the CPU's minima and maxima: a NaN stays one.
		u = u < -limit ? -limit : u > limit ? limit : u;
		g = silu32(mul(alpha, g > limit ? limit : g));
		u = mul(add(u, 1), 1 / alpha);
	} else {
		g = silu32(g);
	}
	gate[i] = mul(g, u);
}

// out[row] is the sum of its experts' outputs by weight, in order of rank, each added
// fused; slots says where they lie, or they lie in order.
//
//	grid x  rows
//	     y  pieces of a row
GLOBAL BLOCK(256) void sum_experts(const int *count, float *out, const float *down, const float *weights, const int *slots, int used, int width) {
	int row = block_x(), c = block_y() * 256 + tid_x();
	if (row >= count[0] || c >= width) return;
	float sum = 0;
	for (int k = 0; k < used; k++) {
		i64 pair = (i64)row * used + k;
		sum = fma(down[(slots ? slots[pair] : pair) * width + c], weights[pair], sum);
	}
	out[(i64)row * width + c] = sum;
}

// Copies what each head of a row has beyond the matrix of its product (HeadLinear):
// out[row][head][to…] = in[row][head][from…], one thread a value.
//
//	grid x  rows
//	     y  pieces of a head's rest
//	     z  heads
GLOBAL BLOCK(64) void copy_rests(const int *count, float *out, const float *in, int out_head, int in_head, int to, int from) {
	int row = block_x(), c = block_y() * 64 + tid_x(), heads = __nvvm_read_ptx_sreg_nctaid_z();
	if (row >= count[0] || from + c >= in_head) return;
	i64 head = (i64)row * heads + block_z();
	out[head * out_head + to + c] = in[head * in_head + from + c];
}
