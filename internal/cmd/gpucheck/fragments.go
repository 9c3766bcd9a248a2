package main

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/fragment"
	"github.com/paddock-go/paddock/internal/half"
)

// multiplication is a tensor-core instruction that a kernel of ours carries out.
type multiplication struct {
	kernel string
	shape  *fragment.MMA
	encode func(int) uint32 // a small integer as an element
	floats bool             // the sums are float32, else int32
}

var multiplications = []multiplication{
	{"mma_k8_f16", fragment.M16N8K8Half, encodeF16, true},
	{"mma_k8_bf16", fragment.M16N8K8Half, encodeBF16, true},
	{"mma_k16_f16", fragment.M16N8K16Half, encodeF16, true},
	{"mma_k16_bf16", fragment.M16N8K16Half, encodeBF16, true},
	{"mma_k16_s8", fragment.M16N8K16Byte, encodeS8, false},
	{"mma_k32_s8", fragment.M16N8K32Byte, encodeS8, false},
}

func encodeF16(v int) uint32  { return uint32(half.F16FromF32(float32(v))) }
func encodeBF16(v int) uint32 { return uint32(half.BF16FromF32(float32(v))) }
func encodeS8(v int) uint32   { return uint32(uint8(int8(v))) }

// code is the value of an element of the matrix that is full: a signature of its row
// and column, in the range of signed bytes and never 0.
func code(row, col int) int {
	v := (row*37+col*11)%251 - 125
	if v == 0 {
		return 126
	}
	return v
}

// warps holds the registers of many warps, as the kernels read them.
type warps struct {
	regs int
	data []uint32
}

func newWarps(n, regs int) *warps {
	return &warps{regs, make([]uint32, n*regs*fragment.Lanes)}
}

func (w *warps) at(warp, reg, lane int) *uint32 {
	return &w.data[(warp*w.regs+reg)*fragment.Lanes+lane]
}

// put sets one element of a warp's fragment.
func (w *warps) put(warp int, t *fragment.Table, lane, i int, bits uint32) {
	*w.at(warp, i/t.PerReg(), lane) |= bits << (t.Bits * (i % t.PerReg()))
}

// background is what C holds in a register of a lane: every place its own.
func background(lane, reg int) int { return 1<<16 + 1000*reg + 10*lane }

// word is a sum as it lies in C and D.
func (m *multiplication) word(v int) uint32 {
	if m.floats {
		return math.Float32bits(float32(v))
	}
	return uint32(int32(v))
}

// fragments holds the tables against the card: for every element of A (and then of B)
// a multiplication in which that place alone is 1, and the other matrix is full of
// signatures. Where they appear in D, and which, says which element the place was.
func (k *checker) fragments() error {
	return k.bare(func(b *bare) error {
		for _, m := range multiplications {
			for _, side := range []bool{true, false} {
				t := m.shape.B
				if side {
					t = m.shape.A
				}
				complaint, err := m.probe(b, side)
				if err != nil {
					return err
				}
				k.judge(fmt.Sprintf("%s (%s)", t.Name, m.kernel), complaint, fmt.Sprintf("%d places are what the table says, and D's", t.Rows*t.Cols))
			}
			complaint, text, err := m.random(b)
			if err != nil {
				return err
			}
			k.judge("product of "+m.kernel, complaint, text)
		}
		return k.loads(b)
	})
}

// probe runs one warp for each place of A, or of B, and compares all of D.
func (m *multiplication) probe(b *bare, inA bool) (complaint string, err error) {
	s := m.shape
	one, full := s.A, s.B
	if !inA {
		one, full = s.B, s.A
	}
	each := one.Rows * one.Cols / fragment.Lanes
	n := fragment.Lanes * each
	ones, fulls, c := newWarps(n, one.Regs()), newWarps(n, full.Regs()), newWarps(n, s.C.Regs())
	for w := range n {
		ones.put(w, one, w/each, w%each, m.encode(1))
		for lane := range fragment.Lanes {
			for i, e := range full.Held(lane) {
				fulls.put(w, full, lane, i, m.encode(code(int(e.Row), int(e.Col))))
			}
			for reg := range s.C.Regs() {
				*c.at(w, reg, lane) = m.word(background(lane, reg))
			}
		}
	}
	a, bb := ones, fulls
	if !inA {
		a, bb = fulls, ones
	}
	d, err := m.multiply(b, n, a, bb, c)
	if err != nil {
		return "", err
	}
	for w := range n {
		e := one.Held(w / each)[w%each]
		if m.matches(d, w, inA, e) {
			continue
		}
		is := "nothing that a product gives"
		for row := range one.Rows {
			for col := range one.Cols {
				if m.matches(d, w, inA, fragment.Element{Row: uint8(row), Col: uint8(col)}) {
					is = fmt.Sprintf("(%d, %d)", row, col)
				}
			}
		}
		return fmt.Sprintf("lane %d, register %d, part %d: the table says (%d, %d), the card takes it for %s",
			w/each, w%each/one.PerReg(), w%each%one.PerReg(), e.Row, e.Col, is), nil
	}
	return "", nil
}

// matches tells whether D of a warp is what it must be if the one place that is 1 were
// element e.
func (m *multiplication) matches(d *warps, warp int, inA bool, e fragment.Element) bool {
	for lane := range fragment.Lanes {
		for reg, at := range m.shape.C.Held(lane) {
			want := background(lane, reg)
			switch {
			case inA && at.Row == e.Row:
				want += code(int(e.Col), int(at.Col)) // B's row is A's column
			case !inA && at.Col == e.Col:
				want += code(int(at.Row), int(e.Row))
			}
			if *d.at(warp, reg, lane) != m.word(want) {
				return false
			}
		}
	}
	return true
}

// multiply runs n warps.
func (m *multiplication) multiply(b *bare, n int, a, bb, c *warps) (*warps, error) {
	var at [3]driver.DevicePtr
	for i, w := range []*warps{a, bb, c} {
		var err error
		if at[i], err = b.send(w.data); err != nil {
			return nil, err
		}
	}
	to, err := b.alloc(int64(4 * len(c.data)))
	if err != nil {
		return nil, err
	}
	if err := b.launch("fragments", m.kernel, n, fragment.Lanes, at[0], at[1], at[2], to); err != nil {
		return nil, err
	}
	out, err := b.fetch(to, len(c.data))
	return &warps{c.regs, out}, err
}
