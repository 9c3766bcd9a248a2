package backend

import (
	"errors"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

var testProg = &prog.Program{Vocab: 10, Embd: 8, Context: 64}

var testLimits = Limits{Rows: 8, Seqs: 2, LogitRows: 2, Pages: 4, PageSize: 16, Context: 40}

// valid is a batch of two sequences: three tokens from position 15 on, over a
// page's end, and one of another.
func valid() (*prog.Batch, []float32) {
	b := &prog.Batch{
		Tokens: []int32{1, 2, 3, 9}, Pos: []int32{15, 16, 17, 0}, Slots: []int32{2*16 + 15, 0, 1, 16},
		SeqStart: []int32{0, 3, 4}, CtxLen: []int32{18, 1}, Tables: []int32{2, 0, 1, -1}, Stride: 2, Logits: []int32{2, 3},
	}
	return b, make([]float32, 20)
}

func TestCheckBatch(t *testing.T) {
	b, logits := valid()
	if err := CheckBatch(testProg, testLimits, b, logits); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = CheckBatch(testProg, testLimits, b, logits) }); n != 0 {
		t.Errorf("CheckBatch allocates %v times", n)
	}
	for what, edit := range map[string]func(b *prog.Batch, logits *[]float32){
		"rows of the batch is 0":                  func(b *prog.Batch, _ *[]float32) { b.Reset() },
		"rows of the batch is 9":                  func(b *prog.Batch, _ *[]float32) { b.Tokens = make([]int32, 9) },
		"sequences of the batch is 3":             func(b *prog.Batch, _ *[]float32) { b.CtxLen = []int32{1, 1, 1} },
		"positions of the batch is 3":             func(b *prog.Batch, _ *[]float32) { b.Pos = b.Pos[:3] },
		"slots of the batch is 3":                 func(b *prog.Batch, _ *[]float32) { b.Slots = b.Slots[:3] },
		"sequence starts of the batch is 2":       func(b *prog.Batch, _ *[]float32) { b.SeqStart = b.SeqStart[:2] },
		"rows of the batch that want logits is 3": func(b *prog.Batch, _ *[]float32) { b.Logits = []int32{1, 2, 3} },
		"logits is 19":                            func(_ *prog.Batch, l *[]float32) { *l = (*l)[:19] },
		"pages in a row of the table is 0":        func(b *prog.Batch, _ *[]float32) { b.Stride = 0 },
		"entries of the table is 3":               func(b *prog.Batch, _ *[]float32) { b.Tables = b.Tables[:3] },
		"first sequence start is 1":               func(b *prog.Batch, _ *[]float32) { b.SeqStart[0] = 1 },
		"last sequence start is 3":                func(b *prog.Batch, _ *[]float32) { b.SeqStart[2] = 3 },
		"sequence start is 0":                     func(b *prog.Batch, _ *[]float32) { b.SeqStart[1] = 0 },
		"sequence start is 5":                     func(b *prog.Batch, _ *[]float32) { b.SeqStart[1] = 5 },
		"context of a sequence is 41":             func(b *prog.Batch, _ *[]float32) { b.CtxLen[1] = 41 },
		"context of a sequence is 0":              func(b *prog.Batch, _ *[]float32) { b.CtxLen[1] = 0 },
		"pages of a sequence is 3":                func(b *prog.Batch, _ *[]float32) { b.CtxLen[0] = 33 },
		"page is 4":                               func(b *prog.Batch, _ *[]float32) { b.Tables[1] = 4 },
		"page is -1":                              func(b *prog.Batch, _ *[]float32) { b.Tables[2] = -1 },
		"position is 18":                          func(b *prog.Batch, _ *[]float32) { b.Pos[2] = 18 },
		"position is -1":                          func(b *prog.Batch, _ *[]float32) { b.Pos[3] = -1 },
		"slot is 2":                               func(b *prog.Batch, _ *[]float32) { b.Slots[2] = 2 },
		"token id is 10":                          func(b *prog.Batch, _ *[]float32) { b.Tokens[0] = 10 },
		"token id is -1":                          func(b *prog.Batch, _ *[]float32) { b.Tokens[3] = -1 },
		"row that wants logits is 4":              func(b *prog.Batch, _ *[]float32) { b.Logits[1] = 4 },
		"row that wants logits is 2":              func(b *prog.Batch, _ *[]float32) { b.Logits[1] = 2 },
	} {
		b, logits := valid()
		edit(b, &logits)
		err := CheckBatch(testProg, testLimits, b, logits)
		var limit *LimitError
		if !errors.As(err, &limit) || !strings.Contains(err.Error(), what+", must be") {
			t.Errorf("got %v, want a LimitError with %q", err, what)
		}
	}
}

func TestLimits(t *testing.T) {
	if err := testLimits.Check(testProg); err != nil {
		t.Fatal(err)
	}
	for what, edit := range map[string]func(*Limits){
		"limit of rows is 0":                  func(l *Limits) { l.Rows = 0 },
		"limit of sequences is -1":            func(l *Limits) { l.Seqs = -1 },
		"limit of rows that want logits is 0": func(l *Limits) { l.LogitRows = 0 },
		"page size is 8":                      func(l *Limits) { l.PageSize = 8 },
		"page size modulo 16 is 8":            func(l *Limits) { l.PageSize = 24 },
		"pages is 0":                          func(l *Limits) { l.Pages = 0 },
		"pages is 134217728":                  func(l *Limits) { l.Pages = 1 << 27 },
		"context is 65":                       func(l *Limits) { l.Context = 65 },
		"type of the KV cache is 9":           func(l *Limits) { l.KVType = 9 },
	} {
		l := testLimits
		edit(&l)
		if err := l.Check(testProg); err == nil || !strings.Contains(err.Error(), what+", must be") {
			t.Errorf("got %v, want %q", err, what)
		}
	}
}

func TestRows(t *testing.T) {
	w := prog.Weight{Tensor: "w", Rows: 2, Cols: 32, FromRow: 1}
	good := Tensor{Name: "w", Type: quant.Q8_0, Rows: 4, Cols: 32, Data: make([]byte, 4*34)}
	good.Data[34] = 7
	f, rows, err := Rows(w, good)
	if err != nil || f.Type != quant.Q8_0 || len(rows) != 2*34 || rows[0] != 7 {
		t.Fatalf("Rows = %v, %d bytes, %v", f.Name, len(rows), err)
	}
	for what, edit := range map[string]func(*prog.Weight, *Tensor){
		"no format of weights":     func(_ *prog.Weight, x *Tensor) { x.Type = 99 },
		"rows 1 to 3 of 64":        func(w *prog.Weight, _ *Tensor) { w.Cols = 64 },
		"rows 3 to 5":              func(w *prog.Weight, _ *Tensor) { w.FromRow = 3 },
		"rows 1 to 1":              func(w *prog.Weight, _ *Tensor) { w.Rows = 0 },
		"whole number of":          func(w *prog.Weight, x *Tensor) { w.Cols, x.Cols = 33, 33 },
		"135 bytes are too few":    func(_ *prog.Weight, x *Tensor) { x.Data = x.Data[:135] },
		"rows 9223372036854775807": func(w *prog.Weight, _ *Tensor) { w.FromRow = 1<<63 - 1 },
	} {
		w, x := w, good
		edit(&w, &x)
		_, _, err := Rows(w, x)
		var fault *TensorError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want a TensorError with %q", err, what)
		}
	}
}

func TestRowsOfVector(t *testing.T) {
	w := prog.Weight{Tensor: "w", Kind: prog.Vector, Rows: 1, Cols: 3, FromRow: 2}
	good := Tensor{Name: "w", Type: quant.F16, Rows: 2, Cols: 4, Data: make([]byte, 16)}
	good.Data[4] = 7
	f, values, err := Rows(w, good)
	if err != nil || f.Type != quant.F16 || len(values) != 6 || values[0] != 7 {
		t.Fatalf("Rows = %v, %d bytes, %v", f.Name, len(values), err)
	}
	for what, edit := range map[string]func(*prog.Weight, *Tensor){
		"values 6 to 9 are wanted": func(w *prog.Weight, _ *Tensor) { w.FromRow = 6 },
		"values -1 to 2":           func(w *prog.Weight, _ *Tensor) { w.FromRow = -1 },
		"values 2 to 2":            func(w *prog.Weight, _ *Tensor) { w.Cols = 0 },
		"blocks of 32":             func(w *prog.Weight, x *Tensor) { x.Type, x.Cols = quant.Q8_0, 32 },
		"9 bytes are too few":      func(_ *prog.Weight, x *Tensor) { x.Data = x.Data[:9] },
	} {
		w, x := w, good
		edit(&w, &x)
		_, _, err := Rows(w, x)
		var fault *TensorError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want a TensorError with %q", err, what)
		}
	}
}
