package hf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/safetensors"
)

// scale is what the values of an FP8 matrix are multiplied by: one for each block of
// high rows and wide columns. A block ends with its matrix, also where that is one of a
// stack.
type scale struct {
	values       []float32
	rows         int // of a matrix
	down, across int // a matrix' blocks
	high, wide   int
}

// readScale reads the scales of an FP8 weight: one for all, one a matrix of a stack, one
// a row, or one a block of the size that the config says.
func readScale(set *safetensors.Set, weight string, there []int, c *config) (*scale, error) {
	base, ok := strings.CutSuffix(weight, ".weight")
	if !ok || len(there) < 2 {
		return nil, refuse(weight, fmt.Sprintf("is F8_E4M3 of shape %v, which is for the matrices of weights alone", there))
	}
	name := base + ".weight_scale_inv" // a factor too, whatever its name says
	src, ok := set.Tensor(name)
	if !ok {
		name = base + ".weight_scale"
		if src, ok = set.Tensor(name); !ok {
			return nil, refuse(weight, "is F8_E4M3 and has no scale, "+clip(name)+" or _inv")
		}
	}
	s, err := scaleOf(there, src.Shape, c.block)
	if err != nil {
		return nil, refuse(name, err.Error())
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

// scaleOf tells by the shapes of a weight and of its scales what each of them is for.
func scaleOf(there []int, scales []uint64, block []int64) (*scale, error) {
	n := len(there)
	rows, cols, stack := there[n-2], there[n-1], product(there[:n-2])
	s := &scale{rows: rows, down: 1, across: 1, high: rows, wide: cols}
	elems := uint64(1)
	for _, d := range scales {
		elems *= d
	}
	flat := len(scales) == 1 || len(scales) > 0 && len(scales) <= n && scales[len(scales)-1] == 1
	switch {
	case elems == 1:
		s.rows, s.high = stack*rows, stack*rows
	case flat && elems == uint64(stack*rows):
		s.down, s.high = rows, 1
	case n > 2 && flat && elems == uint64(stack):
	case len(scales) == n && len(block) == 2:
		s.high, s.wide = int(min(block[0], 1<<30)), int(min(block[1], 1<<30))
		s.down, s.across = (rows+s.high-1)/s.high, (cols+s.wide-1)/s.wide
		want := append(slices.Clone(there[:n-2]), s.down, s.across)
		if !slices.EqualFunc(scales, want, func(a uint64, b int) bool { return a == uint64(b) }) {
			return nil, fmt.Errorf("has shape %v; %v in blocks of %v takes %v", scales, there, block, want)
		}
	default:
		return nil, fmt.Errorf("has shape %v for a weight of %v; one scale, one a matrix of a stack, one a row, or blocks of quantization_config.weight_block_size are known", scales, there)
	}
	return s, nil
}

// decode writes row r of a matrix of codes: each value times its block's scale,
// rounded once.
func (s *scale) decode(dst []float32, codes []byte, r int) {
	line := s.values[(r/s.rows*s.down+r%s.rows/s.high)*s.across:]
	for i, code := range codes {
		dst[i] = half.F8E4M3ToF32(code) * line[i/s.wide]
	}
}
