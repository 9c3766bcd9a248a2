package model

import (
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/prog"
)

// WeightBytes tells what a weight takes in the file, which is what a step reads of
// it: panels hold the same blocks in another order. Safe for concurrent use.
func WeightBytes(f *gguf.File) func(prog.Weight) int64 {
	return func(w prog.Weight) int64 {
		t, ok := f.Tensor(w.Tensor)
		if !ok {
			return 0 // lowering has found every tensor of the program
		}
		rows := t.Elems() / t.Dims[0]
		return int64(t.Size / rows * uint64(w.Flat().Rows))
	}
}
