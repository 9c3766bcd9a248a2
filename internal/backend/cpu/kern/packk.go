package kern

import (
	"encoding/binary"
	"unsafe"
)

func packPanelQ4K(p *packing, dst, src []byte, row int) {
	var lines [4 * 64]byte
	head := turnArgs{dst: unsafe.Pointer(&lines), row: uintptr(row), line: 64, blocks: 1, units: 1}
	values := turnArgs{row: uintptr(row), dstStep: q4KPair, srcStep: 32, line: 64, blocks: 4, units: 2}
	for b := range row / 144 {
		d, s := dst[b*q4KBlock:][:q4KBlock], src[144*b:]
		_ = s[15*row+143]
		head.src = unsafe.Pointer(&s[0])
		p.turn32(&head)
		p.headQ4K(&d[0], &lines[0])
		values.dst, values.src = unsafe.Pointer(&d[q4KPairs+64]), unsafe.Pointer(&s[16])
		p.turn32(&values)
	}
}

// q6KPlanes is what splitQ6K makes of a block of each row: for each chunk of 64
// values, 32 bytes of low bits and 16 of high ones, as they lie in a lane.
const q6KPlanes = 4 * 48

func packPanelQ6K(p *packing, dst, src []byte, row int) {
	var planes [Lanes * q6KPlanes]byte
	// Of the scales a word is those of two sub-blocks, a line those of a chunk.
	scales := turnArgs{row: uintptr(row), line: q6KChunk, blocks: 1, units: 1}
	values := turnArgs{src: unsafe.Pointer(&planes), row: q6KPlanes, dstStep: q6KChunk, srcStep: 48, line: 64, blocks: 4, units: 3}
	blocks := row / 210
	p.halves(&turnArgs{dst: unsafe.Pointer(&dst[0]), src: unsafe.Pointer(&src[208]), row: uintptr(row), dstStep: q6KBlock, srcStep: 210, blocks: uintptr(blocks)})
	for b := range blocks {
		d, s := dst[b*q6KBlock:][:q6KBlock], src[210*b:]
		_ = s[15*row+209]
		scales.dst, scales.src = unsafe.Pointer(&d[q6KChunks]), unsafe.Pointer(&s[192])
		p.turn16(&scales)
		p.splitQ6K(&planes[0], &s[0], uintptr(row))
		values.dst = unsafe.Pointer(&d[q6KChunks+q6KLow])
		p.turn32(&values)
	}
}

// The primitives in Go, for levels whose assembly has none.
var goPacking = packing{turn32: turn32, turn16: turn16, halves: halves, headQ4K: headQ4K, splitQ6K: splitQ6K}

// unit calls put with each word of a unit and the line that it goes to.
func (a *turnArgs) unit(dst, src unsafe.Pointer, put func(dst unsafe.Pointer, word uint32, lane int)) {
	for lane := range Lanes {
		from := unsafe.Add(src, uintptr(lane)*a.row)
		for w := range 4 {
			word := binary.LittleEndian.Uint32((*[unitBytes]byte)(from)[4*w:])
			put(unsafe.Add(dst, uintptr(w)*a.line), word, lane)
		}
	}
}

func (a *turnArgs) each(put func(dst unsafe.Pointer, word uint32, lane int)) {
	for b := range a.blocks {
		for u := range a.units {
			a.unit(unsafe.Add(a.dst, b*a.dstStep+4*u*a.line), unsafe.Add(a.src, b*a.srcStep+u*unitBytes), put)
		}
	}
}

func turn32(a *turnArgs) {
	a.each(func(dst unsafe.Pointer, word uint32, lane int) {
		binary.LittleEndian.PutUint32((*[64]byte)(dst)[4*lane:], word^a.flip)
	})
}

func turn16(a *turnArgs) {
	a.each(func(dst unsafe.Pointer, word uint32, lane int) {
		line := (*[64]byte)(dst)
		binary.LittleEndian.PutUint16(line[2*lane:], uint16(word))
		binary.LittleEndian.PutUint16(line[32+2*lane:], uint16(word>>16))
	})
}

func halves(a *turnArgs) {
	for b := range a.blocks {
		dst, src := (*[2 * Lanes]byte)(unsafe.Add(a.dst, b*a.dstStep)), unsafe.Add(a.src, b*a.srcStep)
		for lane := range Lanes {
			*(*[2]byte)(dst[2*lane:]) = *(*[2]byte)(unsafe.Add(src, uintptr(lane)*a.row))
		}
	}
}

func headQ4K(dst, lines *byte) {
	d, l := (*[q4KBlock]byte)(unsafe.Pointer(dst)), (*[4 * 64]byte)(unsafe.Pointer(lines))
	for lane := range Lanes {
		copy(d[2*lane:], l[4*lane:][:2])
		copy(d[32+2*lane:], l[4*lane+2:][:2])
		var s [12]byte
		for i := range 3 {
			copy(s[4*i:], l[64*(i+1)+4*lane:][:4])
		}
		for j := range 8 {
			pair := d[q4KPairs+j/2*q4KPair:]
			pair[j%2*16+lane], pair[32+2*lane+j%2] = scaleMin(s[:], j)
		}
	}
}

func splitQ6K(dst, src *byte, stride uintptr) {
	for lane := range uintptr(Lanes) {
		in := (*[192]byte)(unsafe.Add(unsafe.Pointer(src), lane*stride))
		out := (*[q6KPlanes]byte)(unsafe.Add(unsafe.Pointer(dst), lane*q6KPlanes))
		for h := range 2 {
			low, high := in[64*h:][:64], in[128+32*h:][:32]
			even, odd := out[96*h:][:48], out[96*h+48:][:48]
			for i := range 16 {
				for pair := range 2 {
					a, b := low[32*pair+i], low[32*pair+16+i]
					even[16*pair+i], odd[16*pair+i] = a&15|b<<4, a>>4|b&0xf0
				}
				a, b := high[i], high[16+i]
				even[32+i] = a&3 | b<<2&0x0c | a<<2&0x30 | b<<4&0xc0
				odd[32+i] = a>>4&3 | b>>2&0x0c | a>>2&0x30 | b&0xc0
			}
		}
	}
}
