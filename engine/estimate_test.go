package engine

import (
	"testing"

	"github.com/paddock-go/paddock/examples/demo"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
	"pgregory.net/rapid"
)

// tiny is a decoder of two layers by hand: width 4, two query heads and one
// key-value head of 2 values, feed-forward 6, vocabulary 10. After the attention of
// its second layer it goes on with the rows that want logits.
func tiny(window int) *prog.Program {
	p := &prog.Program{Vocab: 10, Embd: 4, Context: 64}
	buf := func(width int, rows prog.RowKind) prog.BufID {
		p.Bufs = append(p.Bufs, prog.Buffer{Width: width, Rows: rows})
		return prog.BufID(len(p.Bufs) - 1)
	}
	part := func(rows, cols int, out prog.BufID) prog.LinearPart {
		p.Weights = append(p.Weights, prog.Weight{Kind: prog.Matrix, Rows: rows, Cols: cols})
		return prog.LinearPart{Out: out, W: prog.WeightID(len(p.Weights) - 1), Bias: prog.NoWeight}
	}
	h, q, k, v, att := buf(4, 0), buf(4, 0), buf(2, 0), buf(2, 0), buf(4, 0)
	for layer := range 2 {
		p.KV = append(p.KV, prog.KVLayer{Heads: 1, KeyDim: 2, ValueDim: 2})
		in, rows := att, prog.TokenRows
		p.Ops = append(p.Ops,
			prog.Linear{In: h, Parts: []prog.LinearPart{part(4, 4, q), part(2, 4, k), part(2, 4, v)}},
			prog.RopeAppend{Q: q, K: k, V: v, KV: layer, Heads: 2, KVHeads: 1, HeadDim: 2},
			prog.Attend{Q: q, Out: att, KV: layer, Heads: 2, KVHeads: 1, HeadDim: 2, Window: window})
		if layer == 1 {
			in, rows = buf(4, prog.LogitRows), prog.LogitRows
			p.Ops = append(p.Ops, prog.TakeRows{In: att, Out: in})
		}
		sum, gate, up := buf(4, rows), buf(6, rows), buf(6, rows)
		p.Ops = append(p.Ops,
			prog.Linear{In: in, Parts: []prog.LinearPart{part(4, 4, sum)}},
			prog.Linear{In: sum, Parts: []prog.LinearPart{part(6, 4, gate), part(6, 4, up)}},
			prog.GateMul{Gate: gate, Up: up, Out: gate},
			prog.Linear{In: gate, Parts: []prog.LinearPart{part(4, 6, sum)}})
		h = sum
	}
	p.Ops = append(p.Ops, prog.Head{In: h, W: part(10, 4, 0).W, Bias: prog.NoWeight})
	return p
}

// tinyCosts has weights of 3 bytes a value, so that they can't be taken for
// activations.
func tinyCosts(window int) *estimator {
	return newEstimator(tiny(window), func(w prog.Weight) int64 { return 3 * int64(w.Rows) * int64(w.Cols) }, KVF32)
}

func plan(spans ...sched.Span) *sched.Plan { return &sched.Plan{Spans: spans} }

// TestEstimateByHand holds steps against what was counted on paper. T rows, L of them
// with logits, C the keys that they see, K the keys in view of a sequence:
//
//	flops     layer 1: qkv 2·4·8 T = 64 T, attend 4·2·2 C = 16 C, out 2·4·4 T = 32 T,
//	          gate and up 2·4·12 T = 96 T, down 2·6·4 T = 48 T
//	          layer 2: 64 T + 16 C, then 32 L + 96 L + 48 L; head 2·4·10 L = 80 L
//	          together 304 T + 32 C + 256 L
//	read      layer 1: 16 T for each of qkv, the query, out, gate and up; 48 T to
//	          multiply gate and up; 24 T for down: 136 T
//	          layer 2: 16 T + 16 T, then 16 L + 16 L + 48 L + 24 L; head 16 L
//	          keys and values: 2 layers · 4 values · 4 bytes: 32 K
//	          weights: 3·(32 + 16 + 48 + 24) + 3·32 = 456 for any row, 3·(16 + 48 + 24 + 40) = 384 for any logits
//	          together 168 T + 120 L + 32 K + 456 + 384
//	written   layer 1: qkv 32 T, keys and values 16 T, out 16 T, gate and up 48 T,
//	          their product 24 T, down 16 T: 152 T
//	          layer 2: 32 T + 16 T, then 16 L + 48 L + 24 L + 16 L; head 40 L
//	          together 200 T + 144 L
func TestEstimateByHand(t *testing.T) {
	for _, c := range []struct {
		name   string
		window int
		plan   *sched.Plan
		want   work
	}{
		{"a prompt of 5", 0, plan(sched.Span{Count: 5, Logits: 1}), // T 5, C 1+2+3+4+5, L 1, K 5
			work{304*5 + 32*15 + 256, 168*5 + 120 + 32*5 + 456 + 384, 200*5 + 144}},
		{"its first 3", 0, plan(sched.Span{Count: 3}), // no logits: neither head nor the end of layer 2
			work{304*3 + 32*6, 168*3 + 32*3 + 456, 200 * 3}},
		{"the last 2, behind 3 computed or cached", 0, plan(sched.Span{From: 3, Count: 2, Logits: 1}),
			work{304*2 + 32*9 + 256, 168*2 + 120 + 32*5 + 456 + 384, 200*2 + 144}},
		{"one token after 100", 0, plan(sched.Span{From: 100, Count: 1, Logits: 1}),
			work{304 + 32*101 + 256, 168 + 120 + 32*101 + 456 + 384, 200 + 144}},
		{"a draft of 3 verified after 100", 0, plan(sched.Span{From: 100, Count: 4, Drafts: 3, Logits: 4}), // four rows, four logits
			work{304*4 + 32*(101+102+103+104) + 256*4, 168*4 + 120*4 + 32*104 + 456 + 384, 200*4 + 144*4}},
		{"two sequences", 0, plan(sched.Span{From: 9, Count: 1, Logits: 1}, sched.Span{Count: 2}), // weights are read once
			work{304*3 + 32*(10+1+2) + 256, 168*3 + 120 + 32*(10+2) + 456 + 384, 200*3 + 144}},
		{"nothing", 0, plan(), work{}},
		{"a window of 4 over 6", 4, plan(sched.Span{Count: 6, Logits: 1}), // C 1+2+3+4+4+4, all 6 keys in some row's view
			work{304*6 + 32*18 + 256, 168*6 + 120 + 32*6 + 456 + 384, 200*6 + 144}},
		{"a window of 4 after 100", 4, plan(sched.Span{From: 100, Count: 2, Logits: 1}), // C 4+4, keys 97 to 101
			work{304*2 + 32*8 + 256, 168*2 + 120 + 32*5 + 456 + 384, 200*2 + 144}},
	} {
		if got := tinyCosts(c.window).step(c.plan); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestEstimateExperts prices a layer of 6 experts, of which a row takes 2, and a
// product by heads: width 4, 5 hidden, weights of 3 bytes a value.
//
//	flops     2 of (20 + 20 + 20) · 2 = 240 a row; by heads 2 heads · 3·2 · 2 = 24
//	read      16 for the experts' input, 16 for the heads; 18·2 bytes of heads once;
//	          180 bytes for each expert with a row, at most 6
//	written   16 for the experts, 24 for the heads
func TestEstimateExperts(t *testing.T) {
	p := &prog.Program{
		Bufs: []prog.Buffer{{Width: 4}, {Width: 4}, {Width: 2}, {Width: 6}},
		Weights: []prog.Weight{{Rows: 5, Cols: 4, Stack: 6}, {Rows: 5, Cols: 4, Stack: 6}, {Rows: 4, Cols: 5, Stack: 6},
			{Rows: 3, Cols: 2, Stack: 2}},
		Ops: []prog.Op{prog.Experts{In: 0, Out: 1, Ids: 2, Gate: 0, Up: 1, Down: 2}, prog.HeadLinear{In: 1, Out: 3, W: 3}},
	}
	e := newEstimator(p, func(w prog.Weight) int64 { return 3 * int64(w.Flat().Rows) * int64(w.Cols) }, KVF32)
	for _, c := range []struct {
		rows    int
		experts float64 // that are read
	}{{1, 2}, {2, 4}, {3, 6}, {100, 6}} {
		n := float64(c.rows)
		want := work{264 * n, 32*n + 36 + 180*c.experts, 40 * n}
		if got := e.step(plan(sched.Span{Count: c.rows})); got != want {
			t.Errorf("%d rows: %+v, want %+v", c.rows, got, want)
		}
	}
}

// TestEstimateOfChunks: however a prompt is cut, the flops and the bytes written are
// the same; a cached prefix takes off exactly what it would have cost.
func TestEstimateOfChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := tinyCosts(rapid.IntRange(0, 9).Draw(t, "window"))
		n := rapid.IntRange(1, 60).Draw(t, "prompt")
		cached := rapid.IntRange(0, n-1).Draw(t, "cached")
		whole := e.step(plan(sched.Span{Count: n, Logits: 1}))
		var cut work
		for from := 0; from < n; {
			s := sched.Span{From: from, Count: rapid.IntRange(1, n-from).Draw(t, "chunk")}
			if from += s.Count; from == n {
				s.Logits = 1
			}
			cut.add(e.step(plan(s)))
		}
		if cut.flops != whole.flops || cut.write != whole.write || cut.read < whole.read {
			t.Errorf("in chunks %+v, at once %+v", cut, whole)
		}
		hit := e.step(plan(sched.Span{From: cached, Count: n - cached, Logits: 1}))
		saved := e.step(plan(sched.Span{Count: cached}))
		if hit.flops+saved.flops != whole.flops || hit.write+saved.write != whole.write {
			t.Errorf("with %d of %d cached %+v, the cached part %+v, the whole %+v", cached, n, hit, saved, whole)
		}
	})
}

// openDemo opens the embedded model.
func openDemo(t testing.TB, o Options) *Engine {
	t.Helper()
	if o.Metrics == nil {
		o.Metrics = metrics.NewRecorder(metrics.RecorderOptions{})
	}
	e, err := OpenFS(demo.Files, demo.Name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestEstimateOfARealModel serves the embedded model and holds its counters against
// the usual formulas over what its file says.
func TestEstimateOfARealModel(t *testing.T) {
	f, err := gguf.OpenFS(demo.Files, demo.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := model.Lower(f, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := m.Spec
	var last, all, weights float64 // flops of a row: the part of the last layer behind its attention; all but the head
	q, kv := float64(s.Heads*s.HeadDim), float64(s.KVHeads*s.HeadDim)
	d, ffn, layers := float64(s.Embd), float64(s.FFN), float64(s.Layers)
	last = 2*d*q + 6*d*ffn
	all = layers * (2*d*(q+2*kv) + last)
	head := 2 * d * float64(s.Vocab)
	for _, info := range f.Tensors {
		if len(info.Dims) == 2 && (s.Tied || info.Name != "token_embd.weight") { // the embedding is looked up, not read, but where it is the head too
			weights += float64(info.Size)
		}
	}
	flops := func(from, to, logits int) float64 { // of rows at positions from..to-1
		seen := 0
		for p := from; p < to; p++ {
			seen += p + 1
		}
		rows := float64(to - from)
		return all*rows + 4*q*layers*float64(seen) - last*(rows-float64(logits)) + head*float64(logits)
	}

	const prompt, tokens = 100, 8
	run := func(o Options) (e *Engine, first, second Stats) {
		e = openDemo(t, o)
		r := Request{Tokens: randomTokens(prompt, 1, e.VocabSize()), MaxTokens: tokens, IgnoreEOS: true}
		for _, after := range []*Stats{&first, &second} {
			collect(t, e, r)
			*after = settle(t, e)
		}
		return e, first, second
	}
	_, first, second := run(Options{})
	want := flops(0, prompt, 1)
	for i := range tokens - 1 { // the last token is never computed
		want += flops(prompt+i, prompt+i+1, 1)
	}
	if !first.Estimated || first.Flops != want {
		t.Errorf("%v flops for the first request, want %v", first.Flops, want)
	}
	if got := second.Flops - first.Flops; got != want-flops(0, 96, 0) {
		t.Errorf("%v flops with 96 tokens cached, want %v", got, want-flops(0, 96, 0))
	}
	if least := weights * tokens; first.ReadBytes < least || first.ReadBytes > 2*least {
		t.Errorf("%v bytes read, the weights alone are %v", first.ReadBytes, least)
	}
	for name, o := range map[string]Options{
		"in chunks":    {Limits: sched.Limits{MaxChunk: 7}},
		"two threads":  {Threads: 2},
		"no residency": {KVPages: 512},
	} {
		if _, s, _ := run(o); s.Flops != first.Flops || s.WriteBytes != first.WriteBytes {
			t.Errorf("%s: %v flops and %v bytes written, want %v and %v", name, s.Flops, s.WriteBytes, first.Flops, first.WriteBytes)
		}
	}
	// A draft's rows count as rows, kept or not.
	e := openDemo(t, Options{Spec: Spec{NGram: 4}})
	collect(t, e, Request{Tokens: randomTokens(prompt, 1, e.VocabSize()), MaxTokens: tokens, IgnoreEOS: true})
	if s := settle(t, e); s.Spec.DraftTokens > s.Spec.AcceptedTokens && s.Flops <= first.Flops {
		t.Errorf("%v flops with %d drafts rejected, %v without drafts", s.Flops, s.Spec.DraftTokens-s.Spec.AcceptedTokens, first.Flops)
	}
}

// TestNoEstimateWithoutAProgram asks that an engine which can't estimate says so.
func TestNoEstimateWithoutAProgram(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 64})
	collect(t, e, Request{Tokens: prompt(20, 1), MaxTokens: 3})
	if s := settle(t, e); s.Estimated || s.Flops != 0 {
		t.Errorf("estimated: %v, %v flops", s.Estimated, s.Flops)
	}
}

func TestEstimateAllocatesNothing(t *testing.T) {
	e, p := tinyCosts(3), plan(sched.Span{From: 9, Count: 1, Logits: 1}, sched.Span{Count: 200})
	if n := testing.AllocsPerRun(100, func() { e.step(p) }); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// TestResidencyIsSampled runs prompts through a pool too small to keep them.
func TestResidencyIsSampled(t *testing.T) {
	e, k := openKept(t, &fakeModel{}, Options{KVPages: 8, ResidencySample: 1})
	for i := range 10 {
		for range 1 + i%3 {
			collect(t, e, Request{Tokens: prompt(60, uint64(i)), MaxTokens: 2})
		}
	}
	s := settle(t, e)
	if !s.Residency || s.PagesEvicted == 0 || uint64(len(k.pages)) < s.PagesEvicted {
		t.Fatalf("sampling: %v, %d pages told, %d evicted", s.Residency, len(k.pages), s.PagesEvicted)
	}
	gaps := 0
	for _, p := range k.pages {
		if p.Lifetime < p.Idle || p.Idle < 0 {
			t.Errorf("told %+v", p)
		}
		gaps += p.NGaps
	}
	if gaps == 0 {
		t.Error("prompts came again, and no page was used twice")
	}
	off, k := openKept(t, &fakeModel{}, Options{KVPages: 4})
	for i := range 5 {
		collect(t, off, Request{Tokens: prompt(40, uint64(i)), MaxTokens: 2})
	}
	if s := settle(t, off); s.Residency || len(k.pages) != 0 {
		t.Errorf("not sampling: %v, %d pages told", s.Residency, len(k.pages))
	}
}
