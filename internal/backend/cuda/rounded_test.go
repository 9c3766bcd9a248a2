package cuda

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// hardToRound are values that rounding may get wrong: ties, blocks of zeros, denormals,
// and what is no number or beyond all.
func hardToRound(s *stand, rows, cols int) []float32 {
	v := s.normal(rows*cols, 1)
	block := func(n int) []float32 { return v[n*32 : (n+1)*32] }
	clear(block(1))
	for i := range block(2) { // halves of the scale
		block(2)[i] = float32(i-16) + 0.5
	}
	block(2)[0] = 127
	for i := range block(3) {
		block(3)[i] = math.Float32frombits(uint32(i * 7))
	}
	block(4)[5] = float32(math.Inf(1))
	block(5)[9] = float32(math.NaN())
	for i := range block(6) {
		block(6)[i] *= 1e30
	}
	for i := range block(7) {
		block(7)[i] *= 1e-30
	}
	return v
}

// TestRounding holds rounded activations to internal/quant's bits: quants, scales and
// sums, read by the picture of their layout.
func TestRounding(t *testing.T) {
	const rows, cols = 11, 512
	for _, c := range []struct {
		format quant.Type
		kind   quant.ActKind
	}{{quant.Q8_0, quant.ActQ8x32}, {quant.Q4K, quant.ActQ8x256}, {quant.BF16, quant.ActBF16}} {
		t.Run(c.kind.String(), func(t *testing.T) {
			p := &prog.Program{Vocab: 10, Embd: 8, Context: 64,
				Bufs:    []prog.Buffer{{Name: "in", Width: cols}, {Name: "out", Width: 8}},
				Weights: []prog.Weight{{Tensor: "w", Rows: 8, Cols: cols}},
				Ops:     []prog.Op{prog.Linear{In: 0, Parts: []prog.LinearPart{{Out: 1, W: 0, Bias: prog.NoWeight}}}}}
			s, _ := newMatrixStand(t, 3, p, rows, map[prog.WeightID]quant.Type{0: c.format})
			in := hardToRound(s, rows, cols)
			s.write(s.rig.buf(0), in)
			s.run()
			x := s.op.(*linear).forms[0]
			bytes := func(at address, n int) []byte {
				data := make([]byte, n)
				s.must(s.machine.Read(uint64(at), data))
				return data
			}
			var act quant.Act
			for r := range rows {
				act.Set(c.kind, in[r*cols:(r+1)*cols])
				if c.kind == quant.ActBF16 {
					for i, want := range act.F {
						got := half.BF16ToF32(binary.LittleEndian.Uint16(bytes(x.x+address(2*(r*cols+i)), 2)))
						s.same("bf16", []float32{got}, []float32{want})
					}
					continue
				}
				for i, want := range act.Q {
					at := r*cols + i%32/16*(cols/2) + i/32*16 + i%16
					if got := int8(bytes(x.x+address(at), 1)[0]); got != want {
						t.Fatalf("row %d value %d: %v becomes %d, want %d", r, i, in[r*cols+i], got, want)
					}
				}
				for b, want := range act.D {
					at := (r/8*len(act.D)+b)*8 + r%8
					s.same("scale", s.read(x.d+address(4*at), 1), []float32{want})
				}
				for b := range len(act.Sums) / 2 {
					at := (r/8*(cols/32)+b)*8 + r%8
					got := int16(binary.LittleEndian.Uint16(bytes(x.s+address(2*at), 2)))
					if want := act.Sums[2*b] + act.Sums[2*b+1]; got != want {
						t.Fatalf("row %d block %d: the sum is %d, want %d", r, b, got, want)
					}
				}
			}
		})
	}
}

// TestSplit: both terms together are the value to 2^-21 of itself, or to the last place
// of f16 in the row's scale, which is a power of two.
func TestSplit(t *testing.T) {
	const rows, cols = 9, 100
	p := &prog.Program{Vocab: 10, Embd: 8, Context: 64,
		Bufs:    []prog.Buffer{{Name: "in", Width: cols}, {Name: "out", Width: 8}},
		Weights: []prog.Weight{{Tensor: "w", Rows: 8, Cols: cols}},
		Ops:     []prog.Op{prog.Linear{In: 0, Parts: []prog.LinearPart{{Out: 1, W: 0, Bias: prog.NoWeight}}}}}
	s, _ := newMatrixStand(t, 4, p, rows, map[prog.WeightID]quant.Type{0: quant.F16})
	in := s.normal(rows*cols, 1)
	for i := range cols {
		in[i] *= 1e-36
		in[cols+i] *= 1e35
		in[2*cols+i] = 0
	}
	s.write(s.rig.buf(0), in)
	s.run()
	x := formOf(s.op.(*linear).forms, multipliers[quant.F16], asPair, cols)
	data := func(at address, n int) []byte {
		b := make([]byte, n)
		s.must(s.machine.Read(uint64(at), b))
		return b
	}
	for r := range rows {
		scale := s.read(x.d+address(4*r), 1)[0]
		if f, _ := math.Frexp(float64(scale)); f != 0.5 {
			t.Fatalf("row %d: the scale %v is no power of two", r, scale)
		}
		high, low := data(x.x+address(2*r*x.padded), 2*x.padded), data(x.s+address(2*r*x.padded), 2*x.padded)
		for i := range x.padded {
			want := 0.
			if i < cols {
				want = float64(in[r*cols+i])
			}
			got := (float64(f16(high[2*i:])) + float64(f16(low[2*i:]))) * float64(scale)
			if math.Abs(got-want) > 0x1p-21*math.Abs(want)+0x1p-24*float64(scale) {
				t.Fatalf("row %d value %d: %v becomes %v", r, i, want, got)
			}
		}
	}
}
