// What attention over spans ends with, whatever the cache's type.
#include "attention.cuh"

// attend_join joins the spans of a row's head, from position 0 on, a sink last. Rows of
// one span have been finished already.
//
//	grid x  rows of sequences that have few: row × seqs + sequence
//	     y  heads
GLOBAL BLOCK(128) void attend_join(const Step *step, float *out, const float *partial, const float *tops, const float *sinks,
	int heads, int value_dim, int window, int both, int spans, int few, int seqs) {
	int seq = block_x() % seqs, i = block_x() / seqs, head = block_y();
	if (seq >= step->seqs) return;
	int row = at(step->seq_start, seq) + i, rows = at(step->seq_start, seq + 1) - row + i;
	if (rows > few || i >= rows) return;
	Attention a = {};
	a.window = window, a.both = both;
	Sight sight = sight_of(step, a, row, seq);
	int span = span_of(sight, spans), n = sight.last / span - sight.first / span + 1;
	if (n == 1) return;
	i64 from = (((i64)seq * few + i) * heads + head) * spans;
	for (int d = tid_x(); d < value_dim; d += threads_x()) {
		State all = {-INFINITE, 0};
		float acc = 0;
		for (int s = 0; s < n; s++) {
			float top = tops[2 * (from + s)], sum = tops[2 * (from + s) + 1];
			Join j = join(all.top, top);
			acc = fma(partial[(from + s) * value_dim + d], j.theirs, acc * j.mine);
			all = {j.top, fma(sum, j.theirs, all.sum * j.mine)};
		}
		out[((i64)row * heads + head) * value_dim + d] = finish(all, acc, sinks, head);
	}
}
