package kern

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/paddock-go/paddock/internal/quant"
)

// stream turns fuzz bytes into whatever is asked for; when they run out it
// goes round.
type stream struct {
	data []byte
	at   int
}

func (s *stream) byte() byte {
	b := s.data[s.at%len(s.data)]
	s.at++
	return b
}

// between is a number of lo…hi.
func (s *stream) between(lo, hi int) int { return lo + int(s.byte())%(hi-lo+1) }

func (s *stream) float() float32 {
	var b [4]byte
	for i := range b {
		b[i] = s.byte()
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(b[:]))
}

func (s *stream) floats(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = s.float()
	}
	return x
}

// tame keeps most values where models have them, so that not every result of a
// fuzzed product is NaN.
func (s *stream) tame(n int) []float32 {
	x := s.floats(n)
	for i, v := range x {
		if math.Abs(float64(v)) > 1e6 || v != v {
			x[i] = float32(int8(math.Float32bits(v))) / 16
		}
	}
	return x
}

// Weights and activations of any bytes: every level gives quant's bits.
func FuzzLinear(f *testing.F) {
	for i := range len(formats) {
		f.Add([]byte{byte(i), 17, 2, 3, 0, 0x80, 0x7f, 0xff, 0, 1, 0x3c, 0x12, 0x34})
		f.Add([]byte{byte(i), 40, 1, 5, 1, 0x3c, 0x3c, 0x81, 0x80, 0x7f, 0x33})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		s := &stream{data: data}
		all := quant.Formats()
		qf := all[int(s.byte())%len(all)]
		rows, blocks, n := s.between(1, 70), s.between(1, 5), s.between(1, 18)
		cols := blocks * qf.BlockElems
		if qf.BlockElems == 1 {
			cols = s.between(1, 70)
		}
		p := &product{f: qf, rows: rows, cols: cols, n: n, want: make([]float32, n*rows)}
		wild := s.byte()%2 == 0
		p.raw = make([]byte, rows*cols/qf.BlockElems*qf.BlockBytes)
		for i := range p.raw {
			p.raw[i] = s.byte()
		}
		if wild {
			p.x = s.floats(n * cols)
		} else {
			p.x = s.tame(n * cols)
		}
		p.reference()
		for _, l := range Supported() {
			p.check(t, New(l), fmt.Sprintf("%v, %s %d×%d, %d rows", l, qf.Name, rows, cols, n))
		}
	})
}

// Rows of any floats: every level gives the portable bits.
func FuzzVec(f *testing.F) {
	f.Add([]byte{0, 33, 1, 2, 3, 4, 5})
	f.Add([]byte{4, 100, 0, 0, 0x80, 0x3f, 0, 0, 0xc0, 0x7f})
	f.Add([]byte{5, 64, 0x16, 0x72, 0xb1, 0x42, 0x50, 0xac, 0xae, 0xc2})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		s := &stream{data: data}
		c := vecCases[int(s.byte())%len(vecCases)]
		n := s.between(1, 120)
		a, b, w := s.floats(n), s.floats(n), s.floats(n)
		want, got := make([]float32, n), make([]float32, n)
		c.run(New(Portable), want, a, b, w)
		for _, l := range Supported()[1:] {
			c.run(New(l), got, a, b, w)
			wantBits(t, fmt.Sprintf("%v, %s, %d values", l, c.name, n), got, want)
		}
	})
}

// Attention of any shape over a cache of any bytes and type: every level gives
// the portable bits.
func FuzzAttend(f *testing.F) {
	f.Add([]byte{0, 3, 2, 16, 3, 40, 1, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xbf})
	f.Add([]byte{1, 1, 1, 7, 5, 90, 5, 0xff, 0xff, 0x7f, 0x7f, 1, 2, 3})
	f.Add([]byte{2, 3, 3, 33, 4, 20, 2, 30, 0x81, 0x3f, 0x40, 0xc0, 0x12})
	f.Add([]byte{3, 2, 4, 40, 7, 60, 2, 77, 0x2c, 0x31, 0x2e, 0x7f, 0x80, 0x55})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		s := &stream{data: data}
		kv := quant.KVTypes()[s.between(0, 3)]
		rows, heads, kdim, vdim := s.between(1, 3), s.between(1, 9), s.between(1, 70), []int{1, 8, 16, 24, 64, 80, 128, 144}[s.between(0, 7)]
		context := rows + s.between(0, 200)*s.between(1, 3)
		window := s.between(0, 200)
		groups := (context + GroupTokens - 1) / GroupTokens
		cache := func(bytes int) []byte {
			b := make([]byte, groups*bytes)
			for i := range b {
				b[i] = s.byte()
			}
			return b
		}
		a := &AttendArgs{
			Q: s.tame(rows * heads * kdim), QStride: heads * kdim, Out: make([]float32, rows*heads*vdim), OutStride: heads * vdim,
			Rows: rows, Heads: heads, KDim: kdim, VDim: vdim, Scale: 0.25,
			Type: kv, KStride: KeyBytes(kv, kdim), VStride: ValueBytes(kv, vdim),
			K: cache(KeyBytes(kv, kdim)), V: cache(ValueBytes(kv, vdim)),
		}
		for g := range groups {
			a.Groups = append(a.Groups, int32(groups-1-g))
		}
		for r := range rows {
			a.Visible = append(a.Visible, Causal(int32(context-rows+r), int32(window)))
		}
		sc := NewAttendScratch(rows*heads, vdim)
		New(Portable).Attend(sc, a)
		want := append([]float32(nil), a.Out...)
		for _, l := range Supported()[1:] {
			New(l).Attend(sc, a)
			wantBits(t, fmt.Sprintf("%v, %v, %d × %d queries of %d and %d, context %d, window %d", l, kv, rows, heads, kdim, vdim, context, window), a.Out, want)
		}
	})
}
