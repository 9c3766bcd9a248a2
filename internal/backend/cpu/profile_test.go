package cpu_test

import (
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
)

// TestProfile holds what a profile counts against the program: each op's phases a
// step, and the bytes of all matrices that a token meets; a profiled step gives the
// bits of one that is not, and allocates nothing either.
func TestProfile(t *testing.T) {
	m := backendtest.NewRandom(3)
	const steps = 3
	var p cpu.Profile
	var bits [2][]float32
	for i, profile := range []*cpu.Profile{nil, &p} {
		loaded, err := cpu.New(cpu.Options{Threads: 2, Profile: profile}).Load(m.Prog, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := backendtest.NewSession(t, m.Prog, loaded, smallLimits, nil)
		var seq backendtest.Seq
		batch := s.Fill(backendtest.Part{Seq: &seq, Tokens: []int32{1}, Logits: true})
		logits := make([]float32, m.Prog.OutWidth())
		run := func() {
			if err := s.Runner().Run(batch, logits); err != nil {
				t.Fatal(err)
			}
		}
		run()
		p.Reset()
		for range steps {
			run()
		}
		bits[i] = append(bits[i], logits...)
		if profile == nil {
			if rows := p.Rows(); rows != nil {
				t.Errorf("a profile that nobody was given has %v", rows)
			}
			continue
		}
		ops, got := map[string]int64{}, map[string]int64{}
		for _, op := range m.Prog.Ops {
			ops[op.Kind()]++
		}
		var bytes int64
		for _, r := range p.Rows() {
			kind, _, _ := strings.Cut(r.Name, " ")
			if r.Items < r.Phases || r.Busy <= 0 || r.Wall < r.Late || r.Wall < r.Alone {
				t.Errorf("%+v", r)
			}
			got[kind] += r.Phases
			if kind == "linear" || kind == "head" {
				bytes += r.Cost.Bytes
			}
		}
		for _, kind := range []string{"embed", "norm", "linear", "rope_append", "attend", "gate_mul", "head"} {
			if got[kind] != steps*ops[kind] {
				t.Errorf("%d phases of %s, want %d", got[kind], kind, steps*ops[kind])
			}
		}
		if want := steps * productBytes(t, m); bytes != want {
			t.Errorf("products read %d bytes, want %d", bytes, want)
		}
		if p.Workers() != 2 || p.Woke() <= 0 {
			t.Errorf("%d workers, the last came after %v", p.Workers(), p.Woke())
		}
		if n := testing.AllocsPerRun(10, run); n != 0 {
			t.Errorf("a profiled step allocates %v times", n)
		}
	}
	for i := range bits[0] {
		if bits[0][i] != bits[1][i] {
			t.Fatalf("logit %d: %v without, %v with a profile", i, bits[0][i], bits[1][i])
		}
	}
}

// productBytes is the panels of all matrices that a program multiplies with.
func productBytes(t *testing.T, m *backendtest.Random) int64 {
	var sum int64
	add := func(id prog.WeightID) {
		w := m.Prog.Weights[id]
		tensor, err := m.Info(w.Tensor)
		if err != nil {
			t.Fatal(err)
		}
		f, _ := kern.Lookup(tensor.Type)
		sum += int64(kern.Panels(w.Rows)) * int64(f.PanelBytes(w.Cols))
	}
	for _, op := range m.Prog.Ops {
		switch o := op.(type) {
		case prog.Linear:
			for _, part := range o.Parts {
				add(part.W)
			}
		case prog.Head:
			add(o.W)
		}
	}
	return sum
}
