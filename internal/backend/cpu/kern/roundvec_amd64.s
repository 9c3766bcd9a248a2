//go:build !noasm

#include "textflag.h"

// Rounding of activations for BF16 weights, and the sums that formats with minima
// take, for AVX2; the AVX-512 level uses them too.

DATA bf16Bits<>+0(SB)/4, $0x7f800000  // exponent
DATA bf16Bits<>+4(SB)/4, $0x7fffffff  // all but the sign
DATA bf16Bits<>+8(SB)/4, $0x00000001
DATA bf16Bits<>+12(SB)/4, $0x00007fff
DATA bf16Bits<>+16(SB)/4, $0x00400000 // makes a NaN quiet
DATA bf16Bits<>+20(SB)/4, $0xffff0000
DATA bf16Bits<>+24(SB)/4, $0x42fe0000 // 127
GLOBL bf16Bits<>(SB), RODATA|NOPTR, $28

// BF16 rounds the 8 values at OFF: denormals to zeros of their sign, NaN to a quiet
// one, others to the nearest, ties to even.
#define BF16(OFF) \
	VMOVDQU OFF(SI), Y0 \
	VPAND Y13, Y0, Y1 \
	VPCMPEQD Y15, Y1, Y1 \
	VPAND Y12, Y1, Y1 \
	VPANDN Y0, Y1, Y0 \
	VPSRLD $16, Y0, Y2 \
	VPAND Y11, Y2, Y2 \
	VPADDD Y10, Y0, Y3 \
	VPADDD Y2, Y3, Y3 \
	VCMPPS $3, Y0, Y0, Y4 \
	VPOR Y9, Y0, Y5 \
	VBLENDVPS Y4, Y5, Y3, Y3 \
	VPAND Y8, Y3, Y3 \
	VMOVDQU Y3, OFF(DI)

// func roundBF16AVX2(dst, x *float32, blocks int)
TEXT ·roundBF16AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ blocks+16(FP), CX
	VPXOR Y15, Y15, Y15
	VPBROADCASTD bf16Bits<>+0(SB), Y13
	VPBROADCASTD bf16Bits<>+4(SB), Y12
	VPBROADCASTD bf16Bits<>+8(SB), Y11
	VPBROADCASTD bf16Bits<>+12(SB), Y10
	VPBROADCASTD bf16Bits<>+16(SB), Y9
	VPBROADCASTD bf16Bits<>+20(SB), Y8
loop:
	BF16(0)
	BF16(32)
	ADDQ $64, SI
	ADDQ $64, DI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func sumQ8x32AVX2(sum *float32, s *int32, x *float32, blocks int)
//
// blocks are of 32 values. The scale is that of roundQ8x32AVX2 before its rounding.
TEXT ·sumQ8x32AVX2(SB), NOSPLIT, $0-32
	MOVQ sum+0(FP), DI
	MOVQ s+8(FP), BX
	MOVQ x+16(FP), SI
	MOVQ blocks+24(FP), CX
	VPBROADCASTD bf16Bits<>+4(SB), Y14
	VBROADCASTSS bf16Bits<>+24(SB), X13
	VBROADCASTSS bf16Bits<>+0(SB), X12 // infinity
loop:
	VPAND (SI), Y14, Y4
	VPAND 32(SI), Y14, Y5
	VPAND 64(SI), Y14, Y6
	VPAND 96(SI), Y14, Y7
	VPMAXUD Y5, Y4, Y4
	VPMAXUD Y7, Y6, Y6
	VPMAXUD Y6, Y4, Y4
	VEXTRACTI128 $1, Y4, X5
	VPMAXUD X5, X4, X4
	VPSHUFD $0x4e, X4, X5
	VPMAXUD X5, X4, X4
	VPSHUFD $0xb1, X4, X5
	VPMAXUD X5, X4, X4
	VDIVSS X13, X4, X4 // amax ÷ 127
	VXORPS X6, X6, X6
	VCVTSI2SSL (BX), X6, X6
	VMULSS X4, X6, X6
	VCVTPS2PH $0, X6, X7
	VCVTPH2PS X7, X7
	VPAND X14, X7, X8
	VCMPSS $0, X12, X8, X8 // beyond f16: as it is
	VBLENDVPS X8, X6, X7, X7
	VMOVSS X7, (DI)
	ADDQ $128, SI
	ADDQ $4, BX
	ADDQ $4, DI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET
