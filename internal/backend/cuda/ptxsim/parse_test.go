package ptxsim

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestParseCommitted: each module that the backend ships is understood.
func TestParseCommitted(t *testing.T) {
	files, err := filepath.Glob("../ptx/*.ptx")
	if err != nil || len(files) == 0 {
		t.Fatalf("no modules: %v", err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(string(src))
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(f), err)
			continue
		}
		if len(m.Kernels()) == 0 {
			t.Errorf("%s has no kernel", filepath.Base(f))
		}
	}
}

// TestParseDamaged: text with words left out, doubled or exchanged is parsed or
// refused, and what is parsed runs or faults.
func TestParseDamaged(t *testing.T) {
	src, err := os.ReadFile("testdata/sample.ptx")
	must(t, err)
	words := strings.SplitAfter(string(src), " ")
	rng := rand.New(rand.NewPCG(5, 6))
	refused := 0
	rounds := 1500
	if testing.Short() {
		rounds = 300
	}
	for range rounds {
		w := append([]string{}, words...)
		i, j := rng.IntN(len(w)), rng.IntN(len(w))
		switch rng.IntN(3) {
		case 0:
			w[i] = ""
		case 1:
			w[i] += w[i]
		case 2:
			w[i], w[j] = w[j], w[i]
		}
		m, err := Parse(strings.Join(w, ""))
		var p *ParseError
		if err != nil {
			if !errors.As(err, &p) || p.Line == 0 {
				t.Fatalf("%v", err)
			}
			refused++
			continue
		}
		for _, name := range m.Kernels() {
			k := m.Kernel(name)
			x := NewMachine(Options{Seed: 1, MaxSteps: 1000})
			at := upload(t, x, make([]uint32, 1024))
			params := pack64(at, at, at, at, 16)
			if len(params) < k.ParamBytes {
				continue
			}
			err := x.Launch(k, [3]uint32{1, 1, 1}, [3]uint32{32, 1, 1}, 0, params[:k.ParamBytes])
			var f *Fault
			if err != nil && !errors.As(err, &f) {
				t.Fatal(err)
			}
		}
	}
	if refused < rounds/5 {
		t.Errorf("only %d damaged texts were refused", refused)
	}
}

// TestKernelFacts: what a kernel says of itself.
func TestKernelFacts(t *testing.T) {
	m := sample(t)
	if got := strings.Join(m.Kernels(), " "); got != "dot_rows softmax tile collatz" || m.Target() != "sm_80" || m.Version() != "7.0" {
		t.Errorf("kernels %s for %s, version %s", got, m.Target(), m.Version())
	}
	k := m.Kernel("dot_rows")
	if k.ParamBytes != 36 || len(k.Params) != 5 || k.Params[4] != (Param{"dot_rows_param_4", 32, 4, 4}) || k.SharedBytes != 0 {
		t.Errorf("%+v", k)
	}
	if s := m.Kernel("softmax"); s.SharedBytes < 4096+32 || s.SharedAlign != 128 || s.Registers["f32"] == 0 || s.Live == 0 || s.Live > s.Registers["f32"]+s.Registers["b32"]+2*s.Registers["b64"] {
		t.Errorf("softmax: %d bytes shared, aligned to %d, registers %v, %d live", s.SharedBytes, s.SharedAlign, s.Registers, s.Live)
	}
	if m.Kernel("nothing") != nil {
		t.Error("a kernel that isn't there was found")
	}
}

// TestTwoMachines: one module serves machines in several goroutines.
func TestTwoMachines(t *testing.T) {
	k := sample(t).Kernel("dot_rows")
	var wg sync.WaitGroup
	for seed := range uint64(2) {
		x := NewMachine(Options{Seed: seed})
		params, out, want := dots(t, x, 16, 40)
		wg.Go(func() {
			for range 3 {
				if err := x.Launch(k, [3]uint32{2, 1, 1}, [3]uint32{256, 1, 1}, 0, params); err != nil {
					t.Error(err)
				}
			}
		})
		defer func() {
			for r, got := range download(t, x, out, 16) {
				if f32(uint64(got)) != want[r] {
					t.Errorf("row %d", r)
				}
			}
		}()
	}
	wg.Wait()
}
