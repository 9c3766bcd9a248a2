package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/fragment"
	"github.com/paddock-go/paddock/internal/half"
)

// randomWarps is how many random products are compared.
const randomWarps = 16

// sumError is how far a sum of a float instruction may be from the exact one, as a
// share of the sum of the terms' sizes: a card may cut each term below the largest
// one's 24 bits, and 17 of them add up.
const sumError = 17 * 0x1p-23

// random multiplies random matrices and compares with the exact products.
func (m *multiplication) random(b *bare) (complaint, text string, err error) {
	rng := rand.New(rand.NewPCG(7, uint64(len(m.kernel))))
	s := m.shape
	a, bb, c := newWarps(randomWarps, s.A.Regs()), newWarps(randomWarps, s.B.Regs()), newWarps(randomWarps, s.C.Regs())
	for _, w := range []*warps{a, bb} {
		for i := range w.data {
			w.data[i] = m.draw(rng)
		}
	}
	for i := range c.data {
		if m.floats {
			c.data[i] = math.Float32bits(float32(rng.NormFloat64()))
		} else {
			c.data[i] = rng.Uint32()
		}
	}
	d, err := m.multiply(b, randomWarps, a, bb, c)
	if err != nil {
		return "", "", err
	}
	worst := 0.0
	for w := range randomWarps {
		for lane := range fragment.Lanes {
			for reg, e := range s.C.Held(lane) {
				was, got := *c.at(w, reg, lane), *d.at(w, reg, lane)
				if !m.floats {
					if want := was + uint32(int32(m.dot(w, a, bb, e))); got != want {
						return fmt.Sprintf("D of lane %d, register %d is %#x, the product is %#x", lane, reg, got, want), "", nil
					}
					continue
				}
				want := float64(math.Float32frombits(was))
				size := math.Abs(want) + m.size(w, a, bb, e)
				want += m.dot(w, a, bb, e)
				off := math.Abs(float64(math.Float32frombits(got))-want) / size
				if !(off <= sumError) {
					return fmt.Sprintf("D of lane %d, register %d is %g, the product is %g", lane, reg, math.Float32frombits(got), want), "", nil
				}
				worst = max(worst, off)
			}
		}
	}
	if !m.floats {
		return "", fmt.Sprintf("%d random products, exact", randomWarps), nil
	}
	return "", fmt.Sprintf("%d random products, at most %.1f × 2^-24 of the terms off", randomWarps, worst*0x1p24), nil
}

// draw is a register of random elements.
func (m *multiplication) draw(rng *rand.Rand) uint32 {
	if !m.floats {
		return rng.Uint32()
	}
	narrow := half.F16FromF32
	if m.isBF16() {
		narrow = half.BF16FromF32
	}
	return uint32(narrow(float32(rng.NormFloat64()))) | uint32(narrow(float32(rng.NormFloat64())))<<16
}

func (m *multiplication) isBF16() bool { return m.encode(1) == uint32(half.BF16FromF32(1)) }

// value is an element of a warp's fragment, found by the table.
func (m *multiplication) value(w *warps, warp int, t *fragment.Table, row, col int) float64 {
	lane, reg, slot := t.Where(row, col)
	bits := *w.at(warp, reg, lane) >> (t.Bits * slot)
	switch {
	case !m.floats:
		return float64(int8(bits))
	case m.isBF16():
		return float64(half.BF16ToF32(uint16(bits)))
	}
	return float64(half.F16ToF32(uint16(bits)))
}

func (m *multiplication) dot(warp int, a, b *warps, e fragment.Element) (sum float64) {
	for k := range m.shape.K {
		sum += m.value(a, warp, m.shape.A, int(e.Row), k) * m.value(b, warp, m.shape.B, k, int(e.Col))
	}
	return sum
}

func (m *multiplication) size(warp int, a, b *warps, e fragment.Element) (sum float64) {
	for k := range m.shape.K {
		sum += math.Abs(m.value(a, warp, m.shape.A, int(e.Row), k) * m.value(b, warp, m.shape.B, k, int(e.Col)))
	}
	return sum
}

// load is a form of ldmatrix that a kernel of ours carries out.
type load struct {
	kernel   string
	matrices int
	lies     *fragment.Table
}

var loads = []load{
	{"load_x1", 1, fragment.Loaded}, {"load_x2", 2, fragment.Loaded}, {"load_x4", 4, fragment.Loaded},
	{"load_x1_trans", 1, fragment.LoadedTrans}, {"load_x2_trans", 2, fragment.LoadedTrans}, {"load_x4_trans", 4, fragment.LoadedTrans},
}

// loads holds ldmatrix against its tables: shared memory holds the numbers of its
// halves, the lanes' rows lie about in it.
func (k *checker) loads(b *bare) error {
	memory, offsets := make([]uint32, 256), make([]uint32, fragment.Lanes)
	for i := range memory {
		memory[i] = uint32(2*i) | uint32(2*i+1)<<16
	}
	for lane := range offsets {
		offsets[lane] = uint32((lane*37+11)%64) * fragment.RowBytes
	}
	data, err := b.send(memory)
	if err != nil {
		return err
	}
	at, err := b.send(offsets)
	if err != nil {
		return err
	}
	for _, l := range loads {
		to, err := b.alloc(int64(4 * l.matrices * fragment.Lanes))
		if err != nil {
			return err
		}
		if err := b.launch("fragments", l.kernel, 1, fragment.Lanes, data, at, driver.DevicePtr(to)); err != nil {
			return err
		}
		out, err := b.fetch(to, l.matrices*fragment.Lanes)
		if err != nil {
			return err
		}
		k.judge("ldmatrix ("+l.kernel+")", l.compare(out, offsets), fmt.Sprintf("%d values are what the table says", 64*l.matrices))
	}
	return nil
}

func (l *load) compare(out, offsets []uint32) string {
	for i := range l.matrices {
		for lane := range fragment.Lanes {
			for slot := range 2 {
				e := l.lies.At(lane, 0, slot)
				want := offsets[fragment.RowLane(i, int(e.Row))]/2 + uint32(e.Col)
				if got := out[i*fragment.Lanes+lane] >> (16 * slot) & 0xffff; got != want {
					return fmt.Sprintf("lane %d, register %d, part %d holds the half at %d, the table says at %d", lane, i, slot, got, want)
				}
			}
		}
	}
	return ""
}
