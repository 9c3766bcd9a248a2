package cuda

import "github.com/paddock-go/paddock/internal/quant"

// Weights lie in panels of 8 rows, in one plane. Within a panel each kind of data of
// all rows lies together, so that the 32 lanes of a warp, which take a block each, read
// what lies together; and where rows share a load (scales), they lie side by side.
//
//	        │ quants: 8 rows │ high: 8 rows │ scales: blocks × 8 rows │ supers: × 8 rows │
//	Q8_0    │ 32 B a block   │              │ f16                     │                  │
//	Q4_0    │ 16 B           │              │ f16                     │                  │
//	Q4_K    │ 16 B           │              │ scale, min: u8          │ d, dmin: f16     │
//	Q6_K    │ 16 B           │ 8 B          │ 2 × int8                │ d: f16           │
//	F16 …   │ 16 B: 8 values │              │                         │                  │
//
// A block is 32 values in all of them, a super-block 256. ptx/linear.cuh says the same.
const panelRows = 8

// packings are the formats of weights that this backend has.
var packings = map[quant.Type]packing{
	quant.F32:  packFloats(4),
	quant.F16:  packFloats(2),
	quant.BF16: packFloats(2),
	quant.Q8_0: packBlocks(panel{quants: 32, scale: 2}, 32, 34, packQ8_0),
	quant.Q4_0: packBlocks(panel{quants: 16, scale: 2}, 32, 18, packQ4_0),
	quant.Q4K:  packBlocks(panel{quants: 16, scale: 2, super: 4}, 256, 144, packQ4K),
	quant.Q6K:  packBlocks(panel{quants: 16, high: 8, scale: 2, super: 2}, 256, 210, packQ6K),
}

// panel is what a row has in one: bytes for each block of 32, and for each 8 blocks.
type panel struct{ quants, high, scale, super int }

// bytes is the size of a panel of nb blocks.
func (p panel) bytes(nb int) int {
	return panelRows * (nb*(p.quants+p.high+p.scale) + nb/8*p.super)
}

// row is one row of a panel that is being filled.
type row struct {
	panel
	data []byte // of the panel
	nb   int
	r    int // 0 to 7
}

// quant is the bytes of a block, from the at-th on.
func (r row) quant(block, at int) []byte {
	// 8-bit quants: the second halves of all blocks lie behind the first ones.
	return r.data[r.r*r.nb*r.quants+at/16*16*r.nb+block*16+at%16:]
}

func (r row) highBits(block int) []byte {
	return r.data[panelRows*r.nb*r.quants+(r.r*r.nb+block)*r.high:]
}

func (r row) scaleOf(block int) []byte {
	return r.data[panelRows*r.nb*(r.quants+r.high)+(block*panelRows+r.r)*r.scale:]
}

func (r row) superOf(block int) []byte {
	return r.data[panelRows*r.nb*(r.quants+r.high+r.scale)+(block/8*panelRows+r.r)*r.super:]
}

// packBlocks is the packing of a format whose file has blocks of so many values and
// bytes; block takes the n-th to pieces.
func packBlocks(p panel, values, bytes int, block func(r row, src []byte, n int)) packing {
	return packing{
		group:  panelRows,
		planes: func(cols int) []int64 { return []int64{int64(p.bytes(cols / 32))} },
		pack: func(dst [][]byte, src []byte, rows, cols int) {
			size, file := p.bytes(cols/32), cols/values*bytes
			for i := range rows {
				r := row{p, dst[0][i/panelRows*size:][:size], cols / 32, i % panelRows}
				for n := range cols / values {
					block(r, src[i*file+n*bytes:][:bytes], n)
				}
			}
		},
	}
}

// packFloats is the packing of values of so many bytes: rows are padded to 16 bytes.
func packFloats(bytes int) packing {
	padded := func(cols int) int { return (cols*bytes + 15) / 16 * 16 }
	return packing{
		group:  panelRows,
		planes: func(cols int) []int64 { return []int64{int64(panelRows * padded(cols))} },
		pack: func(dst [][]byte, src []byte, rows, cols int) {
			for i := range rows {
				copy(dst[0][i*padded(cols):], src[i*cols*bytes:(i+1)*cols*bytes])
			}
		},
	}
}

func packQ8_0(r row, src []byte, n int) {
	copy(r.scaleOf(n)[:2], src)
	copy(r.quant(n, 0)[:16], src[2:])
	copy(r.quant(n, 16)[:16], src[18:])
}

// packQ4_0 turns the file's nibble, the weight + 8, into two's complement.
func packQ4_0(r row, src []byte, n int) {
	copy(r.scaleOf(n)[:2], src)
	q := r.quant(n, 0)
	for i := 0; i < 16; i += 8 {
		le.PutUint64(q[i:], le.Uint64(src[2+i:])^0x8888888888888888)
	}
}

// packQ4K pairs values i and i + 16 of a sub-block in a byte; the file pairs those of
// two sub-blocks.
func packQ4K(r row, src []byte, n int) {
	const low = 0x0f0f0f0f0f0f0f0f
	copy(r.superOf(8 * n)[:4], src)
	for j := range 8 {
		scale, least := quant.ScaleMin(src[4:16], j)
		s := r.scaleOf(8*n + j)
		s[0], s[1] = byte(scale), byte(least)
		q, file, shift := r.quant(8*n+j, 0), src[16+j/2*32:], j%2*4
		for i := 0; i < 16; i += 8 {
			le.PutUint64(q[i:], le.Uint64(file[i:])>>shift&low|le.Uint64(file[i+16:])>>shift&low<<4)
		}
	}
}

// packQ6K puts a block's low 4 bits as packQ4K does. The high 2 bits, with the sign
// turned so that they are the weight's own in two's complement, lie in two words, one
// for each sub-block: bits 2w and 2w + 1 of byte i are those of value 4w + i.
func packQ6K(r row, src []byte, n int) {
	const low, two, sign = 0x0f0f0f0f0f0f0f0f, 0x03030303, 0x02020202
	copy(r.superOf(8 * n)[:2], src[208:])
	for j := range 8 {
		half, quarter := j/4, j%4
		s := r.scaleOf(8*n + j)
		s[0], s[1] = src[192+2*j], src[192+2*j+1]
		q, file, shift := r.quant(8*n+j, 0), src[64*half+32*(quarter%2):], quarter/2*4
		for i := 0; i < 16; i += 8 {
			le.PutUint64(q[i:], le.Uint64(file[i:])>>shift&low|le.Uint64(file[i+16:])>>shift&low<<4)
		}
		bits, high := src[128+32*half:], r.highBits(8*n+j)
		for sub := range 2 {
			var word uint32
			for w := range 4 {
				word |= (le.Uint32(bits[16*sub+4*w:])>>(2*quarter)&two ^ sign) << (2 * w)
			}
			le.PutUint32(high[4*sub:], word)
		}
	}
}
