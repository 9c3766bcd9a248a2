package synth

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

// Open makes up a model like Write's that is in no file. Tensors of one format and
// spread begin with the same bytes, so that a model takes the memory of the largest of
// each kind: of one with 8 billion weights little more than a gigabyte. What it says is
// worth nothing; what it costs is what another costs.
func Open(shapeName, typ string, seed uint64) (*gguf.File, error) {
	s, err := findShape(shapeName)
	if err != nil {
		return nil, err
	}
	m, err := findMix(typ)
	if err != nil {
		return nil, err
	}
	all, err := lay(s, m)
	if err != nil {
		return nil, err
	}
	src := &views{bytes: map[poolKey]func() ([]byte, error){}, tensors: map[string]view{}}
	largest := map[poolKey]*laid{}
	list := make([]ggufwrite.Tensor, len(all))
	for i := range all {
		t := &all[i]
		list[i] = t.described()
		src.tensors[t.name] = view{t.key(), t.blocks() * t.format.BlockBytes}
		if l := largest[t.key()]; l == nil || l.blocks() < t.blocks() {
			largest[t.key()] = t
		}
	}
	for key, t := range largest {
		src.bytes[key] = sync.OnceValues(func() ([]byte, error) {
			var b bytes.Buffer
			b.Grow(t.blocks() * t.format.BlockBytes)
			err := newPool(t.format, t.tensor, seed).write(&b, t.blocks(), rand.New(rand.NewPCG(seed, 0)))
			return b.Bytes(), err
		})
	}
	var header bytes.Buffer
	total, err := ggufwrite.Header(&header, s.keys(m), list)
	if err != nil {
		return nil, err
	}
	return gguf.Assemble(header.Bytes(), total, src)
}

// view is a tensor: the first bytes of its kind's.
type view struct {
	key  poolKey
	size int
}

// views is a gguf.Source. It is not changed once it is made.
type views struct {
	bytes   map[poolKey]func() ([]byte, error) // made when they are first asked for
	tensors map[string]view
}

// ReadTensor implements gguf.Source.
func (s *views) ReadTensor(name string, fn func(data []byte) error) error {
	v, ok := s.tensors[name]
	if !ok {
		return fmt.Errorf("synth: there is no tensor %q", name)
	}
	data, err := s.bytes[v.key]()
	if err != nil {
		return err
	}
	return fn(data[:v.size])
}

// Made implements gguf.Source.
func (s *views) Made(string) uint64 { return 0 }

// Close implements gguf.Source.
func (s *views) Close() error { return nil }
