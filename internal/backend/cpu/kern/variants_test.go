package kern

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/quant"
)

// rawProduct is a product over weights of any bytes: encoders that search would
// take most of the time, and make less of what a file may hold.
func rawProduct(r *rand.Rand, f quant.Format, acts func(*rand.Rand, []float32), rows, blocks, n int) *product {
	cols := blocks * f.BlockElems
	if f.BlockElems == 1 {
		cols = blocks*31 - 4 // off every block of activations
	}
	return newProduct(r, f, filler{weights: anyBytes, acts: acts}, rows, cols, n)
}

// part is the product of the first rows of weights and the first n activations.
func (p *product) part(rows, n int) *product {
	q := *p
	q.rows, q.n = rows, n
	q.raw, q.x, q.want = p.raw[:len(p.raw)/p.rows*rows], p.x[:n*p.cols], make([]float32, 0, n*rows)
	for i := range n {
		q.want = append(q.want, p.want[i*p.rows:][:rows]...)
	}
	return &q
}

// TestEveryTile forces each tile of each level and format, alone, over one
// rectangle of its size, and over runs of panels where they are made for those.
// The log lists what ran.
func TestEveryTile(t *testing.T) {
	for _, l := range Supported() {
		k, shapes, ran := New(l), map[string]bool{}, 0
		for _, f := range formatsNow() {
			pf, _ := Lookup(f.Type)
			for _, tl := range k.linear[pf.index] {
				shapes[fmt.Sprintf("%d×%d", tl.panels, tl.rows)] = true
				ran++
				for _, blocks := range []int{1, 2, 5} {
					if l == Portable && blocks == 5 {
						continue // the portable kernels have no loops but one
					}
					forced := *k
					forced.amx = nil // it would come before the tiles
					forced.linear[pf.index] = []tile{tl}
					r := rand.New(rand.NewPCG(uint64(f.Type), uint64(blocks)))
					what := fmt.Sprintf("%v, %s, tile of %d panels and %d rows, %d blocks", l, f.Name, tl.panels, tl.rows, blocks)
					p := rawProduct(r, f, normalActs(1), tl.panels*Lanes, blocks, tl.rows)
					p.check(t, &forced, what)
					if k.striped[pf.index] && Streams%tl.panels == 0 {
						stripe(t, &forced, rawProduct(r, f, normalActs(1), 2*Streams*Lanes, blocks, tl.rows), what)
					}
				}
			}
		}
		list := make([]string, 0, len(shapes))
		for s := range shapes {
			list = append(list, s)
		}
		slices.Sort(list)
		t.Logf("variants: %v gives quant's bits in %d tiles of %d formats, panels × rows of %s", l, ran, len(quant.Formats()), strings.Join(list, " "))
	}
}

// stripe computes p, 8 panels, as four runs of two.
func stripe(t *testing.T, k *Kernels, p *product, what string) {
	t.Helper()
	m, a, out := p.matrix(), NewActs(p.f.Act, p.n, p.cols), make([]float32, p.n*p.rows)
	for i := range p.n {
		k.Round(a, i, p.x[i*p.cols:(i+1)*p.cols])
	}
	var sc LinearScratch
	k.Stripes(&sc, m, a, 0, p.n, 0, 2, 2, out, p.rows)
	wantBits(t, what+", four runs", out, p.want)
}

// TestAwkwardSizes has weights and activations of numbers of rows on both sides of
// what panels and tiles hold, over one block, two and an odd number.
func TestAwkwardSizes(t *testing.T) {
	sizes := []int{1, 15, 17, 31, 33}
	for _, f := range formatsNow() {
		r := rand.New(rand.NewPCG(uint64(f.Type), 50))
		for _, blocks := range []int{1, 2, 7} {
			if f.BlockElems > 64 && blocks == 7 {
				blocks = 3
			}
			whole := rawProduct(r, f, normalActs(1), 33, blocks, 33)
			for _, l := range Supported() {
				k := New(l)
				for _, rows := range sizes {
					for _, n := range sizes {
						if l == Portable && (blocks > 1 || rows*n > 31*17 && rows*n < 33*33) {
							continue // it has one path
						}
						whole.part(rows, n).check(t, k, fmt.Sprintf("%v, %s %d×%d, %d rows", l, f.Name, rows, whole.cols, n))
					}
				}
			}
		}
	}
}

// scalesAt is where a block has its F16 scales and minima; the formats that are
// missing have none, or not in one piece.
var scalesAt = map[quant.Type][]int{
	quant.Q4_0: {0}, quant.Q4_1: {0, 2}, quant.Q5_0: {0}, quant.Q5_1: {0, 2}, quant.Q8_0: {0}, quant.Q1_0: {0}, quant.Q2_0: {0},
	quant.Q2K: {80, 82}, quant.Q3K: {108}, quant.Q4K: {0, 2}, quant.Q5K: {0, 2}, quant.Q6K: {208},
	quant.IQ4NL: {0}, quant.IQ4XS: {0}, quant.IQ3S: {0}, quant.IQ3XXS: {0}, quant.IQ2XXS: {0}, quant.IQ2XS: {0}, quant.IQ2S: {0}, quant.IQ1S: {0},
	quant.TQ1_0: {52}, quant.TQ2_0: {64},
}

// TestExtremes has blocks whose quants are all at one end or zero under scales
// from the least subnormal to NaN, met by activations at their own ends. Sums of
// such blocks are as large as integers get, and they say what NaN does.
func TestExtremes(t *testing.T) {
	scales := []struct {
		name string
		bits uint16
	}{
		{"zero", 0}, {"minus zero", 0x8000}, {"least subnormal", 1}, {"largest subnormal", 0x83ff}, {"one", 0x3c00},
		{"largest", 0x7bff}, {"most negative", 0xfbff}, {"infinity", 0x7c00}, {"NaN", 0x7e00},
	}
	ends := func(a, b float32) func(*rand.Rand, []float32) {
		return func(_ *rand.Rand, x []float32) {
			for i := range x {
				x[i] = []float32{a, b}[i%2]
			}
		}
	}
	for _, f := range formatsNow() {
		for _, fill := range []byte{0x00, 0x7f, 0x80, 0xff} {
			for _, s := range scales {
				if len(scalesAt[f.Type]) == 0 && s.bits != 0 {
					continue
				}
				weights := func(r *rand.Rand, f *quant.Format, row []byte) {
					fillBytes(fill)(r, f, row)
					for at := 0; at < len(row); at += f.BlockBytes {
						for _, o := range scalesAt[f.Type] {
							binary.LittleEndian.PutUint16(row[at+o:], s.bits)
						}
					}
				}
				for name, acts := range map[string]func(*rand.Rand, []float32){"1": ends(1, 1), "-1": ends(-1, -1), "1, -1": ends(1, -1), "0": ends(0, 0), "largest": ends(0x1p120, -0x1p120)} {
					// 17 rows: a whole panel and a partial one; 9 rows of activations: large tiles and what is left
					p := newProduct(nil, f, filler{weights: weights, acts: acts}, 17, 2*max(f.BlockElems, 16), 1)
					p.n, p.x = 9, slices.Repeat(p.x, 9)
					p.want = slices.Repeat(p.want, 9)
					for _, l := range Supported() {
						p.check(t, New(l), fmt.Sprintf("%v, %s, bytes of %#x, scale %s, activations of %s", l, f.Name, fill, s.name, name))
					}
				}
			}
		}
	}
}

// TestScalesAreThere holds scalesAt against the decoders: nothing is left of a
// block whose scales are zero.
func TestScalesAreThere(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	for _, f := range quant.Formats() {
		at, ok := scalesAt[f.Type]
		if !ok {
			continue
		}
		row, values := make([]byte, f.BlockBytes), make([]float32, f.BlockElems)
		anyBytes(r, nil, row)
		for _, o := range at {
			binary.LittleEndian.PutUint16(row[o:], 0)
		}
		f.Decode(values, row)
		for i, v := range values {
			if v != 0 {
				t.Errorf("%s: value %d is %v with the scales at %d zero", f.Name, i, v, at)
				break
			}
		}
	}
}

// TestAttendAwkwardSizes has numbers of queries and dimensions on both sides of
// what vectors and blocks of queries hold, in every type of cache.
func TestAttendAwkwardSizes(t *testing.T) {
	for _, typ := range quant.KVTypes() {
		for i, rows := range []int{1, 15, 17, 31, 33} {
			dim := []int{8, 32, 40, 80, 64}[i]
			if typ == quant.Q8_0 {
				dim = 32 * (1 + i%2)
			}
			r := rand.New(rand.NewPCG(53, uint64(rows)))
			a := newAttentionOf(typ, r, rows, 1+i%3, dim, dim, 1+i%2, 49+rows, []int{0, 20}[i%2])
			sc := NewAttendScratch(a.Rows*a.Heads, a.VDim)
			New(Portable).Attend(sc, &a.AttendArgs)
			want := slices.Clone(a.Out)
			for _, l := range Supported()[1:] {
				clear(a.Out)
				New(l).Attend(sc, &a.AttendArgs)
				wantBits(t, fmt.Sprintf("%v, %v, %d rows of %d heads of %d", l, typ, rows, a.Heads, dim), a.Out, want)
			}
		}
	}
}
