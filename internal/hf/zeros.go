package hf

import (
	"strings"

	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/safetensors"
)

// void tells whether a tensor may be left out: a bias of a class that writes such ones
// and has none, all of it 0.
func (c *config) void(set *safetensors.Set, theirs string) (void bool, err error) {
	src, _ := set.Tensor(theirs)
	format, ok := quant.Lookup(types[src.Type])
	if !c.family.zeroBias || !strings.HasSuffix(theirs, ".bias") || !ok || format.BlockElems != 1 || src.Type == safetensors.F8E4M3 {
		return false, nil
	}
	err = set.Read(theirs, func(_ safetensors.Tensor, data []byte) error {
		var one [1]float32
		for ; len(data) >= format.BlockBytes; data = data[format.BlockBytes:] {
			if format.Decode(one[:], data[:format.BlockBytes]); one[0] != 0 {
				return nil
			}
		}
		void = true
		return nil
	})
	return void, err
}
