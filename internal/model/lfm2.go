package model

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/prog"
)

// lowerLFM2 lowers LFM 2: most layers have a gated short convolution in place of
// attention, those with no key-value heads, and the last norm goes by the name of
// the embedding's.
func lowerLFM2(f file, arch string) (*Model, error) {
	taps := 0
	return decoder{
		order: prog.Halves, qkNorm: eachHead, outNorm: "token_embd_norm", outName: "shortconv.out_proj",
		read: func(k *keys, t *traits) {
			taps = k.count("shortconv.l_cache", 1, 64)
			t.window, t.windowed = k.countOr("attention.sliding_window", 0, 0, math.MaxInt32), everywhere
		},
		attends: func(w *stream, l int) bool { return w.Without != nil && w.Without[l] },
		attend:  func(w *stream, l int, in prog.BufID) { w.shortConv(l, in, taps) },
	}.lower(f, arch)
}

// shortConv writes the convolution of layer l: one fused matrix makes, in this
// order, what is multiplied into the input, what into the result, and the input.
func (w *stream) shortConv(l int, in prog.BufID, taps int) {
	n, name := w.Embd, w.name(l, "shortconv.in_proj")
	b, c, x := w.buf("conv.b", n), w.buf("conv.c", n), w.buf("conv.x", n)
	w.b.op(prog.Linear{In: in, Parts: []prog.LinearPart{
		w.cut(b, name, 3*n, n, 0, n, absent), w.cut(c, name, 3*n, n, n, n, absent), w.cut(x, name, 3*n, n, 2*n, n, absent),
	}})
	w.att = c
	w.b.op(prog.ShortConv{B: b, C: c, X: x, Out: c, W: w.b.matrix(w.name(l, "shortconv.conv.weight"), n, taps), Taps: taps, KV: l})
	w.b.prog.KV = append(w.b.prog.KV, prog.StateLayer(n))
}

// kvHeads reads the number of key-value heads: one for all layers, or an entry a
// layer, of which those that are not 0 agree. without says which are 0, if any.
func (k *keys) kvHeads(heads, layers int) (n int, without []bool) {
	const key = "attention.head_count_kv"
	if kind, _, _, ok := k.file.KindOf(k.name(key)); !ok || kind != gguf.KindArray {
		return k.countOr(key, heads, 1, maxHeads), nil
	}
	list, err := k.file.Ints(k.name(key))
	if err != nil {
		if k.err == nil {
			k.err = fmt.Errorf("model: %w", err)
		}
		return 1, nil
	}
	if len(list) != layers {
		k.fail(k.name(key), fmt.Sprintf("an array of %d", len(list)), fmt.Sprintf("one number, or one for each of %d layers", layers), nil)
		return 1, nil
	}
	for l, v := range list {
		switch {
		case v == 0:
			if without == nil {
				without = make([]bool, layers)
			}
			without[l] = true
		case v < 0 || v > maxHeads || n != 0 && int(v) != n:
			k.fail(fmt.Sprintf("%s[%d]", k.name(key), l), v, fmt.Sprintf("0 or one number of 1 to %d in all layers", maxHeads), ErrUnsupported)
			return 1, nil
		default:
			n = int(v)
		}
	}
	return max(n, 1), without
}
