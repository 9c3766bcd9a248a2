package kern

import (
	"encoding/binary"
	"fmt"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/quant"
)

// planes is a format of 256 values whose bits lie in planes, 4 chunks of 64 k to
// a block of 16 rows. A chunk has 2 sub-blocks of 32 k, whose low four bits
// share bytes as in Q4_K, or 4 sub-blocks of 16 k, whose low two bits do as in
// the high bits of Q6_K. A further bit of each value lies behind them:
//
//	header  d: 16 × f16, then dmin: 16 × f16 with minima
//	chunk   scales  of 32 k, with minima: as in Q4_K, 64 B
//	                of 32 k: 16 lanes × (even, odd), int8
//	                of 16 k: 2 pairs × 16 lanes × (even, odd); int8, or with
//	                minima the scale in the low nibble and the min in the high
//	        low     of 32 k: 8 groups × 64 B
//	                of 16 k: 4 groups × 64 B, bits 2s and 2s + 1 of sub-block s
//	        high    of 32 k: 64 B for each sub-block, bit g for group g
//	                of 16 k: 2 × 64 B for groups 0, 1 and 2, 3; bit s + 4 × (g mod 2)
type planes struct {
	layout quant.Layout
	sub    int       // values of a sub-block: 32 or 16
	high   bool      // a further bit
	levels *[16]int8 // what the bits mean, or nil: themselves
	offset int8      // less this
	factor float32   // of d: a power of two, so that the f16 stays the file's

	codes [256]byte // value → its bits
}

func (p *planes) header() int {
	if p.layout.Minima {
		return 64
	}
	return 32
}

// low and top are where in a chunk the bits begin.
func (p *planes) low() int {
	if p.sub == 32 && !p.layout.Minima {
		return 32
	}
	return 64
}

func (p *planes) top() int { return p.low() + 64*p.sub/4 }

func (p *planes) chunk() int {
	if p.high {
		return p.top() + 128
	}
	return p.top()
}

func (p *planes) bytes() int { return p.header() + 4*p.chunk() }

// newPlanes makes the row of a format's table.
func newPlanes(t quant.Type, index, sub int, high bool, levels *[16]int8, offset int8, factor float32) Format {
	f, ok := quant.Lookup(t)
	if !ok || f.Layout == nil || f.BlockElems != 256 {
		panic(fmt.Sprintf("kern: %v is no format of 256 values that can be taken apart", t))
	}
	p := &planes{layout: *f.Layout, sub: sub, high: high, levels: levels, offset: offset, factor: factor}
	for v := range p.codes {
		p.codes[v] = byte(int8(v) + offset)
		if levels != nil {
			p.codes[v] = codeOf(levels, int8(v))
		}
	}
	take := func(a *dotArgs, b, lane int) quant.Taken {
		return p.get(a.panel(p.bytes())[b*p.bytes():], lane)
	}
	return Format{
		Type: t, Act: f.Act, BlockElems: 256, BlockBytes: p.bytes(), index: index,
		pack: func(dst, src []byte, lane int) {
			for ; len(src) >= f.BlockBytes; src, dst = src[f.BlockBytes:], dst[p.bytes():] {
				blk := p.layout.Take(src[:f.BlockBytes])
				p.put(dst, lane, &blk)
			}
		},
		unpack: p.unpack,
		dot:    func(a *dotArgs) { dotTaken(a, &f, 1, take) },
		dots:   func(a *dotArgs) { dotTaken(a, &f, takenRows, take) },
	}
}

// bit places: the byte of value k's low bits, and how far to shift them.
func (p *planes) lowAt(k, lane int) (int, uint) {
	c, sub := k/64, k%64/p.sub
	at := p.header() + c*p.chunk() + p.low() + k%p.sub/4*64 + 4*lane + k%4
	return at, uint(sub * p.sub / 8)
}

func (p *planes) highAt(k, lane int) (int, uint) {
	c, sub, g := k/64, k%64/p.sub, k%p.sub/4
	at := p.header() + c*p.chunk() + p.top() + 4*lane + k%4
	if p.sub == 32 {
		return at + 64*sub, uint(g)
	}
	return at + g/2*64, uint(sub + 4*(g%2))
}

// scaleAt is where the scale of sub-block j lies, and of its min.
func (p *planes) scaleAt(j, lane int) (scale, least int) {
	per := 64 / p.sub
	at := p.header() + j/per*p.chunk()
	switch {
	case p.sub == 32 && p.layout.Minima:
		return at + j%2*16 + lane, at + 32 + 2*lane + j%2
	default:
		at += j%per/2*32 + 2*lane + j%2
		return at, at
	}
}

func (p *planes) put(dst []byte, lane int, blk *quant.Taken) {
	binary.LittleEndian.PutUint16(dst[2*lane:], half.F16FromF32(blk.D[0]/p.factor))
	if p.layout.Minima {
		binary.LittleEndian.PutUint16(dst[32+2*lane:], half.F16FromF32(-blk.M[0]))
	}
	for j := range 256 / p.sub {
		scale, least := p.scaleAt(j, lane)
		s, m := byte(blk.Scale[j*p.sub/16]), byte(blk.Least[j*p.sub/16])
		switch {
		case !p.layout.Minima:
			dst[scale] = s
		case scale == least:
			dst[scale] = s | m<<4
		default:
			dst[scale], dst[least] = s, m
		}
	}
	for c := range 4 {
		chunk, q := dst[p.header()+c*p.chunk():], (*[64]int8)(blk.Q[64*c:])
		if p.sub == 32 {
			p.put32(chunk, 4*lane, q)
		} else {
			p.put16(chunk, 4*lane, q)
		}
	}
}

// put32 writes a lane's values of a chunk of two sub-blocks: what lowAt and highAt
// say of each, a byte at a time.
func (p *planes) put32(chunk []byte, at int, q *[64]int8) {
	low, high := chunk[p.low():], [2][4]byte{}
	for g := range 8 {
		for i := range 4 {
			v, w := p.codes[byte(q[4*g+i])], p.codes[byte(q[32+4*g+i])]
			low[64*g+at+i] = v&15 | w<<4
			high[0][i] |= v >> 4 << g
			high[1][i] |= w >> 4 << g
		}
	}
	if p.high {
		copy(chunk[p.top()+at:], high[0][:])
		copy(chunk[p.top()+64+at:], high[1][:])
	}
}

// put16 is the same for four sub-blocks.
func (p *planes) put16(chunk []byte, at int, q *[64]int8) {
	low, high := chunk[p.low():], [2][4]byte{}
	for g := range 4 {
		for i := range 4 {
			var l, h byte
			for s := range 4 {
				v := p.codes[byte(q[16*s+4*g+i])]
				l |= v & 3 << (2 * s)
				h |= v >> 2 & 1 << s
			}
			low[64*g+at+i] = l
			high[g/2][i] |= h << (4 * (g % 2))
		}
	}
	if p.high {
		copy(chunk[p.top()+at:], high[0][:])
		copy(chunk[p.top()+64+at:], high[1][:])
	}
}

// codeOf finds the code of a level that is in the list.
func codeOf(levels *[16]int8, q int8) byte {
	for i, l := range levels {
		if l == q {
			return byte(i)
		}
	}
	return 0
}

// get takes a lane's block apart again.
func (p *planes) get(blk []byte, lane int) (t quant.Taken) {
	t.D[0] = scaleAt(blk, lane) * p.factor
	if p.layout.Minima {
		t.M[0] = -scaleAt(blk[32:], lane)
	}
	for j := range 256 / p.sub {
		scale, least := p.scaleAt(j, lane)
		s, m := int16(int8(blk[scale])), int16(blk[least])
		if p.layout.Minima && scale == least {
			s, m = int16(blk[scale]&15), int16(blk[scale]>>4)
		}
		for i := j * p.sub / 16; i < (j+1)*p.sub/16; i++ {
			t.Scale[i], t.Least[i] = s, m
		}
	}
	bits := uint(p.sub / 8)
	for k := range t.Q {
		at, shift := p.lowAt(k, lane)
		v := blk[at] >> shift & (1<<bits - 1)
		if p.high {
			at, shift = p.highAt(k, lane)
			v |= blk[at] >> shift & 1 << bits
		}
		if t.Q[k] = int8(v) - p.offset; p.levels != nil {
			t.Q[k] = p.levels[v]
		}
	}
	return t
}

func (p *planes) unpack(dst []float32, panel []byte, lane int) {
	for ; len(panel) >= p.bytes(); panel, dst = panel[p.bytes():], dst[256:] {
		t := p.get(panel, lane)
		p.layout.Values(dst[:256], &t)
	}
}
