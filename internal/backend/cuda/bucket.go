package cuda

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// leastContext is the context of the smallest bucket.
const leastContext = 128

// bucketOf is the bucket of a step: its sizes rounded up to powers of two, as far as
// the limits go. A step of one row for each sequence is one of decoding.
func bucketOf(b *prog.Batch, l backend.Limits) bucket {
	rows, seqs := len(b.Tokens), b.Seqs()
	ctx := int32(leastContext)
	for _, n := range b.CtxLen {
		ctx = max(ctx, n)
	}
	k := bucket{
		rows:   min(power(rows), l.Rows),
		seqs:   min(power(seqs), l.Seqs),
		logits: min(power(max(len(b.Logits), 1)), l.LogitRows),
		ctx:    min(power(int(ctx)), l.Context),
		decode: rows == seqs,
	}
	if k.decode { // one bucket for all numbers of rows that want logits: nearly always all do
		k.logits = min(k.rows, l.LogitRows)
	}
	return k
}

// power is the smallest power of two that is at least n.
func power(n int) int { return 1 << bits.Len(uint(n-1)) }

// buckets cover the kernels of all buckets within limits: which kernels an op launches
// depends on the rows of a step, on those that want logits, on whether it decodes, and
// on whether contexts are long.
func buckets(l backend.Limits) []bucket {
	var list []bucket
	for _, ctx := range []int{min(leastContext, l.Context), l.Context} {
		for _, rows := range powers(l.Rows) {
			logits := min(rows, l.LogitRows)
			list = append(list, bucket{rows: rows, seqs: 1, logits: logits, ctx: ctx, pick: true})
			if rows <= l.Seqs {
				list = append(list, bucket{rows: rows, seqs: rows, logits: logits, ctx: ctx, decode: true, pick: true})
			}
		}
		for _, logits := range powers(l.LogitRows) {
			list = append(list, bucket{rows: l.Rows, seqs: l.Seqs, logits: logits, ctx: ctx, pick: true})
		}
	}
	return list
}

// powers are the powers of two up to n, and n.
func powers(n int) (list []int) {
	for p := 1; p < n; p *= 2 {
		list = append(list, p)
	}
	return append(list, n)
}

// kernelsOf names the kernels of steps within limits.
func kernelsOf(ops []op, l backend.Limits, unfused bool) []string {
	seen := map[string]bool{}
	for _, b := range buckets(l) {
		for _, x := range stepLaunches(ops, b, unfused) {
			seen[x.kernel] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
