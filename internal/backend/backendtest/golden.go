package backendtest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/prog"
)

// Reference is one set of reference outputs of a model file.
type Reference struct {
	N       int
	Tokens  []int32
	Argmax  int32
	Logits  []float64
	Greedy  []int32
	Margins []float64 `json:"greedy_margin"`
}

// Golden is one row of the table: a model file, which of its references to
// hold it against, and the largest allowed difference of a logit.
type Golden struct {
	Path        string // below the golden folder, without extension
	Dequantized bool   // against dequantized_f32, which is free of rounded activations
	Gate        float64
	Rounded     bool // activations are rounded to 8 bits, which may fall the other way
}

// RunGolden holds a device against rows of the golden table, all prompts and the
// whole of their continuations, and logs what passed of what is there.
func RunGolden(t *testing.T, d backend.Device, table []Golden) {
	runGolden(t, d, table, math.MaxInt, math.MaxInt)
}

// RunGoldenBrief is RunGolden for prompts of up to 33 tokens and the first 4 of
// their continuations, for a device that is slow and whose bits others share.
func RunGoldenBrief(t *testing.T, d backend.Device, table []Golden) {
	runGolden(t, d, table, 33, 4)
}

// RunGoldenPart is RunGolden for prompts of up to so many tokens and so many of their
// continuations.
func RunGoldenPart(t *testing.T, d backend.Device, table []Golden, prompt, greedy int) {
	runGolden(t, d, table, prompt, greedy)
}

func runGolden(t *testing.T, d backend.Device, table []Golden, prompt, greedy int) {
	dir := golden.Dir(t)
	passed := 0
	var report strings.Builder
	for _, g := range table {
		ok := t.Run(filepath.Base(g.Path), func(t *testing.T) {
			g.fit(fromFile(t, filepath.Join(dir, g.Path+".gguf")))
			p, m := Load(t, d, filepath.Join(dir, g.Path+".gguf"))
			refs := references(t, filepath.Join(dir, g.Path+".json"), g.Dequantized)
			c := &comparison{gate: g.Gate, rounded: g.Rounded, experts: slices.ContainsFunc(p.Ops, func(o prog.Op) bool { return o.Kind() == prog.Experts{}.Kind() })}
			for _, r := range refs {
				if len(r.Tokens) <= prompt {
					r.Greedy = r.Greedy[:min(greedy, len(r.Greedy))]
					c.prompt(t, p, m, r)
				}
			}
			if c.flips > 1 {
				t.Errorf("%d prompts and greedy tokens differ where an 8-bit rounding may have fallen the other way, at most 1 may", c.flips)
			}
			fmt.Fprintf(&report, "%-26s %d prompts, largest logit difference %.2g of %.2g, divergence %.1g, %d greedy tokens equal, %d flipped",
				g.Path, len(refs), c.worst, g.Gate, c.kl, c.equal, c.flips)
			if len(c.close) > 0 {
				fmt.Fprintf(&report, ", not compared: margins of %.2g", c.close)
			}
			report.WriteByte('\n')
		})
		if ok {
			passed++
		}
	}
	t.Logf("%s: %d of %d golden files passed\n%s", d.Name(), passed, len(table), report.String())
}

// Load opens, lowers and loads a model file until the test ends.
func Load(tb testing.TB, d backend.Device, path string) (*prog.Program, backend.Model) {
	tb.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close() // nothing of the file is touched after Load
	lowered, err := model.Lower(f, model.Options{Context: 512})
	if err != nil {
		tb.Fatal(err)
	}
	m := loadPlanned(tb, d, lowered.Program, model.NewSource(f))
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Error(err)
		}
	})
	return lowered.Program, m
}

// references reads a reference file.
func references(t *testing.T, path string, dequantized bool) []Reference {
	t.Helper()
	var file struct {
		Prompts     []Reference
		Dequantized struct{ Prompts []Reference } `json:"dequantized_f32"`
	}
	readJSON(t, path, &file)
	if len(file.Prompts) == 0 || dequantized && len(file.Dequantized.Prompts) != len(file.Prompts) {
		t.Fatalf("%s holds %d prompts and %d dequantised ones", path, len(file.Prompts), len(file.Dequantized.Prompts))
	}
	if !dequantized {
		return file.Prompts
	}
	for i := range file.Dequantized.Prompts {
		file.Dequantized.Prompts[i].Tokens = file.Prompts[i].Tokens
	}
	return file.Dequantized.Prompts
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// goldenLimits fit any prompt of the golden data and its continuation. The KV cache is
// float32, as it was for the references.
func goldenLimits(p *prog.Program) backend.Limits {
	return backend.Limits{Rows: 256, Seqs: 1, LogitRows: 1, Pages: 32, PageSize: 16, Context: min(512, p.Context), KVType: backend.KVF32}
}

// flipMargin bounds how far one 8-bit activation that rounds the other way
// moves a logit: 0.083 between two builds of the peer itself.
const flipMargin = 0.1

// comparison is what was seen of one file.
type comparison struct {
	gate    float64
	rounded bool      // see Golden
	experts bool      // the model has experts, whose choice carries a flip further
	worst   float64   // largest difference of a logit after a prompt
	kl      float64   // largest divergence from a reference's distribution, in nats
	equal   int       // greedy tokens that were compared and equal
	flips   int       // those that differ within flipMargin under a gate for 8-bit activations, and such prompts
	close   []float64 // margins of the greedy tokens that the reference is undecided about
}

// prompt runs one prompt as one batch and its continuation token by token. The
// reference's tokens are fed, so that every step is compared, also behind one
// whose margin is within twice the gate, where the reference is undecided.
//
// A gate for 8-bit activations is met to 1e-6 nearly everywhere; but where a
// value lies within float noise of a rounding boundary, one quant differs and
// logits move by hundredths. That happens about once in 200 steps.
func (c *comparison) prompt(t *testing.T, p *prog.Program, m backend.Model, r Reference) {
	t.Helper()
	s := NewSession(t, p, m, goldenLimits(p), nil)
	seq := &Seq{}
	logits := s.Step(Part{seq, r.Tokens, true})[0]
	diff := maxDiff(logits, r.Logits)
	c.worst = max(c.worst, diff)
	if c.experts && c.rounded && diff > c.gate && diff < flipMargin {
		c.flips++ // the reference's README allows one such prompt of a model with experts
	} else {
		kl, limit := divergence(r.Logits, logits), klGate(c.gate, c.rounded)
		c.kl = max(c.kl, kl)
		if !(diff <= c.gate) || !(kl <= limit) {
			t.Errorf("prompt of %d: largest difference of a logit is %.4g, allowed %.4g; divergence %.3g nats, allowed %.3g", r.N, diff, c.gate, kl, limit)
		}
	}
	for i, want := range r.Greedy {
		switch got := Argmax(logits); {
		case r.Margins[i] <= 2*c.gate:
			c.close = append(c.close, r.Margins[i])
		case got == want:
			c.equal++
		case c.rounded && r.Margins[i] < flipMargin:
			c.flips++
		default:
			t.Errorf("prompt of %d: greedy token %d is %d, want %d (margin %.3g)", r.N, i, got, want, r.Margins[i])
		}
		logits = s.Step(Part{seq, []int32{want}, true})[0]
	}
}

// klGate is the divergence that the data's README allows beside a gate of logits.
func klGate(gate float64, rounded bool) float64 {
	switch {
	case gate > 0.1:
		return 2e-3
	case rounded:
		return 1e-5
	}
	return 1e-6
}

// divergence is the Kullback-Leibler divergence in nats of what was got from what
// is wanted.
func divergence(want []float64, got []float32) float64 {
	if len(want) != len(got) {
		return math.Inf(1)
	}
	top := want[0]
	for _, v := range want {
		top = max(top, v)
	}
	sum := 0.0
	for _, v := range want {
		sum += math.Exp(v - top)
	}
	lse, gotLSE, kl := top+math.Log(sum), logSumExp(got), 0.0
	for i, v := range want {
		kl += math.Exp(v-lse) * (v - lse - (float64(got[i]) - gotLSE))
	}
	return kl
}

// maxDiff is the largest difference; a NaN makes it NaN.
func maxDiff(got []float32, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	worst := 0.0
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i])-want[i]))
	}
	return worst
}

// RunStory holds a device against the trained model: its logits, its first 100
// greedy tokens and the likelihood of a text.
func RunStory(t *testing.T, d backend.Device) {
	dir := golden.Dir(t)
	var want struct {
		Prompt     []int32   `json:"prompt_tokens"`
		Greedy     []int32   `json:"greedy_tokens"`
		Logits     []float64 `json:"last_prompt_logits"`
		Perplexity struct {
			Tokens []int32
			NLL    []float64
		}
	}
	readJSON(t, filepath.Join(dir, "stories260K.json"), &want)
	p, m := Load(t, d, filepath.Join(dir, "stories260K.gguf"))
	s := NewSession(t, p, m, goldenLimits(p), nil)
	story, text := &Seq{}, &Seq{}
	logits := s.Step(Part{story, want.Prompt, true})[0]
	if diff := maxDiff(logits, want.Logits); !(diff <= 1e-3) {
		t.Errorf("largest difference of a logit is %.4g, allowed 1e-3", diff)
	}
	for i, w := range want.Greedy[:100] {
		got := Argmax(logits)
		if got != w {
			t.Fatalf("greedy token %d is %d, want %d", i, got, w)
		}
		logits = s.Step(Part{story, []int32{got}, true})[0]
	}
	worst := 0.0
	for i, nll := range want.Perplexity.NLL {
		logits = s.Step(Part{text, want.Perplexity.Tokens[i : i+1], true})[0]
		worst = max(worst, math.Abs(logSumExp(logits)-float64(logits[want.Perplexity.Tokens[i+1]])-nll))
	}
	if !(worst <= 1e-3) {
		t.Errorf("largest difference of a token's log likelihood is %.4g, allowed 1e-3", worst)
	}
	t.Logf("%s: stories260K: 100 greedy tokens equal, largest difference of %d log likelihoods %.2g", d.Name(), len(want.Perplexity.NLL), worst)
}

func logSumExp(x []float32) float64 {
	top := x[Argmax(x)]
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v - top))
	}
	return float64(top) + math.Log(sum)
}
