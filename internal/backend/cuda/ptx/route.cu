// The choice of experts, each row by one warp, as prog.Route has it and to the bit:
// scores take the place of the logits, sums are added in the CPU's order.
#include "math.cuh"

// Pick is an element in the order of a choice: larger values first, numbers before
// NaN, ties by index. The order is total, so that the next best is the best of those
// behind the last.
struct Pick {
	float value;
	int id; // −1: none
};

DEVICE bool before(Pick p, Pick q) {
	if (p.value > q.value || (!is_nan(p.value) && is_nan(q.value))) return true;
	if (q.value > p.value || (!is_nan(q.value) && is_nan(p.value))) return false;
	return p.id < q.id;
}

DEVICE Pick better(Pick p, Pick q) { return q.id >= 0 && (p.id < 0 || before(q, p)) ? q : p; }

DEVICE Pick warp_best(Pick p) {
#pragma unroll
	for (int m = 16; m > 0; m >>= 1) {
		Pick q = {__nvvm_shfl_sync_bfly_f32(0xffffffffu, p.value, m, 31), __nvvm_shfl_sync_bfly_i32(0xffffffffu, p.id, m, 31)};
		p = better(p, q);
	}
	return p;
}

// sum16 adds n values in sixteen lanes and their tree, as num.Tree16 does: both halves
// of the warp do the same.
DEVICE float sum16(const float *x, int n) {
	float sum = 0;
	for (int i = tid_x() % 16; i < n; i += 16) sum = add(sum, x[i]);
#pragma unroll
	for (int m = 8; m > 0; m >>= 1) sum = add(sum, __nvvm_shfl_sync_bfly_f32(0xffffffffu, sum, m, 31));
	return sum;
}

// softmax_all turns x into exp(x − max) × (1 ÷ sum).
DEVICE void softmax_all(float *x, int n) {
	int lane = tid_x() % 32;
	float top = -INFINITE;
	for (int i = lane; i < n; i += 32) {
		if (x[i] > top) top = x[i];
	}
	top = warp_max(top);
	for (int i = lane; i < n; i += 32) x[i] = exp32(x[i] - top);
	__nvvm_bar_warp_sync(0xffffffffu);
	float inverse = 1 / sum16(x, n);
	__nvvm_bar_warp_sync(0xffffffffu);
	for (int i = lane; i < n; i += 32) x[i] = mul(x[i], inverse);
	__nvvm_bar_warp_sync(0xffffffffu);
}

// Score as prog has it.
enum { SOFTMAX, SIGMOID, CHOSEN };

struct Choice {
	float *scores;     // of the row, n
	const float *bias; // or null
	int n, groups, used;
};

DEVICE float rank_of(const Choice &c, int i) { return c.bias ? add(c.scores[i], c.bias[i]) : c.scores[i]; }

// next is the best element of from…to that comes behind last, of those whose group is
// open.
DEVICE Pick next(const Choice &c, int from, int to, u64 open, Pick last) {
	Pick best = {0, -1};
	int size = c.n / c.groups;
	for (int i = from + tid_x() % 32; i < to; i += 32) {
		if (!(open >> (i / size) & 1)) continue;
		Pick p = {rank_of(c, i), i};
		if (last.id < 0 || before(last, p)) best = better(best, p);
	}
	return warp_best(best);
}

// open_groups marks the groups with the largest sums of their two best: lane l has the
// sums of groups l and l + 32.
DEVICE u64 open_groups(const Choice &c) {
	if (c.groups == 1) return 1;
	int size = c.n / c.groups, lane = tid_x() % 32;
	float sums[2] = {0, 0};
	for (int g = 0; g < c.groups; g++) {
		Pick first = next(c, g * size, (g + 1) * size, ~0ull, {0, -1});
		float sum = add(0, first.value);
		if (size > 1) sum = add(sum, next(c, g * size, (g + 1) * size, ~0ull, first).value);
		if (g % 32 == lane) {
			if (g < 32) sums[0] = sum;
			else sums[1] = sum;
		}
	}
	u64 open = 0;
	Pick last = {0, -1};
	for (int k = 0; k < c.used; k++) {
		Pick best = {0, -1};
#pragma unroll
		for (int h = 0; h < 2; h++) {
			Pick p = {sums[h], lane + 32 * h};
			if (p.id < c.groups && (last.id < 0 || before(last, p))) best = better(best, p);
		}
		last = warp_best(best);
		open |= 1ull << last.id;
	}
	return open;
}

// route fills ids[row][k] and weights[row][k], the best expert first.
GLOBAL BLOCK(128) void route(const Step *step, float *scores, float *ids, float *weights, const float *bias,
	int n, int chosen, int score, int groups, int used, int norm, float scale, int of_logits) {
	i64 row = (i64)block_x() * 4 + tid_x() / 32;
	if (row >= (of_logits ? step->logits : step->rows)) return;
	int lane = tid_x() % 32;
	Choice c = {scores + row * n, bias, n, groups, used};
	ids += row * chosen, weights += row * chosen;
	if (score == SOFTMAX) {
		softmax_all(c.scores, n);
	} else if (score == SIGMOID) {
		for (int i = lane; i < n; i += 32) c.scores[i] = sigmoid32(c.scores[i]);
		__nvvm_bar_warp_sync(0xffffffffu);
	}
	u64 open = open_groups(c);
	Pick last = {0, -1};
	for (int k = 0; k < chosen; k++) {
		last = next(c, 0, n, open, last);
		if (lane == 0) ids[k] = last.id, weights[k] = c.scores[last.id];
	}
	__nvvm_bar_warp_sync(0xffffffffu);
	if (score == CHOSEN) softmax_all(weights, chosen);
	if (lane != 0) return;
	float sum = 0;
	for (int k = 0; k < chosen; k++) sum = add(sum, weights[k]);
	if (!is_nan(sum)) sum = __builtin_fmaxf(sum, 1.f / (1 << 14));
	for (int k = 0; k < chosen; k++) weights[k] = mul(norm ? weights[k] / sum : weights[k], scale);
}
