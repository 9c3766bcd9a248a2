package hf

import (
	"fmt"
	"strings"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/safetensors"
)

// scale is what the values of an FP8 matrix are multiplied by: one for each block of
// high rows and wide columns.
type scale struct {
	values     []float32
	across     int // blocks side by side
	high, wide int
}

// readScale reads the scales of an FP8 weight: one for all, one a row, or one a block
// of the size that the config says.
func readScale(set *safetensors.Set, weight string, rows, cols int, c *config) (*scale, error) {
	base, ok := strings.CutSuffix(weight, ".weight")
	if !ok {
		return nil, refuse(weight, "F8_E4M3 is for weights alone")
	}
	name := base + ".weight_scale_inv" // a factor too, whatever its name says
	src, ok := set.Tensor(name)
	if !ok {
		name = base + ".weight_scale"
		if src, ok = set.Tensor(name); !ok {
			return nil, refuse(weight, "is F8_E4M3 and has no scale, "+clip(name)+" or _inv")
		}
	}
	s := &scale{across: 1, high: rows, wide: cols}
	switch shape := src.Shape; {
	case src.Elems() == 1:
	case src.Elems() == uint64(rows) && (len(shape) == 1 || len(shape) == 2 && shape[1] == 1):
		s.high = 1
	case len(shape) == 2 && len(c.block) == 2:
		s.high, s.wide = int(min(c.block[0], 1<<30)), int(min(c.block[1], 1<<30))
		s.across = (cols + s.wide - 1) / s.wide
		if down := (rows + s.high - 1) / s.high; shape[0] != uint64(down) || shape[1] != uint64(s.across) {
			return nil, refuse(name, fmt.Sprintf("has shape %v; %d×%d in blocks of %v take %d×%d", shape, rows, cols, c.block, down, s.across))
		}
	default:
		return nil, refuse(name, fmt.Sprintf("has shape %v for a weight of %d×%d; one scale, one a row, or blocks of quantization_config.weight_block_size are known", shape, rows, cols))
	}
	to, ok := types[src.Type]
	if !ok || src.Type == safetensors.F8E4M3 {
		return nil, refuse(name, fmt.Sprintf("has type %s; F32, F16 and BF16 are scales", src.Type))
	}
	format, _ := quant.Lookup(to)
	s.values = make([]float32, src.Elems())
	if err := set.Read(name, func(_ safetensors.Tensor, data []byte) error {
		format.Decode(s.values, data)
		return nil
	}); err != nil {
		return nil, err
	}
	for i, v := range s.values {
		if v-v != 0 {
			return nil, refuse(name, fmt.Sprintf("value %d is %v", i, v))
		}
	}
	return s, nil
}

// decode writes row r of a matrix of codes: each value times its block's scale,
// rounded once.
func (s *scale) decode(dst []float32, codes []byte, r int) {
	line := s.values[r/s.high*s.across:]
	for i, code := range codes {
		dst[i] = half.F8E4M3ToF32(code) * line[i/s.wide]
	}
}
