package main

import "bytes"

// kvStoreFile is kvstore_amd64.s: floats to 16 bits, in blocks of 16.
func kvStoreFile() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("#include \"textflag.h\"\n")
	for _, f := range []struct {
		name  string
		begin func(v vec)
		block func(v vec)
	}{
		{"narrowF16AVX2", func(vec) {}, func(v vec) {
			for _, off := range v.offsets() {
				v.op("VMOVUPS %d(SI), Y0", off)
				v.op("VCVTPS2PH $0, Y0, %d(DI)", off/2)
			}
		}},
		{"narrowBF16AVX2", func(v vec) {
			for i, bits := range []string{"$1", "$0x7fff", "$0x40"} {
				v.op("MOVL %s, AX", bits)
				v.op("VMOVD AX, X%d", 8+i)
				v.op("VPBROADCASTD X%d, Y%d", 8+i, 8+i)
			}
		}, func(v vec) {
			for i, off := range v.offsets() {
				high, sum, nan := v.r(3*i), v.r(3*i+1), v.r(3*i+2)
				v.op("VMOVUPS %d(SI), %s", off, sum)
				v.op("VCMPPS $3, %s, %s, %s", sum, sum, nan)
				v.op("VPSRLD $16, %s, %s", sum, high)
				v.op("VPADDD Y9, %s, %s", sum, sum)
				v.op("VPAND Y8, %s, Y7", high)
				v.op("VPADDD Y7, %s, %s", sum, sum)
				v.op("VPSRLD $16, %s, %s", sum, sum)
				v.op("VPOR Y10, %s, %s", high, high) // a quiet NaN
				v.op("VBLENDVPS %s, %s, %s, %s", nan, high, sum, sum)
			}
			v.op("VPACKUSDW Y4, Y1, Y0")
			v.op("VPERMQ $0xd8, Y0, Y0")
			v.op("VMOVDQU Y0, (DI)")
		}},
	} {
		v := vec{&asm{}, 'Y'}
		v.function(&b, f.name, "dst *byte, x *float32, blocks int", 24)
		v.op("MOVQ dst+0(FP), DI")
		v.op("MOVQ x+8(FP), SI")
		v.op("MOVQ blocks+16(FP), CX")
		f.begin(v)
		v.label("loop")
		f.block(v)
		v.op("ADDQ $64, SI")
		v.op("ADDQ $32, DI")
		v.end(&b)
	}
	return b.Bytes()
}
