package kern

import (
	"encoding/binary"
	"math"

	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/quant"
)

// nibbles is a format of 32 values whose low four bits lie like those of Q4_0:
// a byte of part g holds group g in its low nibble and group g + 4 in its high
// one. A fifth bit lies in a plane beside them, bit g for group g. So a block of
// 16 rows is
//
//	┌──────────┬─────────────┬────────────┬────────────────┬─ ─ ─┬────────────────┐
//	│ 16 scales│ 16 × f16 min│ plane: 64 B│ part 0: 64 B   │     │ part 3: 64 B   │
//	└──────────┴─────────────┴────────────┴────────────────┴─ ─ ─┴────────────────┘
//
// less what the format lacks.
type nibbles struct {
	scale  int       // bytes of a scale: 2, an f16, or 1, an exponent
	min    bool      // minima, and activations with sums
	plane  bool      // a fifth bit
	levels *[16]int8 // what nibbles mean, or nil: themselves
	offset int32     // less this
}

var (
	q4_1Nibbles  = nibbles{scale: 2, min: true}
	q5_0Nibbles  = nibbles{scale: 2, plane: true, offset: 16}
	q5_1Nibbles  = nibbles{scale: 2, min: true, plane: true}
	iq4NLNibbles = nibbles{scale: 2, levels: quant.IQ4Levels()}
	mxfp4Nibbles = nibbles{scale: 1, levels: quant.FP4Levels()}
)

// format makes the row of the table. In the file a row's block has the same
// fields in the same order.
func (n *nibbles) format(t quant.Type, index int) Format {
	f := Format{Type: t, Act: quant.ActQ8x32, BlockElems: 32, BlockBytes: n.parts() + 4*64, index: index, pack: n.pack, unpack: n.unpack, dot: n.dot}
	if n.min {
		f.Act = quant.ActQ8x32S
	}
	return f
}

// minima, high and parts are where these fields begin.
func (n *nibbles) minima() int { return Lanes * n.scale }

func (n *nibbles) high() int {
	if n.min {
		return n.minima() + 2*Lanes
	}
	return n.minima()
}

func (n *nibbles) parts() int {
	if n.plane {
		return n.high() + 64
	}
	return n.high()
}

func (n *nibbles) pack(dst, src []byte, lane int) {
	fileBytes := n.parts()/Lanes + 16
	for size := n.parts() + 4*64; len(src) >= fileBytes; src, dst = src[fileBytes:], dst[size:] {
		at := n.scale
		copy(dst[n.scale*lane:], src[:at])
		if n.min {
			copy(dst[n.minima()+2*lane:], src[at:at+2])
			at += 2
		}
		if n.plane {
			high := binary.LittleEndian.Uint32(src[at:])
			for k := range 32 {
				dst[n.high()+4*lane+k%4] |= byte(high>>k&1) << (k / 4)
			}
			at += 4
		}
		scatter(dst[n.parts()+4*lane:], src[at:at+16])
	}
}

// value is value k of a lane.
func (n *nibbles) value(blk []byte, k, lane int) int32 {
	q := blk[n.parts()+k%16/4*64+4*lane+k%4] >> (k / 16 * 4) & 15
	if n.levels != nil {
		return int32(n.levels[q])
	}
	if n.plane {
		q |= blk[n.high()+4*lane+k%4] >> (k / 4) & 1 << 4
	}
	return int32(q) - n.offset
}

// d is the scale of a lane.
func (n *nibbles) d(blk []byte, lane int) float32 {
	if n.scale == 1 {
		// 2^(e − 128): the first term is too small for e < 2, the second for others.
		e := int32(blk[lane])
		return math.Float32frombits(uint32(max(e<<23-1<<23, (e+1)<<21)))
	}
	return scaleAt(blk, lane)
}

func (n *nibbles) unpack(dst []float32, panel []byte, lane int) {
	for size := n.parts() + 4*64; len(panel) >= size; panel, dst = panel[size:], dst[32:] {
		d := n.d(panel, lane)
		for k := range 32 {
			v := float32(float32(n.value(panel, k, lane)) * d)
			if n.min {
				v += scaleAt(panel[n.minima():], lane)
			}
			dst[k] = v
		}
	}
}

func (n *nibbles) dot(a *dotArgs) {
	size := n.parts() + 4*64
	w, x := a.panel(size), a.quants(32)
	d := a.scales()
	var acc [Lanes]float32
	for b := range d {
		blk, xb := w[b*size:(b+1)*size], x[b*32:(b+1)*32]
		for l := range acc {
			var sum int32
			for k, v := range xb {
				sum += n.value(blk, k, l) * int32(v)
			}
			acc[l] = num.FMA32(float32(sum), float32(n.d(blk, l)*d[b]), acc[l])
			if n.min {
				acc[l] = num.FMA32(scaleAt(blk[n.minima():], l), a.floatSums()[b], acc[l])
			}
		}
	}
	*a.lanes() = acc
}
