package backendtest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/internal/model"
)

// fromFile is a golden model as the random ones are: program and weights in memory.
func fromFile(t testing.TB, path string) *Random {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lowered, err := model.Lower(f, model.Options{Context: 512})
	if err != nil {
		t.Fatal(err)
	}
	m := &Random{Prog: lowered.Program, tensors: map[string]backend.Tensor{}, rng: rand.New(rand.NewPCG(7, 7))}
	src := model.NewSource(f)
	for _, w := range m.Prog.Weights {
		if err := src.Read(w.Tensor, func(x backend.Tensor) error {
			x.Data, x.Drop = slices.Clone(x.Data), nil
			m.tensors[w.Tensor] = x
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// RunGoldenLaw is RunLaw over the golden models: every architecture and format of
// the table, with prompts that cross windows, pages and spans of keys.
func RunGoldenLaw(t *testing.T, d backend.Device, table []Golden, poison func(backend.Runner)) {
	dir := golden.Dir(t)
	passed := 0
	for _, g := range table {
		if t.Run(filepath.Base(g.Path), func(t *testing.T) {
			m := fromFile(t, filepath.Join(dir, g.Path+".gguf"))
			law(t, m, d, [][]int32{m.Tokens(70), m.Tokens(21), m.Tokens(97), m.Tokens(1)}, poison)
		}) {
			passed++
		}
	}
	t.Logf("%s: %d of %d golden files give the same bits whatever batch, chunk, page and company", d.Name(), passed, len(table))
}

// RunGoldenEmbedLaw is the same over the golden models that embed: whole sequences
// in random company where a sequence is one step, else the law of the others.
func RunGoldenEmbedLaw(t *testing.T, want, d backend.Device, poison func(backend.Runner)) {
	dir := golden.Dir(t)
	for _, name := range Embeddings {
		t.Run(filepath.Base(name), func(t *testing.T) {
			m := fromFile(t, filepath.Join(dir, name+".gguf"))
			texts := [][]int32{m.Tokens(70), m.Tokens(21), m.Tokens(97), m.Tokens(1)}
			if !m.Prog.Atomic {
				law(t, m, d, texts, poison)
			}
			company(t, m, want, poison, texts, d)
		})
	}
}

// RunGoldenSame demands that devices give the bits of another on the golden
// models: a prompt in one batch and some tokens one by one.
func RunGoldenSame(t *testing.T, want backend.Device, table []Golden, got ...backend.Device) {
	dir := golden.Dir(t)
	passed := 0
	for _, g := range table {
		if t.Run(filepath.Base(g.Path), func(t *testing.T) {
			m := fromFile(t, filepath.Join(dir, g.Path+".gguf"))
			prompt, more := m.Tokens(37), m.Tokens(4)
			run := func(d backend.Device) (rows [][]float32) {
				s := open(t, m, d, m.limits(16), nil, nil)
				var seq Seq
				rows = s.Step(Part{&seq, prompt, true})
				for i := range more {
					rows = append(rows, s.Step(Part{&seq, more[i : i+1], true})...)
				}
				return rows
			}
			expect := run(want)
			for _, d := range got {
				same(t, fmt.Sprintf("%s against %s", d.Name(), want.Name()), expect, run(d))
			}
		}) {
			passed++
		}
	}
	for _, d := range got {
		t.Logf("%s: %d of %d golden files passed with the bits of %s", d.Name(), passed, len(table), want.Name())
	}
}

// RunGoldenWarm demands that a warm step of each golden model allocates nothing: a
// token of one sequence beside some of another.
func RunGoldenWarm(t *testing.T, d backend.Device, table []Golden) {
	dir := golden.Dir(t)
	for _, g := range table {
		m := fromFile(t, filepath.Join(dir, g.Path+".gguf"))
		s := open(t, m, d, m.limits(16), nil, nil)
		var a, b Seq
		batch := s.Fill(Part{&a, m.Tokens(1), true}, Part{&b, m.Tokens(20), true})
		logits := make([]float32, len(batch.Logits)*m.Prog.Vocab)
		if n := testing.AllocsPerRun(5, func() {
			if err := s.Runner().Run(batch, logits); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: a warm step allocates %v times", g.Path, n)
		}
	}
}
