package cuda

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// read is what a kernel reads at an address of the copied step.
func read(t *testing.T, data []byte, at address, base address, n int) []int32 {
	t.Helper()
	if (at-base)%arrayGrain != 0 {
		t.Fatalf("an array begins at %d", at-base)
	}
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(binary.LittleEndian.Uint32(data[int(at-base)+4*i:]))
	}
	return list
}

// TestStep writes steps of random sizes, the largest too, and reads them as kernels do.
func TestStep(t *testing.T) {
	l := backend.Limits{Rows: 50, Seqs: 7, LogitRows: 9, Pages: 40, PageSize: 16, Context: 100}
	rng := rand.New(rand.NewPCG(1, 2))
	w := &stepWriter{memory: make([]byte, stepBytes(l)), at: 0x1000}
	for n := range 50 {
		seqs := 1 + rng.IntN(l.Seqs)
		b := &prog.Batch{Stride: 7 + rng.IntN(3), SeqStart: []int32{0}}
		if n == 0 {
			seqs = l.Seqs
		}
		var seq []int32
		for s := range seqs {
			rows := 1 + rng.IntN(7)
			if n == 0 {
				rows = l.Rows / seqs
			}
			ctx := rows + rng.IntN(l.Context-rows+1)
			if n == 0 {
				ctx = l.Context
			}
			for r := range rows {
				b.Tokens, b.Pos, b.Slots = append(b.Tokens, rng.Int32()), append(b.Pos, int32(ctx-rows+r)), append(b.Slots, rng.Int32())
				seq = append(seq, int32(s))
			}
			b.SeqStart, b.CtxLen = append(b.SeqStart, int32(len(b.Tokens))), append(b.CtxLen, int32(ctx))
			for p := range b.Stride {
				page := int32(-1) // must not be read
				if p < pagesOf(ctx, l.PageSize) {
					page = rng.Int32N(int32(l.Pages))
				}
				b.Tables = append(b.Tables, page)
			}
			b.Logits = append(b.Logits, int32(len(b.Tokens)-1))
		}
		data := w.write(b, l.PageSize)
		word := func(i int) int { return int(int32(binary.LittleEndian.Uint32(data[4*i:]))) }
		pointer := func(i int) address { return address(binary.LittleEndian.Uint64(data[32+8*i:])) }
		rows, most := len(b.Tokens), 0
		for s := range seqs {
			most = max(most, int(b.SeqStart[s+1]-b.SeqStart[s]))
		}
		ctx := int(slices.Max(b.CtxLen))
		stride := pagesOf(ctx, l.PageSize)
		for i, want := range []int{rows, seqs, seqs, stride, l.PageSize, ctx, most} {
			if word(i) != want {
				t.Fatalf("word %d of the head is %d, want %d", i, word(i), want)
			}
		}
		for i, want := range [][]int32{b.Tokens, b.Pos, b.Slots, seq, b.SeqStart, b.CtxLen, b.Logits} {
			if got := read(t, data, pointer(i), w.at, len(want)); !slices.Equal(got, want) {
				t.Fatalf("array %d is %v, want %v", i, got, want)
			}
		}
		tables := read(t, data, pointer(7), w.at, seqs*stride)
		for s := range seqs {
			n := pagesOf(int(b.CtxLen[s]), l.PageSize)
			if !slices.Equal(tables[s*stride:][:n], b.Tables[s*b.Stride:][:n]) || slices.ContainsFunc(tables[s*stride+n:(s+1)*stride], func(p int32) bool { return p != 0 }) {
				t.Fatalf("the table of sequence %d is %v, of %v", s, tables[s*stride:(s+1)*stride], b.Tables[s*b.Stride:][:b.Stride])
			}
		}
	}
}

// TestBuckets: a step is within its bucket, buckets of one kind of step are few, and
// none is beyond the limits.
func TestBuckets(t *testing.T) {
	l := backend.Limits{Rows: 48, Seqs: 12, LogitRows: 12, Pages: 40, PageSize: 16, Context: 3000}
	decode, other := map[bucket]bool{}, map[bucket]bool{}
	for seqs := 1; seqs <= l.Seqs; seqs++ {
		for _, most := range []int{1, 2, 4} {
			for ctx := 4; ctx <= l.Context; ctx += 37 {
				b := &prog.Batch{Tokens: make([]int32, seqs*most), CtxLen: make([]int32, seqs), Logits: make([]int32, seqs)}
				b.CtxLen[seqs/2] = int32(ctx)
				k := bucketOf(b, l)
				if k.rows < seqs*most || k.seqs < seqs || k.logits < seqs || k.ctx < ctx || k.decode != (most == 1) {
					t.Fatalf("%d sequences of %d rows with context %d are in %+v", seqs, most, ctx, k)
				}
				if k.rows > l.Rows || k.seqs > l.Seqs || k.logits > l.LogitRows || k.ctx > l.Context {
					t.Fatalf("%+v is beyond the limits %+v", k, l)
				}
				if most == 1 {
					decode[k] = true
				} else {
					other[k] = true
				}
			}
		}
	}
	if len(decode) != 5*6 { // 1, 2, 4, 8, 12 sequences; 128, 256, … 2048, 3000 keys
		t.Errorf("%d buckets of decoding", len(decode))
	}
	if len(other) > 90 {
		t.Errorf("%d other buckets", len(other))
	}
}

// TestRegions: what was measured lies apart, aligned and in order.
func TestRegions(t *testing.T) {
	sizes := []int64{1, 256, 0, 300, 1 << 40}
	run := func(r *regions) (list []address) {
		for _, n := range sizes {
			list = append(list, r.take(n))
		}
		return list
	}
	measured := &regions{}
	run(measured)
	if measured.total != 256+256+512+1<<40 || !slices.Equal(measured.exact, []int64{1, 256, 300, 1 << 40}) {
		t.Errorf("measured %d bytes, %v", measured.total, measured.exact)
	}
	if got := run(&regions{base: 1 << 20}); !slices.Equal(got, []address{1 << 20, 1<<20 + 256, 0, 1<<20 + 512, 1<<20 + 1024}) {
		t.Errorf("placed at %v", got)
	}
	if got := run(&regions{apart: []address{7, 8, 9, 10}}); !slices.Equal(got, []address{7, 8, 0, 9, 10}) {
		t.Errorf("apart at %v", got)
	}
}

// TestArguments: each argument is as aligned as its type, and found by its pointer.
func TestArguments(t *testing.T) {
	var a args
	a.i32(-2)
	a.at(0x123456789a)
	a.f32(1.5)
	a.i64(-3)
	if !slices.Equal(a.offsets, []int{0, 8, 16, 24}) || len(a.data) != 32 {
		t.Errorf("arguments at %v of %d bytes", a.offsets, len(a.data))
	}
}
