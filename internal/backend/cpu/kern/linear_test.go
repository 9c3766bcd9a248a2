package kern

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/quant"
)

// eachLevel runs f for the kernels of every level this machine has.
func eachLevel(t *testing.T, f func(t *testing.T, k *Kernels)) {
	for _, l := range Supported() {
		t.Run(l.String(), func(t *testing.T) { f(t, New(l)) })
	}
}

// formatsNow is every format, or with -short every fourth: the race detector and
// builds without assembly need no more of what is long.
func formatsNow() []quant.Format {
	var some []quant.Format
	for i, f := range quant.Formats() {
		if !testing.Short() || i%4 == 0 {
			some = append(some, f)
		}
	}
	return some
}

// sameBits tells whether a and b are one value to the bit; all NaN are one.
func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// wantBits fails at the first value of got that is not want's.
func wantBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !sameBits(got[i], want[i]) {
			t.Fatalf("%s: value %d is %v (%08x), want %v (%08x)", what, i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

// A filler makes weights (file bytes) and activations of some character.
type filler struct {
	name    string
	weights func(r *rand.Rand, f *quant.Format, row []byte)
	acts    func(r *rand.Rand, x []float32)
}

func encodeNormal(scale float64) func(*rand.Rand, *quant.Format, []byte) {
	return func(r *rand.Rand, f *quant.Format, row []byte) {
		v := make([]float32, len(row)/f.BlockBytes*f.BlockElems)
		for i := range v {
			v[i] = float32(r.NormFloat64() * scale)
		}
		f.Encode(row, v)
	}
}

func normalActs(scale float64) func(*rand.Rand, []float32) {
	return func(r *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(r.NormFloat64() * scale)
		}
	}
}

// anyBytes are weights no encoder makes: all codes, −128 among them, and scales
// that are subnormal, infinite or NaN.
func anyBytes(r *rand.Rand, _ *quant.Format, row []byte) {
	for i := range row {
		row[i] = byte(r.Uint32())
	}
}

func fillBytes(b byte) func(*rand.Rand, *quant.Format, []byte) {
	return func(_ *rand.Rand, _ *quant.Format, row []byte) {
		for i := range row {
			row[i] = b
		}
	}
}

func anyFloats(r *rand.Rand, x []float32) {
	for i := range x {
		x[i] = math.Float32frombits(r.Uint32())
	}
}

var fillers = []filler{
	{"normal", encodeNormal(0.1), normalActs(1)},
	{"tiny", encodeNormal(1e-7), normalActs(1e-35)},
	{"huge", encodeNormal(1e3), normalActs(1e6)},
	{"subnormal", encodeNormal(1e-39), normalActs(1)},
	{"zero weights", fillBytes(0), normalActs(1)},
	{"zero acts", encodeNormal(1), func(_ *rand.Rand, x []float32) { clear(x) }},
	{"most negative", fillBytes(0x80), func(_ *rand.Rand, x []float32) {
		for i := range x {
			x[i] = 1
		}
	}},
	{"most positive", fillBytes(0x7f), func(_ *rand.Rand, x []float32) {
		for i := range x {
			x[i] = -1 + 2*float32(i%2)
		}
	}},
	{"all ones", fillBytes(0x3b), func(_ *rand.Rand, x []float32) {
		for i := range x {
			x[i] = 1
		}
	}},
	{"any bytes", anyBytes, normalActs(1)},
	{"any of both", anyBytes, anyFloats},
	{"one NaN", encodeNormal(1), func(r *rand.Rand, x []float32) {
		normalActs(1)(r, x)
		x[r.IntN(len(x))] = float32(math.NaN())
	}},
}

// product is a matrix and activations in file terms, and their product by
// quant's reference.
type product struct {
	f          quant.Format
	rows, cols int
	raw        []byte    // weights, rows in order
	x          []float32 // n × cols
	n          int
	want       []float32 // n × rows
}

func newProduct(r *rand.Rand, f quant.Format, fill filler, rows, cols, n int) *product {
	rowBytes, err := f.RowBytes(cols)
	if err != nil {
		panic(err)
	}
	p := &product{f: f, rows: rows, cols: cols, n: n}
	p.raw, p.x, p.want = make([]byte, rows*rowBytes), make([]float32, n*cols), make([]float32, n*rows)
	for o := range rows {
		fill.weights(r, &f, p.raw[o*rowBytes:(o+1)*rowBytes])
	}
	fill.acts(r, p.x)
	p.reference()
	return p
}

func (p *product) reference() {
	var act quant.Act
	rowBytes := len(p.raw) / p.rows
	for i := range p.n {
		act.Set(p.f.Act, p.x[i*p.cols:(i+1)*p.cols])
		for o := range p.rows {
			p.want[i*p.rows+o] = p.f.Dot(p.raw[o*rowBytes:(o+1)*rowBytes], &act)
		}
	}
}

// matrix packs the weights.
func (p *product) matrix() *Matrix {
	f, ok := Lookup(p.f.Type)
	if !ok {
		panic("no panels for " + p.f.Name)
	}
	m := NewMatrix(f, p.rows, p.cols, make([]byte, Panels(p.rows)*f.PanelBytes(p.cols)))
	rowBytes := len(p.raw) / p.rows
	for i := range m.Panels() {
		m.Pack(i, p.raw[i*Lanes*rowBytes:min((i+1)*Lanes, p.rows)*rowBytes])
	}
	return m
}

// check computes the product with k and compares it with the reference.
func (p *product) check(t *testing.T, k *Kernels, what string) {
	t.Helper()
	m := p.matrix()
	a := NewActs(p.f.Act, p.n, p.cols)
	for i := range p.n {
		k.Round(a, i, p.x[i*p.cols:(i+1)*p.cols])
	}
	const pad = 3 // columns between rows that must stay untouched
	stride := p.rows + pad
	out := make([]float32, p.n*stride)
	for i := range out {
		out[i] = 12345
	}
	var sc LinearScratch
	k.Linear(&sc, m, a, 0, p.n, 0, m.Panels(), out, stride)
	for i := range p.n {
		row := out[i*stride : (i+1)*stride]
		wantBits(t, fmt.Sprintf("%s, row %d", what, i), row[:p.rows], p.want[i*p.rows:(i+1)*p.rows])
		for _, v := range row[p.rows:] {
			if v != 12345 {
				t.Fatalf("%s: row %d wrote beyond its outputs", what, i)
			}
		}
	}
}

func TestLinearAgainstQuant(t *testing.T) {
	for _, f := range formatsNow() {
		t.Run(f.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(f.Type), 7))
			for _, fill := range fillers {
				for _, s := range [][3]int{{1, 1, 1}, {15, 2, 2}, {17, 3, 3}, {31, 1, 5}, {33, 2, 9}, {70, 1, 4}} {
					cols := s[1] * f.BlockElems
					if f.BlockElems == 1 {
						cols = s[1]*37 - 5
					}
					p := newProduct(r, f, fill, s[0], cols, s[2])
					for _, l := range Supported() {
						p.check(t, New(l), fmt.Sprintf("%v, %s %d×%d, %d rows", l, fill.name, s[0], cols, s[2]))
					}
				}
			}
		})
	}
}

// Any rectangle of rows and panels gives the bits of the whole.
func TestLinearInParts(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, f := range formatsNow() {
		p := newProduct(r, f, fillers[0], 16*9+5, 256, 11)
		m := p.matrix()
		eachLevel(t, func(t *testing.T, k *Kernels) {
			a := NewActs(f.Act, p.n, p.cols)
			for i := range p.n {
				k.Round(a, i, p.x[i*p.cols:(i+1)*p.cols])
			}
			for range 20 {
				out := make([]float32, p.n*p.rows)
				var sc LinearScratch
				row, panel := r.IntN(p.n+1), r.IntN(m.Panels()+1)
				for _, rows := range [][2]int{{0, row}, {row, p.n}} {
					for _, panels := range [][2]int{{0, panel}, {panel, m.Panels()}} {
						k.Linear(&sc, m, a, rows[0], rows[1], panels[0], panels[1], out, p.rows)
					}
				}
				wantBits(t, fmt.Sprintf("%s cut at row %d, panel %d", f.Name, row, panel), out, p.want)
			}
		})
	}
}

func TestRowsDecodeAsTheFile(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 11))
	for _, f := range quant.Formats() {
		for _, fill := range []filler{fillers[0], fillers[9]} {
			cols := 2 * 256
			p := newProduct(r, f, fill, 37, cols, 1)
			m := p.matrix()
			rowBytes := len(p.raw) / p.rows
			got, want := make([]float32, cols), make([]float32, cols)
			for o := range p.rows {
				f.Decode(want, p.raw[o*rowBytes:(o+1)*rowBytes])
				m.Row(got, o)
				wantBits(t, fmt.Sprintf("%s row %d", f.Name, o), got, want)
			}
		}
	}
}

func TestEveryFormatHasPanels(t *testing.T) {
	for _, f := range quant.Formats() {
		pf, ok := Lookup(f.Type)
		if !ok {
			t.Errorf("%s has no panels", f.Name)
			continue
		}
		if pf.Act != f.Act || pf.BlockElems%f.BlockElems != 0 || pf.BlockElems%f.Act.BlockElems() != 0 {
			t.Errorf("%s: panels of %d values for %v do not fit the format's %d for %v", f.Name, pf.BlockElems, pf.Act, f.BlockElems, f.Act)
		}
	}
	for i := range formats {
		if formats[i].index != i {
			t.Errorf("%v: index %d in place %d", formats[i].Type, formats[i].index, i)
		}
	}
}

func TestLinearAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 13))
	f, _ := quant.Lookup(quant.Q8_0)
	p := newProduct(r, f, fillers[0], 100, 64, 5)
	m := p.matrix()
	out := make([]float32, p.n*p.rows)
	var sc LinearScratch
	eachLevel(t, func(t *testing.T, k *Kernels) {
		a := NewActs(f.Act, p.n, p.cols)
		n := testing.AllocsPerRun(10, func() {
			for i := range p.n {
				k.Round(a, i, p.x[i*p.cols:(i+1)*p.cols])
			}
			k.Linear(&sc, m, a, 0, p.n, 0, m.Panels(), out, p.rows)
		})
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
