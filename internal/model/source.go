package model

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/quant"
)

// source hands a file's tensors to a backend, so that neither backends know
// the file's format nor its reader knows devices.
type source struct{ f *gguf.File }

// NewSource returns a source over an open file, which must stay open while the
// source is used. Safe for concurrent use, as the source is.
func NewSource(f *gguf.File) backend.Source { return source{f} }

// Info implements backend.Source.
func (s source) Info(tensor string) (backend.Tensor, error) {
	_, t, err := s.find(tensor)
	return t, err
}

// Identity implements backend.Identified.
func (s source) Identity() (path string, sum [32]byte, ok bool) { return s.f.Identity() }

// find looks a tensor up and describes it.
func (s source) find(tensor string) (info gguf.TensorInfo, t backend.Tensor, err error) {
	info, ok := s.f.Tensor(tensor)
	if !ok {
		return info, t, fmt.Errorf("model: the file has no tensor %q", tensor)
	}
	rows := info.Elems() / info.Dims[0]
	if info.Dims[0] > math.MaxInt32 || rows > math.MaxInt32 {
		return info, t, fmt.Errorf("model: tensor %q is %d×%d, at most %d each way are supported", tensor, rows, info.Dims[0], math.MaxInt32)
	}
	t = backend.Tensor{Name: tensor, Type: quant.Type(info.Type), Rows: int(rows), Cols: int(info.Dims[0]), Made: int64(s.f.Made(info))}
	return info, t, nil
}

// Read implements backend.Source.
func (s source) Read(tensor string, use func(backend.Tensor) error) error {
	info, t, err := s.find(tensor)
	if err != nil {
		return err
	}
	// Dropping waits until the read is over: it takes the file's lock again.
	var dropped []gguf.TensorInfo
	t.Drop = func(from, to int) {
		if 0 <= from && from < to && uint64(to) <= info.Size {
			dropped = append(dropped, gguf.TensorInfo{Offset: info.Offset + uint64(from), Size: uint64(to - from)})
		}
	}
	err = s.f.ReadTensor(info, func(data []byte) error {
		t.Data = data
		return use(t)
	})
	for _, d := range dropped {
		s.f.Drop(d)
	}
	return err
}
