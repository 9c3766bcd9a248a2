package cuda

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// hardRows are normal values but for every second block, of so many values, which is
// one that rounding may get wrong: of zeros, ties, denormals, with an infinity or a NaN,
// far up, far down.
func hardRows(s *stand, rows, cols, block int) []float32 {
	v := s.normal(rows*cols, 1)
	for n := range len(v) / block {
		b := v[n*block : (n+1)*block]
		for i := range b {
			switch n % 14 {
			case 1:
				b[i] = 0
			case 3:
				b[i] = float32(i%32-16) + 0.5
			case 5:
				b[i] = math.Float32frombits(uint32(i * 7))
			case 11:
				b[i] *= 1e30
			case 13:
				b[i] *= 1e-30
			}
		}
		switch n % 14 {
		case 3:
			b[0] = 127
		case 7:
			b[s.rng.IntN(block)] = float32(math.Inf(1 - n%4))
		case 9:
			b[s.rng.IntN(block)] = float32(math.NaN())
		}
	}
	return v
}

// fusedCase is an op whose rows, buffer 2 or in place 0, a product rounds.
type fusedCase struct {
	kernel  string // the first
	op      prog.Op
	inPlace bool
}

func fusedCases() []fusedCase {
	norm := func(kind prog.NormKind, add prog.BufID, bias prog.WeightID, out prog.BufID) fusedCase {
		kernel := map[prog.NormKind]string{prog.RMS: "norm_rms", prog.LayerNorm: "norm_layer"}[kind]
		return fusedCase{kernel, prog.Norm{In: 0, Add: add, Out: out, W: 1, Bias: bias, Norm: kind, Eps: 1e-5}, out == 0}
	}
	return []fusedCase{
		norm(prog.RMS, 1, prog.NoWeight, 2),
		norm(prog.RMS, prog.NoBuf, 2, 0),
		norm(prog.RMS, 1, 2, 0),
		norm(prog.LayerNorm, 1, 2, 0),
		norm(prog.LayerNorm, prog.NoBuf, prog.NoWeight, 2),
		{"gate_mul_4", prog.GateMul{Gate: 0, Up: 1, Out: 2, Act: prog.SiLU}, false},
		{"gate_mul_4", prog.GateMul{Gate: 0, Up: 1, Out: 0, Act: prog.GELU}, true},
		{"gate_mul_4", prog.Activate{In: 0, Out: 2, Act: prog.Tanh}, false},
	}
}

// TestFusedKernels holds each kernel that does what two do against the two: rows,
// residuals, all that the rounding writes, and the product come to the same bits.
func TestFusedKernels(t *testing.T) {
	const most = 11
	for _, form := range []struct {
		format quant.Type
		round  string
		block  int
		widths []int
	}{
		// A part of a warp's values, of a block's; more than 1,024 threads have at once.
		{quant.Q8_0, "round_q8x32", 32, []int{32, 96, 544, 4128}},
		{quant.Q4K, "round_q8x256", 256, []int{256, 768, 1280, 8448}},
	} {
		for wide, width := range form.widths {
			if testing.Short() && wide != 1 {
				continue
			}
			for i, c := range fusedCases() {
				t.Run(fmt.Sprintf("%s %v %d", form.format, c.op, width), func(t *testing.T) {
					kind := prog.RowKind(i % 2)
					if wide%2 == 1 {
						kind = 1 - kind
					}
					in := prog.BufID(2)
					if c.inPlace {
						in = 0
					}
					vector := prog.Weight{Tensor: "v", Kind: prog.Vector, Rows: 1, Cols: width}
					p := &prog.Program{Vocab: 10, Embd: 8, Context: 64,
						Weights: []prog.Weight{{Tensor: "w", Rows: 8, Cols: width}, vector, vector},
						Ops:     []prog.Op{prog.Linear{In: in, Parts: []prog.LinearPart{{Out: 3, W: 0, Bias: prog.NoWeight}}}}}
					for _, w := range []int{width, width, width, 8} {
						p.Bufs = append(p.Bufs, prog.Buffer{Name: "buffer", Width: w, Rows: kind})
					}
					s, _ := newMatrixStand(t, uint64(100*wide+i), p, most, map[prog.WeightID]quant.Type{0: form.format})
					first, err := compilers[c.op.Kind()](s.rig, c.op)
					s.must(err)
					s.write(s.rig.vector(1), hardRows(s, 1, width, form.block))
					compare(s, []op{first, s.op}, c, form.round, form.block, most)
				})
			}
		}
	}
}

// compare runs steps of 1 to most rows both ways.
func compare(s *stand, ops []op, c fusedCase, round string, block, most int) {
	s.Helper()
	width := s.rig.width(0)
	inputs := [][]float32{hardRows(s, most, width, block), s.normal(most*width, 2)}
	if c.kernel != "gate_mul_4" { // a norm spreads what is in a row over all of it
		inputs[0] = s.normal(most*width, 3)
		for i := range width {
			inputs[0][width+i], inputs[1][width+i] = 0, 0
		}
		inputs[0][2*width+3], inputs[0][4*width+5] = float32(math.Inf(-1)), float32(math.NaN())
	}
	for _, rows := range []int{1, 8, most} {
		tokens, logits := rows, max(rows-2, 1) // which of both counts is meant must be told apart
		if s.rig.ofLogits(0) == 1 {
			tokens, logits = most, rows
		}
		b := batchOf(s.rng, s.rig.limits, slices.Repeat([]stretch{{1, 1}}, tokens)...)
		b.Logits = b.Logits[:logits]
		s.step(b)
		for _, k := range []bucket{bucketOf(b, s.rig.limits), s.rig.most()} { // and blocks that have no row
			var memory [2][]byte
			var names [2][]string
			for i, unfused := range []bool{true, false} {
				for id, v := range inputs {
					s.write(s.rig.buf(prog.BufID(id)), v)
				}
				for _, id := range []prog.BufID{2, 3} {
					s.must(s.machine.Fill(uint64(s.rig.buf(id)), 0x5a, int64(4*most*s.rig.width(id))))
				}
				s.must(s.machine.Fill(uint64(s.rig.scratchAt), 0xff, s.rig.scratchMost))
				for _, l := range stepLaunches(ops, k, unfused) {
					names[i] = append(names[i], l.kernel)
					kernel, err := kernelOf(l.kernel)
					s.must(err)
					s.must(s.machine.Launch(kernel, l.grid, l.block, l.shared, l.args.data))
				}
				read := func(at address, n int64) {
					data := make([]byte, n)
					s.must(s.machine.Read(uint64(at), data))
					memory[i] = append(memory[i], data...)
				}
				for id := range prog.BufID(4) {
					read(s.rig.buf(id), int64(4*most*s.rig.width(id)))
				}
				read(s.rig.scratchAt, s.rig.scratchMost)
			}
			want := append([]string{fusions[[2]string{c.kernel, round}].kernel}, names[0][2:]...)
			if names[0][0] != c.kernel || names[0][1] != round || !slices.Equal(names[1], want) {
				s.Fatalf("the launches are %v, unfused %v", names[1], names[0])
			}
			if at := differs(memory[0], memory[1]); at >= 0 {
				s.Fatalf("%d rows of at most %d: byte %d is another in %s than in %v", rows, k.rows, at, want[0], names[0][:2])
			}
		}
	}
}

// differs is the first byte of a that is another in b, or -1.
func differs(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// TestFuse: two launches stay two where the second does not round what the first has
// made, whole and in order, or there is no kernel for both.
func TestFuse(t *testing.T) {
	pair := func() (launch, launch) {
		src := wholeRows(4096, 64, 8, 5)
		x := rounded{kind: as8x32, padded: 64, x: 1 << 16, d: 1 << 17}
		return launch{kernel: "norm_rms", grid: dims{5, 1, 1}, block: dims{32, 1, 1}, makes: src}, x.round(src, multipliers[quant.Q8_0])
	}
	first, second := pair()
	first.args.i32(7)
	first.args.wide = 1 << 40
	both, ok := fuse(first, second)
	if !ok || both.kernel != "norm_rms_q8x32" || both.grid != first.grid || both.block != first.block || len(both.args.offsets) != 3 || len(first.args.offsets) != 1 || both.args.wide != first.args.wide {
		t.Fatalf("%+v and %+v become %+v, %v", first, second, both, ok)
	}
	first.kernel = "gate_mul_4"
	if both, ok = fuse(first, second); !ok || both.kernel != "gate_mul_q8x32" || both.grid != second.grid || both.block != second.block {
		t.Fatalf("%+v and %+v become %+v, %v", first, second, both, ok)
	}
	for what, change := range map[string]func(first, second *launch){
		"another kernel":      func(a, b *launch) { a.kernel = "add_to_4" },
		"another rounding":    func(a, b *launch) { b.kernel = "round_bf16" },
		"no rounding":         func(a, b *launch) { b.rounds = rounding{} },
		"not said what":       func(a, b *launch) { a.makes = source{} },
		"neither said":        func(a, b *launch) { a.makes, b.rounds = source{}, rounding{} },
		"no address":          func(a, b *launch) { a.makes.at, b.rounds.src.at = 0, 0 },
		"other rows":          func(a, b *launch) { b.rounds.src.at += 256 },
		"rows apart":          func(a, b *launch) { b.rounds.src.stride = 128 },
		"parts of rows":       func(a, b *launch) { b.rounds.src.cols = 32 },
		"rows of logits":      func(a, b *launch) { b.rounds.src.count += 8 },
		"fewer rows":          func(a, b *launch) { b.rounds.src.most = 4 },
		"gathered":            func(a, b *launch) { b.rounds.src.from = 512 },
		"heads":               func(a, b *launch) { b.rounds.src.groups = 2 },
		"heads apart":         func(a, b *launch) { b.rounds.src.apart = 32 },
		"rows spread":         func(a, b *launch) { b.rounds.src.toRow = 2 },
		"values to fill up":   func(a, b *launch) { b.rounds.to.padded = 96 },
		"blocks are not full": func(a, b *launch) { a.makes.cols, b.rounds.src.cols, b.rounds.to.padded = 48, 48, 48 },
	} {
		a, b := pair()
		change(&a, &b)
		if both, ok := fuse(a, b); ok {
			t.Errorf("%s: two launches become %s", what, both.kernel)
		}
	}
}
