package cpu_test

import (
	"sync"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cpu"
)

// maker serves a model whose tensors are made by each Read, and counts.
type maker struct {
	*backendtest.Random
	mu    sync.Mutex
	reads map[string]int
}

func (m *maker) Info(name string) (backend.Tensor, error) {
	t, err := m.Random.Info(name)
	t.Made = 1
	return t, err
}

func (m *maker) Read(name string, use func(backend.Tensor) error) error {
	m.mu.Lock()
	m.reads[name]++
	m.mu.Unlock()
	return m.Random.Read(name, use)
}

// TestMadeOnce asks that a tensor which is made to be read is made once for each weight
// in it, a stack of matrices being one.
func TestMadeOnce(t *testing.T) {
	for seed := range uint64(6) {
		m := &maker{Random: backendtest.NewRandomExperts(seed), reads: map[string]int{}}
		weights := map[string]int{}
		for _, w := range m.Prog.Weights {
			weights[w.Tensor]++
		}
		loaded, err := cpu.New(cpu.Options{Threads: 2}).Load(m.Prog, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range m.reads {
			if n != weights[name] {
				t.Errorf("seed %d: %q was made %d times, want %d", seed, name, n, weights[name])
			}
		}
		if err := loaded.Close(); err != nil {
			t.Error(err)
		}
	}
}
