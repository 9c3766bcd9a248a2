package kern

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/quant"
)

// packedBoth packs random bytes as rows of a format, by its definition and by pack.
func packedBoth(t *testing.T, r *rand.Rand, f quant.Format, rows, cols int, pack func(m *Matrix, p int, src []byte)) {
	t.Helper()
	pf, _ := Lookup(f.Type)
	row, err := f.RowBytes(cols)
	if err != nil {
		t.Fatal(err)
	}
	src := make([]byte, rows*row)
	anyBytes(r, nil, src)
	size := Panels(rows) * pf.PanelBytes(cols)
	const guard = 64
	data := make([]byte, size+guard)
	for i := range guard {
		data[size+i] = 0xa5
	}
	want, got := NewMatrix(pf, rows, cols, make([]byte, size)), NewMatrix(pf, rows, cols, data[:size:size])
	for p := range want.Panels() {
		part := src[p*Lanes*row : min((p+1)*Lanes, rows)*row]
		part = part[:len(part):len(part)]
		want.Pack(p, part)
		pack(got, p, part)
	}
	if !bytes.Equal(got.Data, want.Data) {
		for i := range want.Data {
			if got.Data[i] != want.Data[i] {
				t.Fatalf("%s, %d × %d: byte %d is %#02x, the definition has %#02x", f.Name, rows, cols, i, got.Data[i], want.Data[i])
			}
		}
	}
	for i, b := range data[size:] {
		if b != 0xa5 {
			t.Fatalf("%s, %d × %d: byte %d behind the panels was written", f.Name, rows, cols, i)
		}
	}
}

// TestPack: every level packs the bytes of the definition, whole panels and cut
// ones, with rows that are no whole units too, and nothing beyond them.
func TestPack(t *testing.T) {
	eachLevel(t, func(t *testing.T, k *Kernels) {
		r := rand.New(rand.NewPCG(3, 5))
		for _, f := range quant.Formats() {
			for _, rows := range []int{1, 15, 16, 17, 33, 48} {
				for _, blocks := range []int{1, 2, 3, 9} {
					packedBoth(t, r, f, rows, blocks*f.BlockElems, k.Pack)
				}
			}
			if f.BlockElems == 1 {
				for cols := 1; cols < 70; cols++ {
					packedBoth(t, r, f, 33, cols, k.Pack)
				}
			}
		}
	})
}

// TestPackInGo: the primitives in Go, which levels without their own use.
func TestPackInGo(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for _, f := range quant.Formats() {
		pack := packers[f.Type]
		if pack == nil {
			continue
		}
		packedBoth(t, r, f, 2*Lanes, 6*f.BlockElems, func(m *Matrix, p int, src []byte) {
			pack(&goPacking, m.panel(p), src, len(src)/Lanes)
		})
	}
}

// FuzzPack: any bytes, any shape.
func FuzzPack(f *testing.F) {
	for i := range len(formats) {
		f.Add(uint64(i), uint8(i), uint8(16), uint8(2))
	}
	f.Fuzz(func(t *testing.T, seed uint64, format, rows, blocks uint8) {
		all := quant.Formats()
		q := all[int(format)%len(all)]
		for _, l := range Supported() {
			r := rand.New(rand.NewPCG(seed, 1))
			packedBoth(t, r, q, 1+int(rows)%50, (1+int(blocks)%12)*q.BlockElems, New(l).Pack)
		}
	})
}
