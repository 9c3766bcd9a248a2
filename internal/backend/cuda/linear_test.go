package cuda

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptxsim"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// fileWeight is a weight as a file has it.
type fileWeight struct {
	format quant.Format
	data   []byte
	vector []float32
}

// row is row r of a matrix of so many columns, of a stack's all matrices.
func (w fileWeight) row(r, cols int) []byte {
	n := cols / w.format.BlockElems * w.format.BlockBytes
	return w.data[r*n : (r+1)*n]
}

// newMatrixStand is newStand with matrices, in formats by weight, of random values. The
// op's scratch is full of NaN: what it holds from another op must not matter.
func newMatrixStand(t *testing.T, seed uint64, p *prog.Program, rows int, formats map[prog.WeightID]quant.Type) (*stand, []fileWeight) {
	t.Helper()
	s := &stand{T: t, machine: ptxsim.NewMachine(ptxsim.Options{Seed: seed}), rng: rand.New(rand.NewPCG(seed, 11))}
	weights, files := make([]deviceWeight, len(p.Weights)), make([]fileWeight, len(p.Weights))
	for i, w := range p.Weights {
		stack := max(w.Stack, 1)
		if w.Kind == prog.Vector {
			files[i].vector = s.normal(stack*w.Cols, 1)
			weights[i].vector = s.alloc(4 * int64(stack*w.Cols))
			s.write(weights[i].vector, files[i].vector)
			continue
		}
		f, _ := quant.Lookup(formats[prog.WeightID(i)])
		files[i] = fileWeight{format: f, data: randomRows(s.rng, f, stack*w.Rows, w.Cols)}
		m, err := newMatrix(w, f.Type)
		s.must(err)
		m.planes[0] = s.alloc(int64(stack) * m.strides[0])
		for k := range stack {
			n := len(files[i].data) / stack
			data := packed(t, f, files[i].data[k*n:(k+1)*n], w.Rows, w.Cols)
			s.must(s.machine.Write(uint64(m.planes[0])+uint64(int64(k)*m.strides[0]), data))
		}
		weights[i].matrix = m
	}
	parts := make([]stretch, rows)
	for i := range parts {
		parts[i] = stretch{1, 1}
	}
	l := roomFor(16, backend.KVF16, parts...)
	s.place(p, l, weights)
	if s.rig.scratchMost > 0 {
		s.must(s.machine.Fill(uint64(s.rig.scratchAt), 0xff, s.rig.scratchMost))
	}
	s.step(batchOf(s.rng, l, parts...))
	return s, files
}

// products are those of rows of in with a matrix by the definition of its format.
func products(w fileWeight, first, n int, in []float32, cols int) []float64 {
	var act quant.Act
	var out []float64
	for at := 0; at < len(in); at += cols {
		act.Set(w.format.Act, in[at:at+cols])
		for i := range n {
			out = append(out, float64(w.format.Dot(w.row(first+i, cols), &act)))
		}
	}
	return out
}

// matmulFormats are those of the packings, by name.
func matmulFormats() []quant.Format {
	var list []quant.Format
	for _, f := range quant.Formats() {
		if _, ok := packings[f.Type]; ok {
			list = append(list, f)
		}
	}
	return list
}

// shape is a product's: blocks of columns, outputs, rows.
type productShape struct{ blocks, outs, rows int }

// TestLinearKernels holds each format's kernels of each family, alone, against the
// format's own dot product: rows that fill no tile, outputs that fill no panel, columns
// that fill no stage of K, or more stages than there are slots.
func TestLinearKernels(t *testing.T) {
	shapes := []productShape{{1, 5, 1}, {3, 20, 2}, {1, 9, 3}, {2, 17, 7}, {1, 33, 10}, {2, 70, 17}, {3, 20, 40}, {5, 130, 65}}
	if testing.Short() {
		shapes = []productShape{{1, 5, 1}, {1, 9, 3}, {1, 33, 10}}
	}
	for i, f := range matmulFormats() {
		for k, sh := range shapes {
			if f.BlockElems < 256 {
				sh.blocks = sh.blocks*5 - 2 // 3, 8 or 13 blocks
			}
			if f.BlockElems == 1 {
				sh.blocks *= 12 // 36, 96 or 156 values
			}
			t.Run(fmt.Sprintf("%s/%dx%dx%d", f.Name, sh.rows, sh.outs, sh.blocks*f.BlockElems), func(t *testing.T) {
				cols := sh.blocks * f.BlockElems
				p := &prog.Program{Vocab: 10, Embd: 8, Context: 64,
					Bufs:    []prog.Buffer{{Name: "in", Width: cols}, {Name: "out", Width: sh.outs}},
					Weights: []prog.Weight{{Tensor: "w", Rows: sh.outs, Cols: cols}, {Tensor: "b", Kind: prog.Vector, Rows: 1, Cols: sh.outs}},
					Ops:     []prog.Op{prog.Linear{In: 0, Parts: []prog.LinearPart{{Out: 1, W: 0, Bias: 1}}}}}
				s, files := newMatrixStand(t, uint64(100*i+k), p, sh.rows, map[prog.WeightID]quant.Type{0: f.Type})
				in := s.fill(0, 1)
				s.run()
				want := products(files[0], 0, sh.outs, in, cols)
				for i := range want {
					want[i] += float64(files[1].vector[i%sh.outs])
				}
				s.near(kernelNames(s), s.values(1), want, sh.outs, 1e-5)
			})
		}
	}
}

// kernelNames are those of the step's launches.
func kernelNames(s *stand) string {
	var names []string
	for _, l := range s.op.launches(bucketOf(s.batch, s.rig.limits)) {
		names = append(names, l.kernel)
	}
	return strings.Join(names, ", ")
}
