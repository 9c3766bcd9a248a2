package cuda

import (
	"math"
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// stepHead is the kernels' Step, see ptx/paddock.cuh. The arrays that it points to lie
// behind it, in this order, each beginning on 16 bytes:
//
//	head │ tokens │ pos │ slots │ seq │ seq_start │ ctx_len │ logit_rows │ tables │ temps
//
// so that one copy of as many bytes as the step really has takes all of it to the
// device.
type stepHead struct {
	rows, seqs, logits, stride           int32
	pageSize, maxCtx, mostRows, reserved int32

	tokens, pos, slots, seq             address // [rows]
	seqStart, ctxLen, logitRows, tables address
	temps, spare                        address // [logits] float32, where tokens are picked
}

// The offsets that the kernels are compiled with: a difference does not compile.
var _ = [1]struct{}{}[unsafe.Sizeof(stepHead{})-112]
var _ = [1]struct{}{}[unsafe.Offsetof(stepHead{}.pageSize)-16]
var _ = [1]struct{}{}[unsafe.Offsetof(stepHead{}.tokens)-32]
var _ = [1]struct{}{}[unsafe.Offsetof(stepHead{}.seqStart)-64]
var _ = [1]struct{}{}[unsafe.Offsetof(stepHead{}.tables)-88]
var _ = [1]struct{}{}[unsafe.Offsetof(stepHead{}.temps)-96]

// arrayGrain is what an array of a step is aligned to.
const arrayGrain = 16

// array is the room of n int32 in a step.
func array(n int) int64 { return (4*int64(n) + arrayGrain - 1) / arrayGrain * arrayGrain }

// pagesOf is the pages of so many tokens.
func pagesOf(tokens, pageSize int) int { return (tokens + pageSize - 1) / pageSize }

// stepBytes is the room of the largest step.
func stepBytes(l backend.Limits) int64 {
	n := backend.Sum(int64(unsafe.Sizeof(stepHead{})), 4*array(l.Rows), array(l.Seqs+1), array(l.Seqs), 2*array(l.LogitRows))
	return backend.Sum(n, backend.Product(4, int64(l.Seqs), int64(pagesOf(l.Context, l.PageSize))), arrayGrain)
}

// stepWriter writes steps into pinned memory.
type stepWriter struct {
	memory []byte // of stepBytes
	at     address
	used   int
}

// write puts a batch down and returns the bytes to be copied. The batch has passed
// backend.CheckBatch for the limits that the memory is made for.
func (w *stepWriter) write(b *prog.Batch, pageSize int) []byte {
	h := (*stepHead)(unsafe.Pointer(unsafe.SliceData(w.memory)))
	w.used = int(unsafe.Sizeof(*h))
	rows, seqs := len(b.Tokens), b.Seqs()
	*h = stepHead{rows: int32(rows), seqs: int32(seqs), logits: int32(len(b.Logits)), pageSize: int32(pageSize)}
	h.tokens = w.copy(b.Tokens)
	h.pos = w.copy(b.Pos)
	h.slots = w.copy(b.Slots)
	seq, at := w.array(rows)
	h.seq = at
	for s := range seqs {
		for r := b.SeqStart[s]; r < b.SeqStart[s+1]; r++ {
			seq[r] = int32(s)
		}
		h.mostRows = max(h.mostRows, b.SeqStart[s+1]-b.SeqStart[s])
		h.maxCtx = max(h.maxCtx, b.CtxLen[s])
	}
	h.seqStart = w.copy(b.SeqStart)
	h.ctxLen = w.copy(b.CtxLen)
	h.logitRows = w.copy(b.Logits)
	// Rows of the table are as long as this step's longest sequence needs.
	stride := pagesOf(int(h.maxCtx), pageSize)
	h.stride = int32(stride)
	tables, at := w.array(seqs * stride)
	h.tables = at
	for s := range seqs {
		n := pagesOf(int(b.CtxLen[s]), pageSize)
		copy(tables[s*stride:], b.Tables[s*b.Stride:s*b.Stride+n])
		clear(tables[s*stride+n : (s+1)*stride])
	}
	return w.memory[:w.used]
}

// temperatures puts down those of a step that was written, and returns its bytes.
func (w *stepWriter) temperatures(temps []float32) []byte {
	h := (*stepHead)(unsafe.Pointer(unsafe.SliceData(w.memory)))
	to, at := w.array(len(temps))
	for i, t := range temps {
		to[i] = int32(math.Float32bits(t))
	}
	h.temps = at
	return w.memory[:w.used]
}

// array is the next n int32 of the step, and where they will lie on the device.
func (w *stepWriter) array(n int) ([]int32, address) {
	at := w.used
	w.used += int(array(n))
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(w.memory[at:]))), n), w.at + address(at)
}

func (w *stepWriter) copy(values []int32) address {
	to, at := w.array(len(values))
	copy(to, values)
	return at
}
