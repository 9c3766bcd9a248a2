package cuda

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// bigCard are the facts of a card as they are sold.
func bigCard() driver.Facts {
	return driver.Facts{Major: 9, MaxThreads: 1024, MaxShared: 227 << 10, MaxBlock: [3]int{1024, 1024, 64}, MaxGrid: [3]int{1<<31 - 1, 65535, 65535}, Memory: 139 << 30}
}

// huge is a program of so many layers, each a RopeAppend and an Attend, over a large
// vocabulary; its weights are nowhere.
func huge(layers, heads, dim, vocab int) (*prog.Program, []deviceWeight) {
	p := &prog.Program{Vocab: vocab, Embd: heads * dim, Context: 1 << 20, Weights: []prog.Weight{{Tensor: "w", Kind: prog.Matrix, Rows: vocab, Cols: heads * dim}}}
	for range 4 {
		p.Bufs = append(p.Bufs, prog.Buffer{Name: "b", Width: heads * dim})
	}
	p.Bufs = append(p.Bufs, prog.Buffer{Name: "last", Width: heads * dim, Rows: prog.LogitRows})
	for i := range layers {
		p.KV = append(p.KV, prog.KVLayer{Heads: heads, KeyDim: dim, ValueDim: dim})
		p.Ops = append(p.Ops,
			prog.RopeAppend{Q: 0, K: 1, V: 2, KV: i, Heads: heads, KVHeads: heads, HeadDim: dim, QNorm: prog.NoWeight, KNorm: prog.NoWeight},
			prog.Attend{Q: 0, Out: 3, KV: i, Heads: heads, KVHeads: heads, HeadDim: dim, Scale: 1, Sinks: prog.NoWeight})
	}
	p.Ops = append(p.Ops, prog.TakeRows{In: 3, Out: 4}, prog.Head{In: 4, W: 0, Bias: prog.NoWeight, Scale: 1})
	m, err := newMatrix(p.Weights[0], quant.F16)
	if err != nil {
		panic(err)
	}
	return p, []deviceWeight{{matrix: m}}
}

// TestHugeCaches: of a cache that fills a card, far over 2³¹ values and 2³⁷ bytes, and
// contexts of a million tokens, every page of every layer has its own place, below all
// else, and kernels are told how far apart pages are in 64 bits.
func TestHugeCaches(t *testing.T) {
	for _, c := range []struct{ layers, heads, dim, vocab int }{
		{32, 8, 128, 256_000}, {200, 64, 128, 32_000}, {2, 1, 64, 2_000_000},
	} {
		p, weights := huge(c.layers, c.heads, c.dim, c.vocab)
		l := backend.Limits{Rows: 8192, Seqs: 256, LogitRows: 384, PageSize: 16, Context: 1 << 20, KVType: backend.KVF16}
		page := int64(c.layers) * 2 * 16 * int64(c.heads*c.dim) * 2
		l.Pages = int(min((139<<30)/page, (1<<31-1)/16))
		base := address(0x7000_0000_0000)
		r := newRig(p, l, bigCard(), weights, &regions{base: base}, false)
		ops, err := r.compile()
		if err != nil {
			t.Fatal(err)
		}
		if err := checkLaunches(ops, r.most(), r.card, false); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		kv := page * int64(l.Pages)
		if got := backend.KVBytes(p, l); got != kv || kv < 1<<33 {
			t.Errorf("%+v: the cache has %d bytes, counted %d", c, got, kv)
		}
		end := base + address(kv)
		for i, layer := range r.layers {
			for _, part := range []kvPart{layer.keys, layer.values} {
				last := part.at + address(int64(l.Pages-1)*part.stride)
				if part.stride != page || last < part.at || last+address(part.bytes) > end || i == 0 && part.at < base {
					t.Errorf("%+v, layer %d: %+v: the last page is at %#x, the end at %#x", c, i, part, last, end)
				}
			}
		}
		last := r.layers[c.layers-1].values
		if got := last.at + address(int64(l.Pages-1)*last.stride+last.bytes); got != end {
			t.Errorf("%+v: the last value ends at %#x, want %#x", c, got, end)
		}
		if pages := r.pages(false); len(pages) != 1 || pages[0] != (kvPart{base, page, page}) {
			t.Errorf("%+v: pages are %+v", c, pages)
		}
		if r.step < end || r.logits <= r.step || address(r.regions.total) <= end-base {
			t.Errorf("%+v: the step lies at %#x, in the cache that ends at %#x", c, r.step, end)
		}
		for _, o := range ops {
			for _, x := range o.launches(r.most()) {
				a, ok := o.(*attend)
				if !ok || x.kernel == "attend_join" {
					continue
				}
				if got := binary.LittleEndian.Uint64(x.args.data[x.args.offsets[8]:]); got != uint64(page) {
					t.Errorf("%+v: %s of layer %d has pages of %d bytes, want %d", c, x.kernel, a.KV, got, page)
				}
			}
		}
		// A copy of the last page ends where the cache does.
		if to := r.pages(false)[0]; to.at+address(int64(int32(l.Pages-1))*to.stride)+address(to.bytes) != end {
			t.Errorf("%+v: the last page is copied beyond the end", c)
		}
	}
}

// TestLaunchesBeyondTheCard: limits that no grid is large enough for are refused when
// they are checked, not by the first step.
func TestLaunchesBeyondTheCard(t *testing.T) {
	p, weights := huge(1, 1, 64, 1000)
	for rows, ok := range map[int]bool{65535: true, 65536: false, 1 << 20: false} {
		l := backend.Limits{Rows: rows, Seqs: rows, LogitRows: rows, Pages: 4, PageSize: 16, Context: 64, KVType: backend.KVF16}
		r := newRig(p, l, bigCard(), weights, &regions{}, false)
		ops, err := r.compile()
		if err != nil {
			t.Fatal(err)
		}
		var limit *backend.LimitError
		if err := checkLaunches(ops, r.most(), r.card, false); (err == nil) != ok || err != nil && !errors.As(err, &limit) {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
	var a args
	a.i32(1 << 31)
	a.i32(5)
	wide := launchesOf{{kernel: "k", grid: dims{1, 1, 1}, block: dims{1, 1, 1}, args: a}}
	if checkLaunches([]op{wide}, bucket{}, bigCard(), false) == nil {
		t.Error("an argument of more than 32 bits is cut")
	}
}

// launchesOf is an op that has these launches.
type launchesOf []launch

func (l launchesOf) launches(bucket) []launch { return l }
