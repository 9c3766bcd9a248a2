//go:build !noasm

#include "textflag.h"

// Rotary embedding for AVX2; the AVX-512 level uses it too. Products are
// rounded before they are added: no fused operation.

// func ropeHalvesAVX2(a, b, cos, sin *float32, blocks int)
//
// blocks are of 8 pairs.
TEXT ·ropeHalvesAVX2(SB), NOSPLIT, $0-40
	MOVQ a+0(FP), DI
	MOVQ b+8(FP), SI
	MOVQ cos+16(FP), DX
	MOVQ sin+24(FP), BX
	MOVQ blocks+32(FP), CX
loop:
	VMOVUPS (DI), Y0
	VMOVUPS (SI), Y1
	VMOVUPS (DX), Y2
	VMOVUPS (BX), Y3
	VMULPS Y2, Y0, Y4
	VMULPS Y3, Y1, Y5
	VSUBPS Y5, Y4, Y4
	VMULPS Y3, Y0, Y0
	VMULPS Y2, Y1, Y1
	VADDPS Y1, Y0, Y0
	VMOVUPS Y4, (DI)
	VMOVUPS Y0, (SI)
	ADDQ $32, DI
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, BX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// The lanes that spread 4 values over pairs.
DATA twice<>+0(SB)/8, $0x0000000000000000
DATA twice<>+8(SB)/8, $0x0000000100000001
DATA twice<>+16(SB)/8, $0x0000000200000002
DATA twice<>+24(SB)/8, $0x0000000300000003
GLOBL twice<>(SB), RODATA|NOPTR, $32

// func ropePairsAVX2(x, cos, sin *float32, blocks int)
//
// blocks are of 4 pairs.
TEXT ·ropePairsAVX2(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), DI
	MOVQ cos+8(FP), DX
	MOVQ sin+16(FP), BX
	MOVQ blocks+24(FP), CX
	VMOVDQU twice<>(SB), Y5
loop:
	VMOVUPS (DX), X2
	VMOVUPS (BX), X3
	VPERMPS Y2, Y5, Y2
	VPERMPS Y3, Y5, Y3
	VMOVUPS (DI), Y0
	VPERMILPS $0xb1, Y0, Y1    // the other value of each pair
	VMULPS Y2, Y0, Y0
	VMULPS Y3, Y1, Y1
	VADDSUBPS Y1, Y0, Y0       // − in even lanes, + in odd ones
	VMOVUPS Y0, (DI)
	ADDQ $32, DI
	ADDQ $16, DX
	ADDQ $16, BX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET
