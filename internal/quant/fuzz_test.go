package quant

import (
	"math"
	"math/big"
	"testing"
)

// FuzzFormats gives every format blocks of any bytes. Nothing panics, and a
// value is finite unless a float scale of its block is not, or the product of
// scale and levels is beyond float32, which only mxfp4's largest scale brings
// about; the dot is the definition's.
func FuzzFormats(f *testing.F) {
	for i := range len(table) {
		f.Add(byte(i), []byte{0})
		f.Add(byte(i), []byte{0xff})
		f.Add(byte(i), []byte{0x80, 0x7f, 1, 2, 3, 0x3c, 0x55, 0xaa, 0xf0})
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		format := &table[int(which)%len(table)]
		if len(data) == 0 {
			return
		}
		// Whole rows of 256 values, whatever the block.
		row := make([]byte, 256/format.BlockElems*format.BlockBytes)
		for i := range row {
			row[i] = data[i%len(data)]
		}
		values := make([]float32, 256)
		format.Decode(values, row)
		x := make([]float32, 256)
		for i := range x {
			x[i] = float32(int8(data[(7*i+3)%len(data)]))
		}
		var act Act
		act.Set(format.Act, x)
		dot := format.Dot(row, &act)
		if format.Layout == nil {
			return
		}
		checkValues(t, format, row, values)
		for _, v := range values {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return
			}
		}
		if want := layoutExact(format, row, &act); math.Float32bits(dot) != math.Float32bits(want) {
			t.Fatalf("%s: dot %v, by the definition %v", format.Name, dot, want)
		}
	})
}

// checkValues holds decoded values against exact products of what Take says.
func checkValues(t *testing.T, f *Format, row []byte, values []float32) {
	t.Helper()
	finite := func(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
	for i, v := range values {
		b, at := i/f.BlockElems, i%f.BlockElems
		blk := f.Layout.Take(row[b*f.BlockBytes : (b+1)*f.BlockBytes])
		d, m := blk.D[at/f.Layout.Run], float32(0)
		if f.Layout.Minima {
			m = blk.M[at/f.Layout.Run]
		}
		if !finite(d) || !finite(m) {
			continue
		}
		part := func(scale float32, n int64) *big.Float {
			p := big32(scale)
			return p.Mul(p, new(big.Float).SetInt64(n))
		}
		product := part(d, int64(blk.Scale[at/16])*int64(blk.Q[at]))
		least := part(m, int64(blk.Least[at/16]))
		size := new(big.Float).Add(new(big.Float).Abs(product), new(big.Float).Abs(least))
		want, _ := product.Add(product, least).Float64()
		gate, _ := size.Float64()
		if !finite(v) && gate < math.MaxFloat32 || finite(v) && math.Abs(float64(v)-want) > 1.2e-7*gate*2+1e-45 {
			t.Fatalf("%s: value %d is %v, want %v", f.Name, i, v, want)
		}
	}
}
