package backendtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/quant"
)

// limits of the sessions over random models.
func (m *Random) limits(pageSize int) backend.Limits {
	return backend.Limits{Rows: 160, Seqs: 8, LogitRows: 8, Pages: 2048 / pageSize, PageSize: pageSize, Context: 700, KVType: m.KV}
}

// RunConform demands that devices give the same bits as another on random
// models: some of each format alone, then mixes. Poison, which may be nil, is
// called with each new runner of theirs to fill its cache with NaN.
func RunConform(t *testing.T, want backend.Device, poison func(backend.Runner), got ...backend.Device) {
	alone, mixed := uint64(2), uint64(8)
	if testing.Short() { // without kernels, or with the race detector
		alone, mixed = 1, 4
	}
	for _, f := range quant.Formats() {
		t.Run(f.Name, func(t *testing.T) {
			for seed := range alone {
				conform(t, NewRandom(seed, f.Type), want, poison, got)
			}
		})
	}
	t.Run("mixed", func(t *testing.T) {
		for seed := range mixed {
			conform(t, NewRandom(100+seed), want, poison, got)
		}
	})
}

// conform runs some steps of a random schedule on all devices.
func conform(t *testing.T, m *Random, want backend.Device, poison func(backend.Runner), got []backend.Device) {
	t.Helper()
	l := m.limits(pick(m, 16, 32, 64))
	sessions := []*Session{open(t, m, want, l, nil, nil)}
	for _, d := range got {
		sessions = append(sessions, open(t, m, d, l, m.order(l), poison))
	}
	var seqs [4][]Seq // sequence → in each session
	for i := range seqs {
		seqs[i] = make([]Seq, len(sessions))
	}
	for step := range 6 {
		parts := make([][]Part, len(sessions))
		for q := range seqs {
			if !m.chance(70) && q != step%len(seqs) {
				continue
			}
			tokens, logits := m.Tokens(1+m.rng.IntN(pick(m, 1, 3, 30))), m.chance(70)
			for s := range sessions {
				parts[s] = append(parts[s], Part{&seqs[q][s], tokens, logits})
			}
		}
		expect := sessions[0].Step(parts[0]...)
		for i, d := range got {
			m.same(t, fmt.Sprintf("%s, %s, step %d", d.Name(), m.Prog.Arch, step), expect, sessions[i+1].Step(parts[i+1]...))
		}
		if t.Failed() {
			if m.near != nil {
				locate(t, m, want, got[0])
			}
			t.Fatalf("the program:\n%v", m.Prog)
		}
	}
}

func open(t testing.TB, m *Random, d backend.Device, l backend.Limits, order []int32, poison func(backend.Runner)) *Session {
	t.Helper()
	loaded := loadPlanned(t, d, m.Prog, m)
	t.Cleanup(func() {
		if err := loaded.Close(); err != nil {
			t.Error(err)
		}
	})
	s := NewSession(t, m.Prog, loaded, l, order)
	if poison != nil {
		poison(s.Runner())
	}
	return s
}

// order is a random order of a runner's pages.
func (m *Random) order(l backend.Limits) []int32 {
	var list []int32
	for _, p := range m.rng.Perm(l.Pages) {
		list = append(list, int32(p))
	}
	return list
}

// same demands equal bits; any NaN equals any other.
func same(t *testing.T, what string, want, got [][]float32) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d and %d rows of logits", what, len(want), len(got))
	}
	for r := range want {
		for i, w := range want[r] {
			g := got[r][i]
			if math.Float32bits(w) != math.Float32bits(g) && !(w != w && g != g) {
				t.Errorf("%s: row %d, logit %d: %v (%#x) and %v (%#x)", what, r, i, w, math.Float32bits(w), g, math.Float32bits(g))
				return
			}
		}
	}
}

// RunLaw demands that how sequences are cut into batches changes no bit of any
// logits: alone and row by row, in chunks of 7 and 64, whole, and with others
// beside in a random schedule, over pages of other sizes and orders. The model
// is that of the seed, its weights of the given formats, or of all.
func RunLaw(t *testing.T, d backend.Device, seed uint64, poison func(backend.Runner), formats ...quant.Type) {
	m := NewRandom(200+seed, formats...)
	prompts := [][]int32{m.Tokens(70), m.Tokens(33), m.Tokens(97), m.Tokens(1)}
	if seed%3 == 0 && !testing.Short() {
		prompts[0] = m.Tokens(530) // over the bound of a span of keys, 512
	}
	law(t, m, d, prompts, poison)
}

// law is RunLaw for a model and prompts.
func law(t *testing.T, m *Random, d backend.Device, prompts [][]int32, poison func(backend.Runner)) {
	t.Helper()
	want := make([][][]float32, len(prompts))
	for i, p := range prompts {
		want[i] = alone(t, m, d, p, 1, 16, poison)
	}
	for _, c := range []struct{ chunk, page int }{{7, 32}, {64, 16}, {160, 64}} {
		for i, p := range prompts {
			m.same(t, fmt.Sprintf("%s, prompt %d in chunks of %d", m.Prog.Arch, i, c.chunk), want[i][len(p)-1:], alone(t, m, d, p, c.chunk, c.page, poison))
		}
	}
	together(t, m, d, prompts, want, poison)
	fork(t, m, d, prompts[len(prompts)-2], want[len(prompts)-2], poison)
}

// fork computes the first half of a prompt once and the second half twice, on
// the pages and on a copy of them, with other tokens on the first in between.
func fork(t *testing.T, m *Random, d backend.Device, prompt []int32, want [][]float32, poison func(backend.Runner)) {
	t.Helper()
	l := m.limits(32)
	s := open(t, m, d, l, m.order(l), poison)
	var first Seq
	half := len(prompt) / 2
	s.Step(Part{&first, prompt[:half], false})
	second := s.Fork(&first)
	s.Step(Part{&first, m.Tokens(len(prompt) - half), false})
	m.same(t, m.Prog.Arch+" forked", want[len(prompt)-1:], s.Step(Part{second, prompt[half:], true}))
}

// alone runs a prompt in chunks and returns the logits after each of them, or
// after the last one if they are of several tokens.
func alone(t *testing.T, m *Random, d backend.Device, prompt []int32, chunk, page int, poison func(backend.Runner)) [][]float32 {
	t.Helper()
	l := m.limits(page)
	s := open(t, m, d, l, m.order(l), poison)
	var seq Seq
	var rows [][]float32
	for at := 0; at < len(prompt); at += chunk {
		end := min(at+chunk, len(prompt))
		rows = append(rows, s.Step(Part{&seq, prompt[at:end], chunk == 1 || end == len(prompt)})...)
	}
	return rows
}

// together runs the prompts in random chunks side by side; one of them, beside,
// comes and goes, so that pages are used again.
func together(t *testing.T, m *Random, d backend.Device, prompts [][]int32, want [][][]float32, poison func(backend.Runner)) {
	t.Helper()
	l := m.limits(16)
	s := open(t, m, d, l, m.order(l), poison)
	rng := rand.New(rand.NewPCG(1, 2))
	seqs, at := make([]Seq, len(prompts)), make([]int, len(prompts))
	var guest Seq
	for more := true; more; {
		more = false
		var parts []Part
		var expect [][]float32
		for i, p := range prompts {
			if at[i] == len(p) {
				continue
			}
			more = true
			n := min(1+rng.IntN(30), len(p)-at[i])
			at[i] += n
			parts = append(parts, Part{&seqs[i], p[at[i]-n : at[i]], true})
			expect = append(expect, want[i][at[i]-1])
		}
		if !more {
			break
		}
		rows := s.Step(append(parts, Part{&guest, m.Tokens(5), false})...)
		m.same(t, m.Prog.Arch+" beside others", expect, rows)
		if rng.IntN(3) == 0 {
			s.Free(&guest)
		}
	}
}
