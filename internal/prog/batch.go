package prog

// Batch is the data of one step, flat: a ragged batch of token rows. The engine
// fills it from a plan and reuses it; a backend only reads it during Run.
//
//	rows      0  1  2 │ 3 │ 4  5  6  7
//	sequence  0       │ 1 │ 2             SeqStart = 0 3 4 8
//
// Row r of sequence s sits at position Pos[r], its key and value go to slot
// Slots[r] (page × page size + offset), and it sees the pages
// Tables[s×Stride : s×Stride+pages(CtxLen[s])].
type Batch struct {
	Tokens []int32 // row → token id
	Pos    []int32 // row → absolute position
	Slots  []int32 // row → slot in the KV cache that this row writes

	SeqStart []int32 // sequence → first row; one more entry than sequences
	CtxLen   []int32 // sequence → keys there are once this step's rows are written
	Tables   []int32 // sequence × Stride → page
	Stride   int

	Logits []int32 // the rows that want logits, or of which their sequence is pooled, ascending
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.Tokens, b.Pos, b.Slots = b.Tokens[:0], b.Pos[:0], b.Slots[:0]
	b.SeqStart, b.CtxLen, b.Tables = b.SeqStart[:0], b.CtxLen[:0], b.Tables[:0]
	b.Logits = b.Logits[:0]
}

// Seqs is the number of sequences in the batch.
func (b *Batch) Seqs() int { return len(b.CtxLen) }
