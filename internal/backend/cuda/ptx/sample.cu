// The likeliest tokens of each row of logits, found where the logits are.
//
//	pick_slices   the 64 best of each 2048 tokens, and what the others weigh
//	pick_rows     the 64 best of a row, and what all others weigh
//
// The order is total, the larger logit first, then the smaller id, so that the answer
// is the row's, whatever the cut. A token's place is one number, smaller for the
// better:
//
//	│ logit, turned so that larger ones are smaller: 32 bits │ id: 32 bits │
#include "math.cuh"

constexpr int BEST = 64;              // tokens that are picked
constexpr int SLICE = 2048;           // tokens of a block
constexpr int LISTS = SLICE / BEST;   // lists of BEST places in a block's memory
constexpr u64 NONE = ~0ull;           // behind all places

DEVICE u64 place_of(float x, int id) {
	u32 b = x == 0 ? 0 : to_bits(x); // −0 and +0 are one
	b = b >> 31 ? b : ~b & 0x7fffffffu;
	return (u64)b << 32 | (u32)id;
}

DEVICE float logit_of(u64 place) {
	u32 b = place >> 32;
	return from_bits(b >> 31 ? b : ~b & 0x7fffffffu);
}

// trade orders the places i and j.
DEVICE void trade(u64 *place, int i, int j, bool ascending) {
	u64 a = place[i], b = place[j];
	if ((a > b) == ascending) place[i] = b, place[j] = a;
}

// halve leaves of lists, each BEST long and in order, the even ones ascending and the odd
// ones descending, the best BEST in the first one, ascending. Of two such lists the
// smaller of each two opposite places are the best of both, and rise and fall once at
// most, which six turns put in order.
//
//	turn   │ 0 │ 1 │ 2 │ 3 │ 4 │ …      lists stay where they begin
//	 1     │ 0 ◀─┘ │ 2 ◀─┘ │ 4 ◀─
//	 2     │ 0 ◀─────┘     │ 4 ◀─────
DEVICE void halve(u64 *place) {
	for (int apart = BEST; apart < SLICE; apart *= 2) {
		for (int p = tid_x(); p < SLICE / (2 * apart) * BEST; p += 256) {
			int i = p / BEST * 2 * apart + p % BEST;
			if (place[i + apart] < place[i]) place[i] = place[i + apart];
		}
		barrier();
		for (int stride = BEST / 2; stride > 0; stride /= 2) {
			for (int p = tid_x(); p < SLICE / (2 * apart) * BEST / 2; p += 256) {
				int list = p / (BEST / 2), k = p % (BEST / 2), i = list * 2 * apart + 2 * k - k % stride;
				trade(place, i, i + stride, list % 2 == 0);
			}
			barrier();
		}
	}
}

// share is e^((logit − top) ÷ temperature): 0 where nothing is to be said.
DEVICE float share(float logit, float top, float inverse) {
	return top - top == 0 ? fast_exp((logit - top) * inverse) : 0;
}

DEVICE float inverse_of(const Step *step, i64 row) {
	float t = *(const __attribute__((address_space(1))) float *)(step->temps + row);
	return t > 0 ? 1 / t : 0;
}

// Slice is what is left of a slice beside its best.
struct alignas(16) Slice {
	float top, rest; // the largest logit, and the shares of those that are not among the best
	int nan;         // the first token that is no number; 2³¹ − 1: none
	int spare;
};

DEVICE int warp_least(int v) {
#pragma unroll
	for (int m = 16; m > 0; m >>= 1) v = min_of(v, __nvvm_shfl_sync_bfly_i32(0xffffffffu, v, m, 31));
	return v;
}

//	grid x  slices
//	     y  rows that want logits
GLOBAL BLOCK(256) void pick_slices(const Step *step, const float *logits, u64 *best, Slice *slices, int vocab) {
	SHARED static u64 place[SLICE];
	SHARED static float parts[32];
	SHARED static int nans[8];
	i64 row = block_y();
	if (row >= step->logits) return;
	int first = block_x() * SLICE, nan = 0x7fffffff;
	float inverse = inverse_of(step, row), x[SLICE / 256];
#pragma unroll
	for (int j = 0; j < SLICE / 256; j++) {
		int i = first + tid_x() + 256 * j;
		x[j] = i < vocab ? logits[row * vocab + i] : -INFINITE;
		if (is_nan(x[j])) nan = min_of(nan, i);
		place[tid_x() + 256 * j] = i < vocab ? place_of(x[j], i) : NONE;
	}
	nan = warp_least(nan);
	if (tid_x() % 32 == 0) nans[tid_x() / 32] = nan;
	barrier();
	for (int size = 2; size <= BEST; size *= 2) { // lists in order, up and down
		for (int stride = size / 2; stride > 0; stride /= 2) {
			for (int p = tid_x(); p < SLICE / 2; p += 256) {
				int i = 2 * p - p % stride;
				trade(place, i, i + stride, (i & size) == 0);
			}
			barrier();
		}
	}
	halve(place);
	i64 at = row * blocks_x() + block_x();
	if (tid_x() < BEST) best[at * BEST + tid_x()] = place[tid_x()];
	float top = logit_of(place[0]), sum = 0;
	u64 last = place[BEST - 1];
#pragma unroll
	for (int j = 0; j < SLICE / 256; j++) {
		int i = first + tid_x() + 256 * j;
		if (i < vocab && place_of(x[j], i) > last) sum += share(x[j], top, inverse);
	}
	sum = block_sum(sum, parts);
	if (tid_x() != 0) return;
	nan = 0x7fffffff;
	for (int w = 0; w < 8; w++) nan = min_of(nan, nans[w]);
	slices[at] = {top, sum, nan, 0};
}

// Pick is what the host is told of a row; Go's side is pick.go.
struct Pick {
	int nan;            // the first token that is no number; −1: none
	int count;          // of candidates: tokens of the best that are not −∞
	float rest;         // Σ e^((logit − top) ÷ temperature) of the tokens that are not among the best
	int spare;
	float logits[BEST];
	int tokens[BEST];
};

// One block a row.
GLOBAL BLOCK(256) void pick_rows(const Step *step, Pick *picks, const u64 *best, const Slice *slices, int count) {
	SHARED static u64 place[SLICE];
	SHARED static float parts[32];
	i64 row = block_x();
	if (row >= step->logits) return;
	best += row * count * BEST, slices += row * count;
	// The first lists of all; then the best so far and the next ones.
	for (int from = 0, keep = 0; from < count; from += LISTS - keep, keep = 1) {
		for (int i = tid_x() + keep * BEST; i < SLICE; i += 256) {
			int list = i / BEST, k = list % 2 ? BEST - 1 - i % BEST : i % BEST;
			place[i] = from + list - keep < count ? best[(i64)(from + list - keep) * BEST + k] : NONE;
		}
		barrier();
		halve(place);
	}
	float top = logit_of(place[0]), inverse = inverse_of(step, row), sum = 0;
	u64 last = place[BEST - 1];
	int nan = 0x7fffffff;
	for (int i = tid_x(); i < count * BEST; i += 256) {
		if (best[i] > last && best[i] != NONE) sum += share(logit_of(best[i]), top, inverse);
	}
	for (int i = tid_x(); i < count; i += 256) {
		if (slices[i].rest != 0) sum += slices[i].rest * share(slices[i].top, top, inverse);
		nan = min_of(nan, slices[i].nan);
	}
	sum = block_sum(sum, parts);
	Pick *p = picks + row;
	bool there = false;
	if (tid_x() < BEST) {
		u64 mine = place[tid_x()];
		float x = mine == NONE ? -INFINITE : logit_of(mine);
		there = x != -INFINITE;
		p->logits[tid_x()] = x, p->tokens[tid_x()] = there ? (int)mine : -1;
	}
	float all = block_sum(there, parts);
	nan = warp_least(nan);
	barrier();
	if (tid_x() % 32 == 0) parts[tid_x() / 32] = from_bits(nan);
	barrier();
	if (tid_x() != 0) return;
	for (int w = 0; w < 8; w++) nan = min_of(nan, to_bits(parts[w]));
	p->nan = nan == 0x7fffffff ? -1 : nan, p->count = all, p->rest = sum, p->spare = 0;
}
