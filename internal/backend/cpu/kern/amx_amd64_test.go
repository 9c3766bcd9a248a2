//go:build !noasm

package kern

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/paddock-go/paddock/internal/cpuid"
	"github.com/paddock-go/paddock/internal/quant"
)

// emulator runs the tile phases on a machine of its own; everything else of the
// AMX level runs as it is.
type emulator struct {
	machine  machine
	lent     []span
	products int // tile products so far
	calls    int // and calls of vector phases
}

// vectorPhases are what the tile phase may call.
var vectorPhases = map[int]func(*tileArgs){
	codeScale1: amxScale1, codeScale2: amxScale2, codeScale3: amxScale3, codeScale4: amxScale4,
	codeScaleMin1: amxScaleMin1, codeScaleMin2: amxScaleMin2, codeScaleMin3: amxScaleMin3, codeScaleMin4: amxScaleMin4,
	codeScaleK: amxScaleK, codeScaleKMin4: amxScaleKMin4, codeScaleKMin8: amxScaleKMin8, codeScaleKNeg: amxScaleKNeg,
	codeScaleBF16: amxScaleBF16,
}

// kernels are those of the AMX level with the emulator for a tile unit. Vectors
// run natively: it skips the test where the machine lacks them.
func (e *emulator) kernels(t *testing.T) *Kernels {
	if !cpuid.Detect().AVX512VNNI {
		t.Skip("the vector phases need AVX-512 with VNNI")
	}
	e.machine.natives = map[uintptr]func(uintptr){}
	for code, run := range vectorPhases {
		e.machine.natives[amxCode(code)] = func(arg uintptr) { run((*tileArgs)(pointer(arg))) }
	}
	k := newKernels(AVX512VNNI)
	k.level = AMX
	k.amx = &amxUnit{int8: e.phase(codeTilesInt8), bf16: e.phase(codeTilesBF16)}
	return k
}

func (e *emulator) phase(code int) func(*tileArgs) {
	return func(a *tileArgs) {
		e.machine.memory = append(slices.Clone(e.lent), spanOf("the arguments", unsafe.Slice((*byte)(unsafe.Pointer(a)), unsafe.Sizeof(*a)), true))
		e.machine.call(amxCode(code), uint64(uintptr(unsafe.Pointer(a))))
		e.products += e.machine.counts["tdpbssd"] + e.machine.counts["tdpbf16ps"]
		e.calls += e.machine.counts["call"]
	}
}

func spanOf[E any](name string, s []E, write bool) span {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	return span{name, from, from + uintptr(len(s))*unsafe.Sizeof(*new(E)), write}
}

// guarded is a scratch whose parts have gaps between them, and a check that
// nobody wrote there.
func guarded() (s *amxScratch, check func() bool) {
	const gap = 192
	s = &amxScratch{memory: make([]byte, amxBytes+amxResults+amxScales+4*gap+64)}
	at := (address(unsafe.Pointer(&s.memory[0])) + 63) &^ 63
	var gaps [][]byte
	for _, part := range []struct {
		at   *uintptr
		size uintptr
	}{{&s.bytes, amxBytes}, {&s.results, amxResults}, {&s.scales, amxScales}, {new(uintptr), 0}} {
		gaps = append(gaps, unsafe.Slice((*byte)(pointer(at)), gap))
		*part.at = at + gap
		at += gap + part.size
	}
	whole := bytes.Repeat([]byte{0xa5}, gap)
	for _, g := range gaps {
		copy(g, whole)
	}
	return s, func() bool {
		for _, g := range gaps {
			if !bytes.Equal(g, whole) {
				return false
			}
		}
		return true
	}
}

// wantProducts is how many tile products rows × panels take.
func wantProducts(m *Matrix, rows, panels int) int {
	f := &amxFormats[m.Format.index]
	if f.code == 0 || rows < amxRows {
		return 0
	}
	per := 4 * m.Format.Blocks(m.Cols) * (panels / 2) * ((rows + blockRows - 1) / blockRows)
	if f.planes > 0 {
		per *= 4 * f.planes
	}
	return per
}

// check computes the product with the emulator's kernels, over the panels that
// are whole and what is left, and compares it with the reference.
func (e *emulator) check(t *testing.T, k *Kernels, p *product, what string) {
	t.Helper()
	m := p.matrix()
	a := NewActs(p.f.Act, p.n, p.cols)
	for i := range p.n {
		k.Round(a, i, p.x[i*p.cols:(i+1)*p.cols])
	}
	const pad = 3
	stride := p.rows + pad
	out := make([]float32, p.n*stride)
	for i := range out {
		out[i] = 12345
	}
	scratch, intact := guarded()
	sc := LinearScratch{amx: scratch}
	e.lent = []span{
		spanOf("the weights", m.Data, false), spanOf("the activations", a.q, false), spanOf("the bf16 activations", a.h, false),
		spanOf("the outputs", out, true),
		{"the bytes", sc.amx.bytes, sc.amx.bytes + amxBytes, false}, {"the results", sc.amx.results, sc.amx.results + amxResults, true},
	}
	e.products = 0
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
	if want := wantProducts(m, p.n, p.rows/Lanes); e.products != want {
		t.Fatalf("%s: %d tile products, want %d", what, e.products, want)
	}
	if !intact() {
		t.Fatalf("%s: wrote between the parts of the scratch", what)
	}
}

// tiled are the formats that the level computes with tiles.
func tiled() []quant.Format {
	return slices.DeleteFunc(quant.Formats(), func(f quant.Format) bool {
		pf, _ := Lookup(f.Type)
		return !pf.UsesTiles()
	})
}

func TestTiledFormats(t *testing.T) {
	var names []string
	for _, f := range tiled() {
		names = append(names, f.Name)
	}
	t.Logf("formats with tiles: %v", names)
	if len(names) != 14 {
		t.Errorf("%d formats are computed with tiles, want 14", len(names))
	}
}

// The whole level, the tile phase interpreted, gives quant's bits.
func TestEmulatedTiles(t *testing.T) {
	for _, f := range tiled() {
		t.Run(f.Name, func(t *testing.T) {
			var e emulator
			k := e.kernels(t)
			r := rand.New(rand.NewPCG(uint64(f.Type), 70))
			for i, fill := range fillers {
				sizes := [][3]int{{32, 1, 16}, {49, 2, 33}}
				if i == 0 {
					sizes = append(sizes, [3]int{64, 5, 17}, [3]int{33, 3, 31}, [3]int{96, 4, 15}, [3]int{70, 9, 65}, [3]int{31, 2, 40})
				}
				for _, s := range sizes {
					cols := s[1] * max(f.BlockElems, 32)
					if f.BlockElems == 1 {
						cols -= 5 // BF16: the last block is padded
					}
					p := newProduct(r, f, fill, s[0], cols, s[2])
					what := fmt.Sprintf("%s %d×%d, %d rows", fill.name, s[0], cols, s[2])
					e.check(t, k, p, what)
					for _, l := range Supported() { // the unit itself, where there is one
						if l == AMX {
							p.check(t, New(l), fmt.Sprintf("%v, %s", l, what))
						}
					}
				}
			}
		})
	}
}

// Any rectangle of rows and panels gives the bits of the whole.
func TestEmulatedTilesInParts(t *testing.T) {
	var e emulator
	k := e.kernels(t)
	r := rand.New(rand.NewPCG(71, 72))
	for _, f := range tiled() {
		p := newProduct(r, f, fillers[0], 16*5+5, 256, 50)
		m, a := p.matrix(), NewActs(f.Act, p.n, p.cols)
		for i := range p.n {
			k.Round(a, i, p.x[i*p.cols:(i+1)*p.cols])
		}
		for range 3 {
			out := make([]float32, p.n*p.rows)
			sc := LinearScratch{amx: newAMXScratch()}
			e.lent = []span{
				spanOf("the weights", m.Data, false), spanOf("the activations", a.q, false), spanOf("the bf16 activations", a.h, false),
				spanOf("the outputs", out, true), spanOf("the scratch", sc.amx.memory, true),
			}
			row, panel := r.IntN(p.n+1), r.IntN(m.Panels()+1)
			for _, rows := range [][2]int{{0, row}, {row, p.n}} {
				for _, panels := range [][2]int{{0, panel}, {panel, m.Panels()}} {
					k.Linear(&sc, m, a, rows[0], rows[1], panels[0], panels[1], out, p.rows)
				}
			}
			wantBits(t, fmt.Sprintf("%s cut at row %d, panel %d", f.Name, row, panel), out, p.want)
		}
	}
}

// FuzzEmulatedTiles is FuzzLinear for products that the tile unit takes.
func FuzzEmulatedTiles(f *testing.F) {
	for i := range len(tiled()) {
		f.Add([]byte{byte(i), 17, 2, 3, 0, 0x80, 0x7f, 0xff, 0, 1, 0x3c, 0x12, 0x34})
		f.Add([]byte{byte(i), 1, 1, 30, 1, 0x3c, 0x3c, 0x81, 0x80, 0x7f, 0x33})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		var e emulator
		k := e.kernels(t)
		s, all := &stream{data: data}, tiled()
		qf := all[int(s.byte())%len(all)]
		rows, n := s.between(32, 64), s.between(16, 40)
		p := &product{f: qf, rows: rows, cols: s.between(1, 3) * max(32, qf.BlockElems), n: n, want: make([]float32, n*rows)}
		p.raw = make([]byte, rows*p.cols/qf.BlockElems*qf.BlockBytes)
		for i := range p.raw {
			p.raw[i] = s.byte()
		}
		if s.byte()%2 == 0 {
			p.x = s.floats(n * p.cols)
		} else {
			p.x = s.tame(n * p.cols)
		}
		p.reference()
		e.check(t, k, p, fmt.Sprintf("%s %d×%d, %d rows", qf.Name, rows, p.cols, n))
	})
}
