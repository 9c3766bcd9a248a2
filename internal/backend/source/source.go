// Package source hands the tensors of a model file to a backend, so that
// neither the backends know the file's format nor the reader knows devices.
package source

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/quant"
)

type file struct{ f *gguf.File }

// New returns a source over an open file, which must stay open while the
// source is used. What a Read has shown is dropped from memory after it: a
// load touches each tensor once. Safe for concurrent use, as the source is.
func New(f *gguf.File) backend.Source { return file{f} }

// Read implements backend.Source.
func (s file) Read(tensor string, use func(backend.Tensor) error) error {
	info, ok := s.f.Tensor(tensor)
	if !ok {
		return fmt.Errorf("source: the file has no tensor %q", tensor)
	}
	rows := info.Elems() / info.Dims[0]
	if info.Dims[0] > math.MaxInt32 || rows > math.MaxInt32 {
		return fmt.Errorf("source: tensor %q is %d×%d, at most %d each way are supported", tensor, rows, info.Dims[0], math.MaxInt32)
	}
	t := backend.Tensor{Name: tensor, Type: quant.Type(info.Type), Rows: int(rows), Cols: int(info.Dims[0])}
	defer s.f.Drop(info)
	return s.f.ReadTensor(info, func(data []byte) error {
		t.Data = data
		return use(t)
	})
}
