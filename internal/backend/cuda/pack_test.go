package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/quant"
)

// unpacked reads value c of row r of a packed matrix of so many columns: written from
// the picture of the layout alone, value by value, with none of pack.go's helpers.
var unpacked = map[quant.Type]func(data []byte, r, c, cols int) float32{
	quant.F32: func(data []byte, r, c, cols int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(data[r*((cols+3)/4*16)+4*c:]))
	},
	quant.F16: func(data []byte, r, c, cols int) float32 {
		return half.F16ToF32(binary.LittleEndian.Uint16(data[r*((cols+7)/8*16)+2*c:]))
	},
	quant.BF16: func(data []byte, r, c, cols int) float32 {
		return half.BF16ToF32(binary.LittleEndian.Uint16(data[r*((cols+7)/8*16)+2*c:]))
	},
	quant.Q8_0: func(data []byte, r, c, cols int) float32 {
		nb := cols / 32
		p := data[r/8*(nb*272):]
		q := int8(p[r%8*nb*32+c%32/16*nb*16+c/32*16+c%16])
		return float32(q) * f16(p[256*nb+c/32*16+r%8*2:])
	},
	quant.Q4_0: func(data []byte, r, c, cols int) float32 {
		nb := cols / 32
		p := data[r/8*(nb*144):]
		q := int8(p[r%8*nb*16+c/32*16+c%16]>>(c%32/16*4)<<4) >> 4
		return float32(q) * f16(p[128*nb+c/32*16+r%8*2:])
	},
	quant.Q4K: func(data []byte, r, c, cols int) float32 {
		nb := cols / 32
		p := data[r/8*(nb*148):]
		q := p[r%8*nb*16+c/32*16+c%16] >> (c % 32 / 16 * 4) & 15
		s := p[128*nb+c/32*16+r%8*2:]
		d := p[144*nb+c/256*32+r%8*4:]
		step, base := f16(d)*float32(s[0]), f16(d[2:])*float32(s[1])
		return float32(step*float32(q)) - base
	},
	quant.Q6K: func(data []byte, r, c, cols int) float32 {
		nb := cols / 32
		p := data[r/8*(nb*210):]
		low := p[r%8*nb*16+c/32*16+c%16] >> (c % 32 / 16 * 4) & 15
		high := p[128*nb+r%8*nb*8+c/32*8+c%32/16*4+c%4] >> (c % 16 / 4 * 2) & 3
		q := int8((low|high<<4)<<2) >> 2
		s := int8(p[192*nb+c/32*16+r%8*2+c%32/16])
		d := f16(p[208*nb+c/256*16+r%8*2:])
		return float32(d*float32(s)) * float32(q)
	},
}

func f16(b []byte) float32 { return half.F16ToF32(binary.LittleEndian.Uint16(b)) }

// randomRows are rows of a file in a format, of any bytes but scales that are no
// numbers.
func randomRows(rnd *rand.Rand, f quant.Format, rows, cols int) []byte {
	values := make([]float32, rows*cols)
	for i := range values {
		values[i] = float32(rnd.NormFloat64()) * float32(math.Exp(rnd.NormFloat64()/2))
	}
	data := make([]byte, rows*cols/f.BlockElems*f.BlockBytes)
	f.Encode(data, values)
	return data
}

// packed is a matrix as it lies on the device.
func packed(t testing.TB, f quant.Format, data []byte, rows, cols int) []byte {
	t.Helper()
	p, ok := packings[f.Type]
	if !ok {
		t.Fatalf("no packing of %s", f.Name)
	}
	sizes := p.planes(cols)
	if len(sizes) != 1 || sizes[0]%16 != 0 {
		t.Fatalf("%s: planes of %v bytes", f.Name, sizes)
	}
	dst := make([]byte, (rows+p.group-1)/p.group*int(sizes[0]))
	p.pack([][]byte{dst}, data, rows, cols)
	return dst
}

// TestPackings: what is packed, read by the layout's picture, is what the file says,
// and the rows that pad a panel are zeros.
func TestPackings(t *testing.T) {
	if len(unpacked) != len(packings) {
		t.Errorf("%d formats are packed, %d read", len(packings), len(unpacked))
	}
	for typ, read := range unpacked {
		f, _ := quant.Lookup(typ)
		for _, shape := range [][2]int{{1, 1}, {8, 2}, {11, 3}, {24, 5}} {
			rows, cols := shape[0], shape[1]*f.BlockElems
			t.Run(fmt.Sprintf("%s/%dx%d", f.Name, rows, cols), func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(uint64(typ), uint64(rows)))
				data := randomRows(rnd, f, rows, cols)
				got := packed(t, f, data, rows, cols)
				want := make([]float32, rows*cols)
				f.Decode(want, data)
				for r := range rows {
					for c := range cols {
						if v := read(got, r, c, cols); math.Float32bits(v) != math.Float32bits(want[r*cols+c]) {
							t.Fatalf("row %d column %d is %v, want %v", r, c, v, want[r*cols+c])
						}
					}
				}
				for r := rows; r < (rows+7)/8*8; r++ {
					for c := range cols {
						if v := read(got, r, c, cols); v != 0 {
							t.Fatalf("padding row %d column %d is %v", r, c, v)
						}
					}
				}
			})
		}
	}
}

// TestPackInPieces: groups packed by themselves, as the loader does, are those of the
// whole.
func TestPackInPieces(t *testing.T) {
	f, _ := quant.Lookup(quant.Q6K)
	rows, cols := 21, 512
	data := randomRows(rand.New(rand.NewPCG(1, 2)), f, rows, cols)
	whole := packed(t, f, data, rows, cols)
	var pieces []byte
	row := len(data) / rows
	for at := 0; at < rows; at += 8 {
		n := min(8, rows-at)
		pieces = append(pieces, packed(t, f, data[at*row:(at+n)*row], n, cols)...)
	}
	if string(pieces) != string(whole) {
		t.Error("panels packed alone differ from those of the whole")
	}
}
