package backend

import (
	"math"

	"github.com/paddock-go/paddock/internal/prog"
)

// keyGroup is how many keys share a vector in a backend's cache: pages are
// whole groups.
const keyGroup = 16

// Check reports the first limit that no runner can be made for. Safe for
// concurrent use.
func (l Limits) Check(p *prog.Program) error {
	c := &limitCheck{}
	c.in("limit of rows", l.Rows, 1, 1<<20)
	c.in("limit of sequences", l.Seqs, 1, 1<<20)
	c.in("limit of rows that want logits", l.LogitRows, 1, 1<<20)
	c.in("page size", l.PageSize, keyGroup, 1<<16)
	c.in("page size modulo 16", l.PageSize%keyGroup, 0, 0)
	c.in("pages", l.Pages, 1, math.MaxInt32/max(l.PageSize, 1))
	c.in("context", l.Context, 1, p.Context)
	c.in("type of the KV cache", int(l.KVType), 0, int(numKVTypes)-1)
	return c.fault()
}

// CheckBatch reports the first thing in a batch that is beyond the limits or
// contradicts itself, so that a backend can index with its numbers. It
// allocates only for a fault. Safe for concurrent use.
func CheckBatch(p *prog.Program, l Limits, b *prog.Batch, logits []float32) error {
	return checkBatch(p, l, b, "logits", len(logits), p.OutWidth())
}

// CheckPick is CheckBatch for a Picker's Pick. Safe for concurrent use.
func CheckPick(p *prog.Program, l Limits, b *prog.Batch, temperatures []float32, picks []Pick) error {
	return checkBatch(p, l, b, "temperatures and picks", min(len(temperatures), len(picks)), 1)
}

// checkBatch checks a batch, and that there are so many values for each row that it
// gives out.
func checkBatch(p *prog.Program, l Limits, b *prog.Batch, what string, given, width int) error {
	c := &limitCheck{}
	rows, seqs := len(b.Tokens), b.Seqs()
	c.in("rows of the batch", rows, 1, l.Rows)
	c.in("sequences of the batch", seqs, 1, l.Seqs)
	c.in("positions of the batch", len(b.Pos), rows, rows)
	c.in("slots of the batch", len(b.Slots), rows, rows)
	c.in("sequence starts of the batch", len(b.SeqStart), seqs+1, seqs+1)
	c.in("rows of the batch that want logits", len(b.Logits), 0, l.LogitRows)
	c.in(what, given, len(b.Logits)*width, math.MaxInt)
	c.in("pages in a row of the table", b.Stride, 1, math.MaxInt32)
	if c.failed {
		return c.fault()
	}
	c.in("entries of the table", len(b.Tables), seqs*b.Stride, math.MaxInt)
	c.in("first sequence start", int(b.SeqStart[0]), 0, 0)
	c.in("last sequence start", int(b.SeqStart[seqs]), rows, rows)
	for s := 0; s < seqs && !c.failed; s++ {
		c.sequence(l, b, s)
		if p.Atomic {
			c.whole(b, s)
		}
	}
	for _, t := range b.Tokens {
		c.in("token id", int(t), 0, p.Vocab-1)
	}
	last := -1
	for _, r := range b.Logits {
		c.in("row that wants logits", int(r), last+1, rows-1)
		last = int(r)
	}
	return c.fault()
}

// sequence checks what belongs to sequence s.
func (c *limitCheck) sequence(l Limits, b *prog.Batch, s int) {
	from, to, ctx := int(b.SeqStart[s]), int(b.SeqStart[s+1]), int(b.CtxLen[s])
	c.in("sequence start", to, from+1, len(b.Tokens))
	c.in("context of a sequence", ctx, 1, l.Context)
	pages := (ctx + l.PageSize - 1) / l.PageSize
	c.in("pages of a sequence", pages, 1, b.Stride)
	if c.failed {
		return
	}
	table := b.Tables[s*b.Stride : s*b.Stride+pages]
	for _, page := range table {
		c.in("page", int(page), 0, l.Pages-1)
	}
	for r := from; r < to; r++ {
		pos := int(b.Pos[r])
		c.in("position", pos, 0, ctx-1)
		if c.failed {
			return
		}
		slot := int(table[pos/l.PageSize])*l.PageSize + pos%l.PageSize
		c.in("slot", int(b.Slots[r]), slot, slot)
	}
}

// whole checks that all of sequence s of an atomic program is in the step.
func (c *limitCheck) whole(b *prog.Batch, s int) {
	rows := int(b.SeqStart[s+1] - b.SeqStart[s])
	c.in("rows of a sequence that can't be cut", rows, int(b.CtxLen[s]), int(b.CtxLen[s]))
	for r := 0; r < rows && !c.failed; r++ {
		c.in("position in a sequence that can't be cut", int(b.Pos[int(b.SeqStart[s])+r]), r, r)
	}
}

// limitCheck keeps the first fault.
type limitCheck struct {
	failed bool
	err    LimitError
}

func (c *limitCheck) in(what string, got, low, high int) {
	if !c.failed && (got < low || got > high) {
		c.failed = true
		c.err = LimitError{What: what, Got: int64(got), Low: int64(low), High: int64(high)}
	}
}

func (c *limitCheck) fault() error {
	if !c.failed {
		return nil
	}
	e := c.err
	return &e
}
