//go:build !noasm

#include "textflag.h"

// The small kernels over one row, for AVX2; the AVX-512 level uses them too.
// Lengths are in blocks of 16 values, at least one: two registers of 8 lanes.

DATA absMask<>+0(SB)/4, $0x7fffffff
GLOBL absMask<>(SB), RODATA|NOPTR, $4

DATA limit<>+0(SB)/4, $0x42fe0000 // 127
DATA limit<>+4(SB)/4, $0xc2fe0000 // −127
DATA limit<>+8(SB)/4, $0x3f800000 // 1
GLOBL limit<>(SB), RODATA|NOPTR, $12

// The order that undoes the packing of dwords to bytes within 128-bit lanes.
DATA unpack<>+0(SB)/8, $0x0000000400000000
DATA unpack<>+8(SB)/8, $0x0000000500000001
DATA unpack<>+16(SB)/8, $0x0000000600000002
DATA unpack<>+24(SB)/8, $0x0000000700000003
GLOBL unpack<>(SB), RODATA|NOPTR, $32

DATA oneBytes<>+0(SB)/4, $0x01010101
GLOBL oneBytes<>(SB), RODATA|NOPTR, $4

DATA oneWords<>+0(SB)/4, $0x00010001
GLOBL oneWords<>(SB), RODATA|NOPTR, $4

// func sumSquaresAVX2(lanes *[16]float32, x *float32, blocks int, center float32)
TEXT ·sumSquaresAVX2(SB), NOSPLIT, $0-28
	MOVQ lanes+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ blocks+16(FP), CX
	VBROADCASTSS center+24(FP), Y4
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
loop:
	VMOVUPS (SI), Y2
	VMOVUPS 32(SI), Y3
	VSUBPS Y4, Y2, Y2
	VSUBPS Y4, Y3, Y3
	VFMADD231PS Y2, Y2, Y0
	VFMADD231PS Y3, Y3, Y1
	ADDQ $64, SI
	DECQ CX
	JNZ loop
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VZEROUPPER
	RET

// func sumAVX2(lanes *[16]float32, x *float32, blocks int)
TEXT ·sumAVX2(SB), NOSPLIT, $0-24
	MOVQ lanes+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ blocks+16(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
loop:
	VADDPS (SI), Y0, Y0
	VADDPS 32(SI), Y1, Y1
	ADDQ $64, SI
	DECQ CX
	JNZ loop
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VZEROUPPER
	RET

// func maxAVX2(lanes *[16]float32, x *float32, blocks int)
//
// Lanes start from −∞. VMAXPS gives its second source where either is NaN: that
// is the maximum so far.
TEXT ·maxAVX2(SB), NOSPLIT, $0-24
	MOVQ lanes+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ blocks+16(FP), CX
	MOVL $0xff800000, AX
	VMOVD AX, X0
	VPBROADCASTD X0, Y0
	VMOVAPS Y0, Y1
loop:
	VMOVUPS (SI), Y2
	VMOVUPS 32(SI), Y3
	VMAXPS Y0, Y2, Y0
	VMAXPS Y1, Y3, Y1
	ADDQ $64, SI
	DECQ CX
	JNZ loop
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VZEROUPPER
	RET

// func scaleMulAVX2(dst, x, w *float32, blocks int, center, scale float32)
TEXT ·scaleMulAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ blocks+24(FP), CX
	VBROADCASTSS center+32(FP), Y4
	VBROADCASTSS scale+36(FP), Y5
loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VSUBPS Y4, Y0, Y0
	VSUBPS Y4, Y1, Y1
	VMULPS Y5, Y0, Y0
	VMULPS Y5, Y1, Y1
	VMULPS (DX), Y0, Y0
	VMULPS 32(DX), Y1, Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, DI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func addAVX2(dst, src *float32, blocks int)
TEXT ·addAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ blocks+16(FP), CX
loop:
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	VADDPS (SI), Y0, Y0
	VADDPS 32(SI), Y1, Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ $64, SI
	ADDQ $64, DI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func mergeAVX2(acc, acc2 *float32, blocks int, a, b float32)
TEXT ·mergeAVX2(SB), NOSPLIT, $0-32
	MOVQ acc+0(FP), DI
	MOVQ acc2+8(FP), SI
	MOVQ blocks+16(FP), CX
	VBROADCASTSS a+24(FP), Y4
	VBROADCASTSS b+28(FP), Y5
loop:
	VMULPS (DI), Y4, Y0
	VMULPS 32(DI), Y4, Y1
	VFMADD231PS (SI), Y5, Y0
	VFMADD231PS 32(SI), Y5, Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ $64, SI
	ADDQ $64, DI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// WIDEST leaves the largest lane of Y, as unsigned magnitudes, in all of X.
#define WIDEST(Y, X, TX) \
	VEXTRACTI128 $1, Y, TX \
	VPMAXUD TX, X, X       \
	VPSHUFD $0x4e, X, TX   \
	VPMAXUD TX, X, X       \
	VPSHUFD $0xb1, X, TX   \
	VPMAXUD TX, X, X

// QUANTS turns Y into x × inv as dwords: NaN 0, within ±127, to the nearest
// even. inv is in Y15, 127 in Y13, −127 in Y12.
#define QUANTS(Y, TY) \
	VMULPS Y15, Y, Y         \
	VCMPPS $7, Y, Y, TY      \
	VANDPS TY, Y, Y          \
	VMINPS Y13, Y, Y         \
	VMAXPS Y12, Y, Y         \
	VCVTPS2DQ Y, Y

// PACK32 packs the dwords of Y0–Y3 to 32 bytes in order in Y0.
#define PACK32 \
	VPACKSSDW Y1, Y0, Y0 \
	VPACKSSDW Y3, Y2, Y2 \
	VPACKSSWB Y2, Y0, Y0 \
	VPERMD Y0, Y11, Y0

// func roundQ8x32AVX2(q *int8, d *float32, s *int32, x *float32, blocks int)
//
// blocks are of 32 values.
TEXT ·roundQ8x32AVX2(SB), NOSPLIT, $0-40
	MOVQ q+0(FP), DI
	MOVQ d+8(FP), DX
	MOVQ s+16(FP), BX
	MOVQ x+24(FP), SI
	MOVQ blocks+32(FP), CX
	VBROADCASTSS absMask<>(SB), Y14
	VBROADCASTSS limit<>+0(SB), Y13
	VBROADCASTSS limit<>+4(SB), Y12
	VMOVDQU unpack<>(SB), Y11
loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS 64(SI), Y2
	VMOVUPS 96(SI), Y3
	VPAND Y14, Y0, Y4
	VPAND Y14, Y1, Y5
	VPAND Y14, Y2, Y6
	VPAND Y14, Y3, Y7
	VPMAXUD Y5, Y4, Y4
	VPMAXUD Y7, Y6, Y6
	VPMAXUD Y6, Y4, Y4
	WIDEST(Y4, X4, X5)
	VDIVSS X4, X13, X5         // 127 ÷ amax
	VDIVSS X13, X4, X4         // d = amax ÷ 127
	VBROADCASTSS X5, Y15
	VCVTPS2PH $0, X4, X4
	VCVTPH2PS X4, X4
	VMOVSS X4, (DX)
	QUANTS(Y0, Y5)
	QUANTS(Y1, Y6)
	QUANTS(Y2, Y7)
	QUANTS(Y3, Y8)
	VPADDD Y1, Y0, Y5
	VPADDD Y3, Y2, Y6
	VPADDD Y6, Y5, Y5
	VEXTRACTI128 $1, Y5, X6
	VPADDD X6, X5, X5
	VPSHUFD $0x4e, X5, X6
	VPADDD X6, X5, X5
	VPSHUFD $0xb1, X5, X6
	VPADDD X6, X5, X5
	VMOVD X5, (BX)
	PACK32
	VMOVDQU Y0, (DI)
	ADDQ $128, SI
	ADDQ $32, DI
	ADDQ $4, DX
	ADDQ $4, BX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// QUANTS32 rounds the 32 values at OFF to bytes at QOFF and leaves the sums of
// each 4 of them in OUT: the low half belongs to the first 16 values.
#define QUANTS32(OFF, QOFF, OUT) \
	VMOVUPS OFF+0(SI), Y0        \
	VMOVUPS OFF+32(SI), Y1       \
	VMOVUPS OFF+64(SI), Y2       \
	VMOVUPS OFF+96(SI), Y3       \
	QUANTS(Y0, Y8)               \
	QUANTS(Y1, Y8)               \
	QUANTS(Y2, Y8)               \
	QUANTS(Y3, Y8)               \
	PACK32                       \
	VMOVDQU Y0, QOFF(DI)         \
	VPMADDUBSW Y0, Y10, OUT      \
	VPMADDWD OUT, Y9, OUT

// func roundQ8x256AVX2(q *int8, d *float32, sub *int16, x *float32, blocks int)
//
// blocks are of 256 values; sub gets 16 sums of 16 and 8 sums of 32 of each.
TEXT ·roundQ8x256AVX2(SB), NOSPLIT, $0-40
	MOVQ q+0(FP), DI
	MOVQ d+8(FP), DX
	MOVQ sub+16(FP), BX
	MOVQ x+24(FP), SI
	MOVQ blocks+32(FP), CX
	VBROADCASTSS limit<>+0(SB), Y13
	VBROADCASTSS limit<>+4(SB), Y12
	VMOVDQU unpack<>(SB), Y11
	VBROADCASTSS oneBytes<>(SB), Y10
	VBROADCASTSS oneWords<>(SB), Y9
loop:
	VBROADCASTSS absMask<>(SB), Y14
	VPXOR Y4, Y4, Y4
	XORQ AX, AX
widest:
	VPAND (SI)(AX*1), Y14, Y0
	VPAND 32(SI)(AX*1), Y14, Y1
	VPMAXUD Y0, Y4, Y4
	VPMAXUD Y1, Y4, Y4
	ADDQ $64, AX
	CMPQ AX, $1024
	JNE widest
	WIDEST(Y4, X4, X5)
	VDIVSS X4, X13, X4         // 127 ÷ amax
	VBROADCASTSS X4, Y15
	VMOVSS limit<>+8(SB), X5
	VDIVSS X4, X5, X5          // d = 1 ÷ that
	VMOVSS X5, (DX)
	QUANTS32(0, 0, Y4)
	QUANTS32(128, 32, Y5)
	QUANTS32(256, 64, Y6)
	QUANTS32(384, 96, Y7)
	VPHADDD Y5, Y4, Y4
	VPHADDD Y7, Y6, Y6
	VPHADDD Y6, Y4, Y14        // sums 0 2 4 6 | 1 3 5 7
	QUANTS32(512, 128, Y4)
	QUANTS32(640, 160, Y5)
	QUANTS32(768, 192, Y6)
	QUANTS32(896, 224, Y7)
	VPHADDD Y5, Y4, Y4
	VPHADDD Y7, Y6, Y6
	VPHADDD Y6, Y4, Y4         // sums 8 10 12 14 | 9 11 13 15
	VPACKSSDW Y4, Y14, Y4      // as words: the even ones | the odd ones
	VEXTRACTI128 $1, Y4, X5
	VPUNPCKLWD X5, X4, X6
	VPUNPCKHWD X5, X4, X7
	VPADDW X5, X4, X4
	VMOVDQU X6, (BX)
	VMOVDQU X7, 16(BX)
	VMOVDQU X4, 32(BX)
	ADDQ $1024, SI
	ADDQ $256, DI
	ADDQ $4, DX
	ADDQ $48, BX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET
