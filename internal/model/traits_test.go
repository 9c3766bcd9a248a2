package model

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/prog"
)

func lowerMade(t *testing.T, m *made, o Options) (*Model, error) {
	t.Helper()
	f, err := gguf.Parse(m.light().bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	return Lower(f, o)
}

func windowsOf(p *prog.Program) (list []int) {
	for _, l := range p.KV {
		list = append(list, l.Window)
	}
	return list
}

// TestWindows asks which layers have windows: by the architecture, by a period in
// the file, by a list in the file, and where the file is silent.
func TestWindows(t *testing.T) {
	for _, c := range []struct {
		head string
		edit func(m *made)
		want []int
		err  string
	}{
		{"gemma3", func(*made) {}, []int{16, 16, 16, 16, 16, 0}, ""},
		{"gemma3", func(m *made) { m.set("gemma3.attention.sliding_window_pattern", uint32(3)) }, []int{16, 16, 0, 16, 16, 0}, ""},
		{"gemma3", func(m *made) {
			m.set("gemma3.attention.sliding_window_pattern", []bool{false, true, false, false, true, true})
		}, []int{0, 16, 0, 0, 16, 16}, ""},
		{"gemma3", func(m *made) { m.set("gemma3.attention.sliding_window_pattern", []bool{false, true}) }, nil, "of all 6"},
		{"gemma3", func(m *made) { m.set("gemma3.attention.sliding_window_pattern", []string{"a"}) }, nil, "sliding_window_pattern"},
		{"gemma3", func(m *made) { m.drop("gemma3.attention.sliding_window") }, []int{0, 0, 0, 0, 0, 0}, ""},
		{"gemma2", func(m *made) { m.drop("gemma2.attention.sliding_window") }, []int{4096, 0, 4096, 0}, ""},
		{"cohere2", func(m *made) { m.drop("cohere2.attention.sliding_window") }, nil, "at least 1"},
		{"olmo2", func(*made) {}, []int{0, 0, 0}, ""},
		{"olmo3", func(*made) {}, []int{16, 16, 16, 0}, ""},
		{"gemma3", func(m *made) {
			m.set("gemma3.attention.sliding_window_pattern", []uint32{0, 1, 0, 0, 1, 1})
		}, []int{0, 16, 0, 0, 16, 16}, ""},
		{"gemma3", func(m *made) { m.set("gemma3.attention.sliding_window_pattern", uint32(0)) }, []int{16, 16, 16, 16, 16, 16}, ""},
		{"lfm2", func(m *made) { m.set("lfm2.attention.sliding_window", uint32(9)) }, []int{0, 0, 9, 0}, ""},
		{"phi3", func(m *made) { m.set("phi3.attention.sliding_window", uint32(2047)) }, []int{0, 0, 0}, ""}, // as llama.cpp
		{"phi3", func(m *made) {
			m.set("phi3.attention.sliding_window", uint32(2047))
			m.set("phi3.attention.sliding_window_pattern", uint32(0))
		}, []int{2047, 2047, 2047}, ""},
	} {
		m := readHead(t, c.head)
		c.edit(m)
		got, err := lowerMade(t, m, Options{})
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want an error with %q", c.head, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.head, err)
		case !slices.Equal(windowsOf(got.Program), c.want):
			t.Errorf("%s: windows %v, want %v", c.head, windowsOf(got.Program), c.want)
		}
	}
}

// ropesOf are the first frequencies that the layers rotate by; 0: they don't.
func ropesOf(p *prog.Program) (list []float32) {
	for _, op := range p.Ops {
		if r, ok := op.(prog.RopeAppend); ok {
			if r.Rope.Dim == 0 {
				list = append(list, 0)
			} else {
				list = append(list, r.Rope.Freqs[1])
			}
		}
	}
	return list
}

// TestRopesByLayer asks which layers rotate, and by which base.
func TestRopesByLayer(t *testing.T) {
	for head, rotates := range map[string][]bool{
		"smollm3": {true, true, true, false},
		"cohere2": {true, true, true, false},
		"gpt2":    {false, false, false},
		"gemma":   {true, true, true},
	} {
		m, err := lowerMade(t, readHead(t, head), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for l, f := range ropesOf(m.Program) {
			if (f != 0) != rotates[l] {
				t.Errorf("%s: layer %d rotates by %v", head, l, f)
			}
		}
	}
	m, err := lowerMade(t, readHead(t, "gemma3"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ropes := ropesOf(m.Program)
	near, far := float32(math.Pow(10000, -1.0/16)), float32(math.Pow(1e6, -1.0/16)/8)
	if math.Abs(float64(ropes[0]-near)) > 1e-6 || math.Abs(float64(ropes[5]-far)) > 1e-6 {
		t.Errorf("gemma3 rotates by %v, want %v and in the last layer %v", ropes, near, far)
	}
}

// TestLongFactors asks that the context limit chooses between the two tables of
// divisors: the short ones up to the length of the training, the long ones beyond.
func TestLongFactors(t *testing.T) {
	m := readHead(t, "phi3_longrope_long")
	for i, x := range m.tensors {
		if x.Name == longFactors {
			m.tensors[i].Data = slices.Repeat([]byte{0, 0, 0, 0x40}, 8) // twos
		}
	}
	first := func(context int) float32 {
		got, err := lowerMade(t, m, Options{Context: context})
		if err != nil {
			t.Fatal(err)
		}
		return ropesOf(got.Program)[0]
	}
	short := first(128)
	if first(1) != short || first(129) != short/2 || first(0) != short/2 { // 0: the file's own, 131072
		t.Errorf("frequencies %v at 128, %v at 129, %v at the file's limit", short, first(129), first(0))
	}
	m.set("phi3.rope.scaling.type", "longrope")
	if first(129) != short/2 {
		t.Error("a file that names its scaling rotates by others")
	}
	m.remove(shortFactors)
	if _, err := lowerMade(t, m, Options{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a file with one of two tables: %v, want ErrUnsupported", err)
	}
}
