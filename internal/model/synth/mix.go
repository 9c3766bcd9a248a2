package synth

import (
	"fmt"
	"strings"

	"github.com/paddock-go/paddock/internal/quant"
)

// mix is a file type as llama-quantize knows it: which format each tensor
// takes.
type mix struct {
	name     string
	fileType uint32 // general.file_type
	base     quant.Type
	output   quant.Type // of the output matrix, or of the embedding that is it
	more     quant.Type // of value and down matrices of some layers
	expert   quant.Type // of experts
}

var mixes = []mix{
	{"F32", 0, quant.F32, quant.F32, quant.F32, quant.F32},
	{"F16", 1, quant.F16, quant.F16, quant.F16, quant.F16},
	{"Q4_0", 2, quant.Q4_0, quant.Q6K, quant.Q4_0, quant.Q4_0},
	{"Q4_1", 3, quant.Q4_1, quant.Q6K, quant.Q4_1, quant.Q4_1},
	{"Q5_0", 8, quant.Q5_0, quant.Q6K, quant.Q5_0, quant.Q5_0},
	{"Q5_1", 9, quant.Q5_1, quant.Q6K, quant.Q5_1, quant.Q5_1},
	{"Q8_0", 7, quant.Q8_0, quant.Q8_0, quant.Q8_0, quant.Q8_0},
	{"Q4_K_M", 15, quant.Q4K, quant.Q6K, quant.Q6K, quant.Q4K},
	{"Q5_K_M", 17, quant.Q5K, quant.Q6K, quant.Q6K, quant.Q5K},
	{"Q6_K", 18, quant.Q6K, quant.Q6K, quant.Q6K, quant.Q6K},
	{"MXFP4_MOE", 38, quant.Q8_0, quant.Q8_0, quant.Q8_0, quant.MXFP4},
	{"BF16", 32, quant.BF16, quant.BF16, quant.BF16, quant.BF16},
}

// fallbacks are formats of shorter blocks, down to one without.
var fallbacks = map[quant.Type]quant.Type{
	quant.Q4K: quant.Q5_0, quant.Q5K: quant.Q5_1, quant.Q6K: quant.Q8_0,
	quant.Q4_0: quant.F16, quant.Q4_1: quant.F16, quant.Q5_0: quant.F16, quant.Q5_1: quant.F16, quant.Q8_0: quant.F16, quant.IQ4NL: quant.F16,
}

// Types returns the names of the file types. Safe for concurrent use.
func Types() []string {
	var names []string
	for _, m := range mixes {
		names = append(names, m.name)
	}
	return names
}

func findMix(name string) (mix, error) {
	for _, m := range mixes {
		if strings.EqualFold(m.name, name) {
			return m, nil
		}
	}
	return mix{}, fmt.Errorf("synth: no type %q; there are %s", name, strings.Join(Types(), ", "))
}

// format is that of a tensor in a layer of so many.
func (m mix) format(t tensor, layer, layers int) (quant.Format, error) {
	kind := m.base
	switch t.part {
	case vector, router:
		kind = quant.F32
	case expert:
		kind = m.expert
	case output:
		kind = m.output
	case attnV, ffnDown:
		if moreBits(layer, layers) {
			kind = m.more
		}
	}
	// llama-quantize falls back where rows are not whole blocks.
	for {
		f, _ := quant.Lookup(kind)
		next, ok := fallbacks[kind]
		switch {
		case t.cols%f.BlockElems == 0:
			return f, nil
		case !ok:
			return f, fmt.Errorf("synth: %s can't be %s: rows of %d values are not blocks of %d", t.name, f.Name, t.cols, f.BlockElems)
		}
		kind = next
	}
}

// moreBits picks the layers that a mix gives more bits: the first and last
// eighth and every third between.
func moreBits(layer, layers int) bool {
	return layer < layers/8 || layer >= 7*layers/8 || (layer-layers/8)%3 == 2
}
