package backendtest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/internal/prog"
)

// RunKVTypes demands, over golden models, of each element type of the KV cache that a
// device gives the bits of another, and the same bits however sequences are cut into
// batches.
func RunKVTypes(t *testing.T, want, d backend.Device, poison func(backend.Runner), models ...string) {
	dir := golden.Dir(t)
	for _, name := range models {
		m := fromFile(t, filepath.Join(dir, "models", name+".gguf"))
		prompts := [][]int32{m.Tokens(70), m.Tokens(21), m.Tokens(1)}
		var exact [][]float32
		for _, m.KV = range backend.KVTypes() {
			t.Run(name+"/"+m.KV.String(), func(t *testing.T) {
				defined := alone(t, m, want, prompts[1], len(prompts[1]), 16, nil)
				same(t, fmt.Sprintf("%s against %s", d.Name(), want.Name()), defined, alone(t, m, d, prompts[1], 4, 16, poison))
				law(t, m, d, prompts, poison)
				if m.KV == backend.KVF32 {
					exact = defined
				} else if Argmax(exact[0]) < 0 || fmt.Sprint(exact) == fmt.Sprint(defined) {
					t.Errorf("a cache of %v gives the logits of an exact one: nothing was rounded", m.KV)
				}
			})
		}
	}
}

// kvGates bound the divergence in nats of logits over a rounded cache from those over
// an exact one: of half of the rows of a model, and of all rows of one without
// experts, where a choice that falls the other way carries it further. Where
// activations are rounded to 8 bits, which fall the other way too, nothing is held.
var kvGates = map[backend.KVType]struct{ half, all float64 }{
	backend.KVF16: {1e-5, 5e-4}, backend.KVBF16: {5e-4, 1e-2}, backend.KVQ8_0: {5e-3, 5e-2},
}

// RunKVDistance measures, over the golden models, how far rounding the KV cache moves
// logits, behind each prompt and along its continuation, and bounds it.
func RunKVDistance(t *testing.T, d backend.Device) {
	dir := golden.Dir(t)
	var report strings.Builder
	for _, g := range Models(t) {
		g.fit(fromFile(t, filepath.Join(dir, g.Path+".gguf")))
		p, m := Load(t, d, filepath.Join(dir, g.Path+".gguf"))
		refs := references(t, filepath.Join(dir, g.Path+".json"), false)
		exact := kvLogits(t, p, m, refs, backend.KVF32)
		experts := slices.ContainsFunc(p.Ops, func(o prog.Op) bool { return o.Kind() == prog.Experts{}.Kind() })
		fmt.Fprintf(&report, "%-28s %3d rows", g.Path, len(exact))
		for _, kv := range backend.KVTypes()[1:] {
			worst := 0.0
			var far []float64
			for i, got := range kvLogits(t, p, m, refs, kv) {
				want := make([]float64, len(got))
				for j, v := range exact[i] {
					want[j] = float64(v)
				}
				worst, far = max(worst, maxDiff(got, want)), append(far, divergence(want, got))
			}
			slices.Sort(far)
			half, all, gate := far[len(far)/2], far[len(far)-1], kvGates[kv]
			fmt.Fprintf(&report, " │ %v: %.2g, %.1g and %.1g nats", kv, worst, half, all)
			if !g.Rounded && !(half <= gate.half) || !g.Rounded && !experts && !(all <= gate.all) {
				t.Errorf("%s over a cache of %v: logits diverge by %.3g nats in half of the rows and %.3g at most, allowed %.3g and %.3g",
					g.Path, kv, half, all, gate.half, gate.all)
			}
		}
		report.WriteByte('\n')
	}
	t.Logf("%s: over a rounded KV cache, the largest difference of a logit from an exact one, and the divergence in half of the rows and at most\n%s", d.Name(), report.String())
}

// kvLogits is the logits behind each prompt and the first tokens of its continuation.
func kvLogits(t *testing.T, p *prog.Program, m backend.Model, refs []Reference, kv backend.KVType) (rows [][]float32) {
	l := goldenLimits(p)
	l.KVType = kv
	s := NewSession(t, p, m, l, nil)
	for _, r := range refs {
		seq := &Seq{}
		rows = append(rows, s.Step(Part{seq, r.Tokens, true})...)
		for i := range r.Greedy[:4] {
			rows = append(rows, s.Step(Part{seq, r.Greedy[i : i+1], true})...)
		}
		s.Free(seq)
	}
	return rows
}
