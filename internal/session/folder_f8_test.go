package session_test

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/hf"
	"github.com/paddock-go/paddock/internal/quant"
)

// f8Matrix is 300×200 codes, each of the 256 many times, with scales in blocks of
// 128×128: three rows of blocks and two columns, both cut by the edges.
func f8Matrix(seed int) (codes theirs, scales theirs, scaleAt func(i int) float32) {
	const rows, cols = 300, 200
	codes = theirs{"F8_E4M3", []uint64{rows, cols}, make([]byte, rows*cols)}
	for i := range codes.data {
		codes.data[i] = byte(i*(2*seed+1) + i/256)
	}
	values := make([]float32, 3*2)
	for i := range values {
		values[i] = 0.003 * float32(i*i+seed+1)
	}
	_, b := encoded(quant.F32)("", values)
	return codes, theirs{"F32", []uint64{3, 2}, b}, func(i int) float32 { return values[i/cols/128*2+i%cols/128] }
}

// f8Value is what a code stands for, by its bits: a sign, 4 bits of exponent, 3 of
// fraction; all seven set is no number, and there is no infinity.
func f8Value(code byte) float64 {
	exp, frac := int(code>>3&15), float64(code&7)
	v := math.Ldexp(8+frac, exp-10)
	switch {
	case code&0x7f == 0x7f:
		return math.NaN()
	case exp == 0:
		v = math.Ldexp(frac, -9)
	}
	if code >= 0x80 {
		return -v
	}
	return v
}

// TestFolderF8Codes: what is read of a matrix, and of each expert of a stack, is code
// times scale, rounded once, for every one of the 256 codes; no number stays none, and
// is refused where a block of Q8_0 would spread it.
func TestFolderF8Codes(t *testing.T) {
	f, _, _ := openGolden(t, "deepseek2")
	tensors, config := deepSeek(newRefolder(t, f), "DeepseekV3ForCausalLM")
	config["quantization_config"] = map[string]any{"quant_method": "fp8", "weight_block_size": []int{128, 128}}
	const down, up = "model.layers.0.mlp.down_proj.weight", "model.layers.1.mlp.experts.%d.up_proj.weight"
	names := []string{down}
	for e := range 4 {
		names = append(names, fmt.Sprintf(up, e))
	}
	for seed, name := range names {
		tensors[name], tensors[name+"_scale_inv"], _ = f8Matrix(seed)
	}
	dir := writeFolder(t, tensors, config, 2)
	m, err := hf.Open(dir, hf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.File.Close()
	read := func(name string) (values []float32) {
		x, ok := m.File.Tensor(name)
		if !ok || quant.Type(x.Type) != quant.F32 {
			t.Fatalf("%s is not there as F32", name)
		}
		values = make([]float32, x.Elems())
		format, _ := quant.Lookup(quant.F32)
		if err := m.File.ReadTensor(x, func(data []byte) error {
			format.Decode(values, data)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return values
	}
	got := append(read("blk.0.ffn_down.weight"), read("blk.1.ffn_up_exps.weight")...)
	if len(got) != 5*300*200 {
		t.Fatalf("%d values", len(got))
	}
	for seed := range names {
		codes, _, scaleAt := f8Matrix(seed)
		var seen [256]bool
		for i, code := range codes.data {
			seen[code] = true
			want := float32(float64(float32(f8Value(code))) * float64(scaleAt(i))) // 4 and 24 bits: exact in a float64
			v := got[seed*300*200+i]
			if math.IsNaN(float64(want)) != math.IsNaN(float64(v)) || want == want && math.Float32bits(v) != math.Float32bits(want) {
				t.Fatalf("matrix %d, value %d: code %#x comes to %v, want %v", seed, i, code, v, want)
			}
		}
		if seen != [256]bool(boolsOf(256)) {
			t.Fatalf("matrix %d lacks codes", seed)
		}
	}

	q, err := hf.Open(dir, hf.Options{Q8_0: true})
	if err != nil {
		t.Fatal(err)
	}
	defer q.File.Close()
	// Rows of 200 are no multiple of 32, so a matrix of 32 columns is spoilt.
	x, _ := q.File.Tensor("blk.0.ffn_down.weight")
	if quant.Type(x.Type) != quant.F32 {
		t.Errorf("200 columns became %v", quant.Type(x.Type))
	}
	const spoilt = "model.layers.1.mlp.experts.0.gate_proj.weight"
	tensors[spoilt] = theirs{"F8_E4M3", tensors[spoilt].shape, make([]byte, 32*64)}
	tensors[spoilt].data[777] = 0xff
	_, b := encoded(quant.F32)("", []float32{1})
	tensors[spoilt+"_scale_inv"] = theirs{"F32", []uint64{1, 1}, b}
	for e := 1; e < 4; e++ { // all of a stack have one type
		name := strings.Replace(spoilt, "experts.0", fmt.Sprint("experts.", e), 1)
		tensors[name] = theirs{"F8_E4M3", tensors[name].shape, make([]byte, 32*64)}
		tensors[name+"_scale_inv"] = tensors[spoilt+"_scale_inv"]
	}
	s, err := hf.Open(writeFolder(t, tensors, config, 1), hf.Options{Q8_0: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.File.Close()
	x, _ = s.File.Tensor("blk.1.ffn_gate_exps.weight")
	err = s.File.ReadTensor(x, func([]byte) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "NaN") || !strings.Contains(err.Error(), "ffn_gate_exps") {
		t.Errorf("no number as Q8_0: %v", err)
	}
}

// TestFolderF8Stacks: all experts of a kind in one FP8 tensor are their products in F32,
// with scales of every kind; a matrix' blocks end with it.
func TestFolderF8Stacks(t *testing.T) {
	f, _, tokens := openGolden(t, "granitemoe")
	for kind, scales := range map[string]func(rows, cols int) (shape []uint64, at func(e, r, c int) int){
		"one": func(int, int) ([]uint64, func(e, r, c int) int) {
			return []uint64{}, func(int, int, int) int { return 0 }
		},
		"matrices": func(int, int) ([]uint64, func(e, r, c int) int) {
			return []uint64{8, 1, 1}, func(e, _, _ int) int { return e }
		},
		"rows": func(rows, _ int) ([]uint64, func(e, r, c int) int) {
			return []uint64{8, uint64(rows), 1}, func(e, r, _ int) int { return e*rows + r }
		},
		"blocks": func(rows, cols int) ([]uint64, func(e, r, c int) int) {
			down, across := (rows+23)/24, (cols+39)/40
			return []uint64{8, uint64(down), uint64(across)}, func(e, r, c int) int { return (e*down+r/24)*across + c/40 }
		},
	} {
		tensors, config := graniteMoE(newRefolder(t, f), "GraniteMoeSharedForCausalLM")
		config["quantization_config"] = map[string]any{"quant_method": "fp8", "weight_block_size": []int{24, 40}}
		plain, coded := maps.Clone(tensors), maps.Clone(tensors)
		for name, x := range tensors {
			if len(x.shape) != 3 {
				continue
			}
			rows, cols := int(x.shape[1]), int(x.shape[2])
			shape, at := scales(rows, cols)
			factors := make([]float32, product(shape))
			for i := range factors {
				factors[i] = 0.0003 + 0.00009*float32(i%7)
			}
			codes, values := make([]byte, 8*rows*cols), make([]float32, 8*rows*cols)
			for i := range codes {
				if codes[i] = byte(i*41 + i/256); codes[i]&0x7f == 0x7f {
					codes[i] = 1
				}
				values[i] = float32(f8Value(codes[i])) * factors[at(i/cols/rows, i/cols%rows, i%cols)]
			}
			_, b := encoded(quant.F32)("", factors)
			coded[name], coded[name+"_scale"] = theirs{"F8_E4M3", x.shape, codes}, theirs{"F32", shape, b}
			_, b = encoded(quant.F32)("", values)
			plain[name] = theirs{"F32", x.shape, b}
		}
		sameBits(t, kind, logits(t, writeFolder(t, coded, config, 2), tokens), logits(t, writeFolder(t, plain, config, 1), tokens))
	}
}

func product(shape []uint64) uint64 {
	n := uint64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

func boolsOf(n int) []bool {
	all := make([]bool, n)
	for i := range all {
		all[i] = true
	}
	return all
}
