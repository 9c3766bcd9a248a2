package ptxsim

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/backend/cuda/fragment"
	"github.com/paddock-go/paddock/internal/half"
)

// pack puts a matrix, by rows, into a warp's registers: the tests' own way from the
// layout's tables, element by element through Where.
func pack(tab *fragment.Table, bits func(row, col int) uint32) regs {
	out := make(regs, tab.Regs())
	for row := range tab.Rows {
		for col := range tab.Cols {
			lane, reg, slot := tab.Where(row, col)
			out[reg][lane] |= bits(row, col) << (slot * tab.Bits)
		}
	}
	return out
}

func TestMatrixOpsOfFloats(t *testing.T) {
	for _, c := range []struct {
		text   string
		widen  func(uint16) float32
		narrow func(float32) uint16
	}{
		{"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", half.F16ToF32, half.F16FromF32},
		{"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", half.BF16ToF32, half.BF16FromF32},
		{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", half.F16ToF32, half.F16FromF32},
		{"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", half.BF16ToF32, half.BF16FromF32},
	} {
		op := findMatrixOp(c.text)
		if op == nil {
			t.Fatalf("%s is not known", c.text)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		s := op.shape
		draw := func(rows, cols int) [][]uint16 {
			m := make([][]uint16, rows)
			for i := range m {
				m[i] = make([]uint16, cols)
				for j := range m[i] {
					m[i][j] = c.narrow(float32(rng.NormFloat64()))
				}
			}
			return m
		}
		a, b := draw(s.M, s.K), draw(s.K, s.N)
		cs := draw(s.M, s.N)
		ar := pack(s.A, func(row, col int) uint32 { return uint32(a[row][col]) })
		br := pack(s.B, func(row, col int) uint32 { return uint32(b[row][col]) })
		acc := pack(s.C, func(row, col int) uint32 { return math.Float32bits(c.widen(cs[row][col])) })
		op.multiply(acc, ar, br, acc)
		for row := range s.M {
			for col := range s.N {
				want, size := float64(c.widen(cs[row][col])), 0.0
				for k := range s.K {
					p := float64(c.widen(a[row][k])) * float64(c.widen(b[k][col]))
					want, size = want+p, size+math.Abs(p)
				}
				lane, reg, _ := s.C.Where(row, col)
				got := float64(math.Float32frombits(acc[reg][lane]))
				if math.Abs(got-want) > (size+math.Abs(want))*float64(s.K)*0x1p-24 {
					t.Errorf("%s: (%d, %d) is %g, want %g", c.text, row, col, got, want)
				}
			}
		}
	}
}

// TestMatrixOpSumsInOrder pins what the comment promises: exact products, one
// rounding an addition, the inner dimension ascending.
func TestMatrixOpSumsInOrder(t *testing.T) {
	op := findMatrixOp("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
	s := op.shape
	one := uint32(half.F16FromF32(1))
	// Row 0 of A is 1, 2^-12, 2^-12, 0...; C is 2^11: in float32 2^11 + 2^-12 has 24 bits
	// and stays, a float16 accumulator would lose it.
	tiny := uint32(half.F16FromF32(0x1p-12))
	a := pack(s.A, func(row, col int) uint32 {
		switch {
		case row == 0 && col == 0:
			return one
		case row == 0 && col < 3, row == 1 && col == 0:
			return tiny
		}
		return 0
	})
	b := pack(s.B, func(row, col int) uint32 { return one })
	c := pack(s.C, func(row, col int) uint32 {
		if row == 1 {
			return math.Float32bits(0x1p13) // 2^13 + 2^-12 has 26 bits: back to 2^13
		}
		return math.Float32bits(0x1p11)
	})
	d := make(regs, 4)
	op.multiply(d, a, b, c)
	for _, w := range []struct {
		row  int
		want float32
	}{{0, 0x1p11 + 1 + 0x1p-11}, {1, 0x1p13}, {2, 0x1p11}} {
		lane, reg, _ := s.C.Where(w.row, 5)
		if got := math.Float32frombits(d[reg][lane]); got != w.want {
			t.Errorf("row %d is %v, want %v", w.row, got, w.want)
		}
	}
}

// TestMatrixOpExtremes: bf16 products that leave float32's range on their own, and NaN.
func TestMatrixOpExtremes(t *testing.T) {
	op := findMatrixOp("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
	s := op.shape
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	rows := [][2]float32{{0x1p100, 0x1p27}, {0x1p100, 0x1p100}, {inf, 0}, {nan, 1}, {0x1p-100, 0x1p-30}}
	a := pack(s.A, func(row, col int) uint32 {
		if row < len(rows) && col == 0 {
			return uint32(half.BF16FromF32(rows[row][0]))
		}
		return 0
	})
	b := pack(s.B, func(row, col int) uint32 {
		if row == 0 && col < len(rows) {
			return uint32(half.BF16FromF32(rows[col][1]))
		}
		return 0
	})
	d := make(regs, 4)
	op.multiply(d, a, b, make(regs, 4))
	for i, want := range []uint32{math.Float32bits(0x1p127), math.Float32bits(inf), nanBits, nanBits, math.Float32bits(0x1p-130)} {
		lane, reg, _ := s.C.Where(i, i)
		if d[reg][lane] != want {
			t.Errorf("%g × %g is %#x, want %#x", rows[i][0], rows[i][1], d[reg][lane], want)
		}
	}
}

func TestMatrixOpsOfBytes(t *testing.T) {
	for _, c := range []struct {
		text   string
		au, bu bool
	}{
		{"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", false, false},
		{"mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32", true, false},
		{"mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32", false, true},
		{"mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32", false, false},
		{"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", false, false},
		{"mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", true, false},
		{"mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", false, true},
		{"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", false, false},
	} {
		op := findMatrixOp(c.text)
		if op == nil {
			t.Fatalf("%s is not known", c.text)
		}
		rng := rand.New(rand.NewPCG(3, 4))
		s := op.shape
		var a [mostM][mostK]uint8
		var b [mostK][mostN]uint8
		var acc [mostM][mostN]int32
		for i := range a {
			for k := range a[i] {
				a[i][k] = uint8(rng.Uint32())
			}
			for j := range acc[i] {
				acc[i][j] = int32(rng.Uint32()) >> 8
			}
		}
		for k := range b {
			for j := range b[k] {
				b[k][j] = uint8(rng.Uint32())
			}
		}
		// The ends of the range: -128 × -128 all along.
		for k := range mostK {
			a[3][k], b[k][2] = 0x80, 0x80
		}
		value := func(v uint8, unsigned bool) int {
			if unsigned {
				return int(v)
			}
			return int(int8(v))
		}
		d := make(regs, s.C.Regs())
		op.multiply(d, pack(s.A, func(row, col int) uint32 { return uint32(a[row][col]) }),
			pack(s.B, func(row, col int) uint32 { return uint32(b[row][col]) }),
			pack(s.C, func(row, col int) uint32 { return uint32(acc[row][col]) }))
		for row := range s.M {
			for col := range s.N {
				want := int(acc[row][col])
				for k := range s.K {
					want += value(a[row][k], c.au) * value(b[k][col], c.bu)
				}
				lane, reg, _ := s.C.Where(row, col)
				if got := int(int32(d[reg][lane])); got != want {
					t.Errorf("%s: (%d, %d) is %d, want %d", c.text, row, col, got, want)
				}
			}
		}
	}
}

// TestMatrixOpsOfBytesAtTheEnds: the sum wraps, or stays with .satfinite.
func TestMatrixOpsOfBytesAtTheEnds(t *testing.T) {
	for _, c := range []struct {
		text      string
		high, low int32
	}{
		{"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", math.MinInt32 + 32 - 1 - 5, math.MaxInt32 - 32 + 1 + 5},
		{"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", math.MaxInt32, math.MinInt32},
	} {
		op := findMatrixOp(c.text)
		s := op.shape
		d := make(regs, 4)
		op.multiply(d,
			pack(s.A, func(row, col int) uint32 {
				if row == 0 {
					return 1
				}
				return 0xff
			}),
			pack(s.B, func(row, col int) uint32 { return 1 }),
			pack(s.C, func(row, col int) uint32 {
				if row == 0 {
					return math.MaxInt32 - 5
				}
				return 0x80000005
			}))
		high, low := int32(d[0][0]), int32(d[0][4])
		if high != c.high || low != c.low {
			t.Errorf("%s: %d and %d, want %d and %d", c.text, high, low, c.high, c.low)
		}
	}
}

func TestMatrixLoads(t *testing.T) {
	// Row r of matrix i holds 256 i + 16 r + column, and lies where lane 8 i + r says.
	memory := map[uint64][]byte{}
	var addrs [fragment.Lanes]uint64
	for lane := range addrs {
		addrs[lane] = uint64(4096 - 64*lane)
		row := make([]byte, 16)
		for col := range 8 {
			binary.LittleEndian.PutUint16(row[2*col:], uint16(256*(lane/8)+16*(lane%8)+col))
		}
		memory[addrs[lane]] = row
	}
	for _, m := range matrixLoads {
		asked := map[int]bool{}
		d := make(regs, m.matrices)
		err := findMatrixLoad(m.text).load(d, &addrs, func(lane int, addr uint64, row []byte) error {
			asked[lane] = true
			if addr != addrs[lane] || len(row) != 16 {
				t.Errorf("%s: lane %d reads %d bytes at %d", m.text, lane, len(row), addr)
			}
			copy(row, memory[addr])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(asked) != 8*m.matrices || asked[8*m.matrices] {
			t.Errorf("%s read the rows of lanes %v", m.text, asked)
		}
		for i := range m.matrices {
			for lane := range fragment.Lanes {
				low := uint32(256*i + 16*(lane/4) + 2*(lane%4))
				want := low | (low+1)<<16
				if m.lies == fragment.LoadedTrans {
					low = uint32(256*i + 16*2*(lane%4) + lane/4)
					want = low | (low+16)<<16
				}
				if d[i][lane] != want {
					t.Errorf("%s: register %d of lane %d is %#x, want %#x", m.text, i, lane, d[i][lane], want)
				}
			}
		}
	}
	bad := errors.New("outside")
	err := findMatrixLoad("ldmatrix.sync.aligned.m8n8.x2.shared.b16").load(make(regs, 2), &addrs, func(lane int, _ uint64, _ []byte) error {
		if lane == 11 {
			return bad
		}
		return nil
	})
	if !errors.Is(err, bad) {
		t.Errorf("a row that can't be read gave %v", err)
	}
}

// TestMatrixOpsAreRefusedByText: what is not in the table is not guessed at.
func TestMatrixOpsAreRefusedByText(t *testing.T) {
	for _, text := range []string{"", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "ldmatrix.sync.aligned.m8n8.x3.shared.b16"} {
		if findMatrixOp(text) != nil || findMatrixLoad(text) != nil {
			t.Errorf("%q is known", text)
		}
	}
	for _, m := range matrixOps {
		if d, a, b, c := m.registers(); d != 4 || c != 4 || a != m.shape.M*m.shape.K*m.shape.A.Bits/32/32 || b != m.shape.N*m.shape.K*m.shape.B.Bits/32/32 {
			t.Errorf("%s takes %d, %d, %d, %d registers", m.text, d, a, b, c)
		}
	}
}

func BenchmarkMatrixOp(b *testing.B) {
	for _, text := range []string{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"} {
		b.Run(text, func(b *testing.B) {
			op := findMatrixOp(text)
			_, na, nb, _ := op.registers()
			d, x, y := make(regs, 4), make(regs, na), make(regs, nb)
			for b.Loop() {
				op.multiply(d, x, y, d)
			}
		})
	}
}
