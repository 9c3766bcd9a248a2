//go:build !noasm

package kern

import (
	"unsafe"

	"github.com/paddock-go/paddock/internal/quant"
)

var (
	avx2Attend   = attendFuncs{scores: scoresAsm2, softmax: softmaxed(maxAVX2, expSumAVX2), values: valuesAsm2, merge: mergeAsm}
	avx512Attend = attendFuncs{scores: scoresAsm512, softmax: softmaxed(maxAVX2, expSumAVX512), values: valuesAsm512, merge: mergeAsm}
)

func scoresAsm2(dst, q []float32, a *AttendArgs, groups []int32) {
	if a.Type != quant.F32 {
		scores(dst, q, a, groups)
		return
	}
	_, _ = q[a.Heads*a.KDim-1], dst[(a.Heads-1)*SpanKeys+len(groups)*GroupTokens-1]
	var s scoresArgs
	for g := 0; g < len(groups); {
		n := 1 + min(1, len(groups)-g-1)
		for h := 0; h < a.Heads; {
			s.fill(dst, q, a, groups, h, g, n)
			switch two := a.Heads-h >= 2; {
			case two && n == 2:
				scoresAVX2Q2x2(&s)
				h += 2
			case two:
				scoresAVX2Q2x1(&s)
				h += 2
			case n == 2:
				scoresAVX2Q1x2(&s)
				h++
			default:
				scoresAVX2Q1x1(&s)
				h++
			}
		}
		g += n
	}
}

func scoresAsm512(dst, q []float32, a *AttendArgs, groups []int32) {
	if a.Type != quant.F32 {
		scores(dst, q, a, groups)
		return
	}
	_, _ = q[a.Heads*a.KDim-1], dst[(a.Heads-1)*SpanKeys+len(groups)*GroupTokens-1]
	var s scoresArgs
	for g := 0; g < len(groups); {
		n := 1
		if len(groups)-g >= 4 {
			n = 4
		}
		for h := 0; h < a.Heads; {
			s.fill(dst, q, a, groups, h, g, n)
			switch left := a.Heads - h; {
			case left >= 4 && n == 4:
				scoresAVX512Q4x4(&s)
				h += 4
			case left >= 4:
				scoresAVX512Q4x1(&s)
				h += 4
			case left >= 2 && n == 4:
				scoresAVX512Q2x4(&s)
				h += 2
			case left >= 2:
				scoresAVX512Q2x1(&s)
				h += 2
			case n == 4:
				scoresAVX512Q1x4(&s)
				h++
			default:
				scoresAVX512Q1x1(&s)
				h++
			}
		}
		g += n
	}
}

func valuesAsm2(acc, p []float32, a *AttendArgs, groups []int32, from, to int) {
	if a.Type != quant.F32 {
		values(acc, p, a, groups, from, to)
		return
	}
	_, _ = acc[a.Heads*a.VDim-1], p[(a.Heads-1)*SpanKeys+to-1]
	var s valuesArgs
	whole := a.VDim &^ (Lanes - 1)
	for h := range a.Heads {
		for dim := 0; dim < whole; {
			s.fill(acc, p, a, groups, from, to, h, dim)
			if whole-dim >= 64 {
				valuesAVX2Q1x4(&s)
				dim += 64
			} else {
				valuesAVX2Q1x1(&s)
				dim += 16
			}
		}
	}
	if whole < a.VDim {
		valuesFrom(whole, acc, p, a, groups, from, to)
	}
}

func valuesAsm512(acc, p []float32, a *AttendArgs, groups []int32, from, to int) {
	if a.Type != quant.F32 {
		values(acc, p, a, groups, from, to)
		return
	}
	_, _ = acc[a.Heads*a.VDim-1], p[(a.Heads-1)*SpanKeys+to-1]
	var s valuesArgs
	whole := a.VDim &^ (Lanes - 1)
	for h := 0; h < a.Heads; {
		n := 1 + min(1, a.Heads-h-1)
		for dim := 0; dim < whole; {
			s.fill(acc, p, a, groups, from, to, h, dim)
			switch left := whole - dim; {
			case left >= 128 && n == 2:
				valuesAVX512Q2x8(&s)
				dim += 128
			case left >= 128:
				valuesAVX512Q1x8(&s)
				dim += 128
			case left >= 64 && n == 2:
				valuesAVX512Q2x4(&s)
				dim += 64
			case left >= 64:
				valuesAVX512Q1x4(&s)
				dim += 64
			case n == 2:
				valuesAVX512Q2x1(&s)
				dim += 16
			default:
				valuesAVX512Q1x1(&s)
				dim += 16
			}
		}
		h += n
	}
	if whole < a.VDim {
		valuesFrom(whole, acc, p, a, groups, from, to)
	}
}

func mergeAsm(acc, acc2 []float32, a, b float32) {
	n := len(acc) / Lanes
	if n > 0 {
		mergeAVX2(unsafe.SliceData(acc), unsafe.SliceData(acc2), n, a, b)
	}
	mergeValues(acc[n*Lanes:], acc2[n*Lanes:], a, b)
}
