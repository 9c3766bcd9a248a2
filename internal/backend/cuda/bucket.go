package cuda

import (
	"math/bits"

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
