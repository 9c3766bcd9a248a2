package model

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

// Made is a model file in the making, for the tests outside of the package.
type Made struct{ *made }

// ReadHead makes the file of a head in testdata.
func ReadHead(t testing.TB, name string) Made { return Made{readHead(t, name)} }

// Set sets a key.
func (m Made) Set(key string, v any) { m.set(key, v) }

// Tensor adds a tensor, or changes its shape.
func (m Made) Tensor(name string, dims ...uint64) { m.tensor(name, dims...) }

// Remove takes a tensor away.
func (m Made) Remove(name string) { m.remove(name) }

// Move gives a tensor another name.
func (m Made) Move(from, to string) {
	i := slices.IndexFunc(m.tensors, func(t ggufwrite.Tensor) bool { return t.Name == from })
	m.tensors[i].Name = to
}

// Bytes is the file, each tensor filled with numbers that depend on its name alone.
func (m Made) Bytes(t testing.TB) []byte {
	for i := range m.tensors {
		fill(&m.tensors[i])
	}
	return m.bytes(t)
}

// fill draws a tensor's numbers evenly from mean ± spread, every step rounded, so
// that all machines draw the same.
func fill(t *ggufwrite.Tensor) {
	mean, spread := float32(0), float32(2/math.Sqrt(float64(t.Dims[0])))
	switch {
	case strings.Contains(t.Name, "norm") && strings.HasSuffix(t.Name, ".weight"):
		mean, spread = 1, 0.4
	case strings.HasPrefix(t.Name, "rope_f"):
		mean, spread = 2, 0.8
	case strings.HasSuffix(t.Name, ".bias"), strings.HasPrefix(t.Name, "position"), strings.HasPrefix(t.Name, "token_types"):
		spread = 0.4
	case t.Name == "token_embd.weight":
		spread = 1
	case strings.Contains(t.Name, "shortconv.conv"):
		spread = 0.8
	}
	h := fnv.New64a()
	h.Write([]byte(t.Name))
	state := h.Sum64()
	for i := 0; i < len(t.Data); i += 4 {
		state += 0x9e3779b97f4a7c15 // splitmix64
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		u := float32(int32(z>>40)-1<<23) / (1 << 23)
		binary.LittleEndian.PutUint32(t.Data[i:], math.Float32bits(mean+float32(spread*u)))
	}
}
