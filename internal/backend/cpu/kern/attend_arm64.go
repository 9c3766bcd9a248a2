//go:build !noasm

package kern

import (
	"unsafe"

	"github.com/paddock-go/paddock/internal/quant"
)

var neonAttend = attendFuncs{scores: scoresNEON, softmax: softmaxed(maxNEON, expSumNEON), values: valuesNEON, merge: mergeAsm}

// together is how many of the heads left share a pass of the attention kernels.
func together(heads int) int {
	switch {
	case heads >= 4:
		return 4
	case heads >= 2:
		return 2
	}
	return 1
}

func scoresNEON(dst, q []float32, a *AttendArgs, groups []int32) {
	if a.Type != quant.F32 {
		scores(dst, q, a, groups)
		return
	}
	_, _ = q[a.Heads*a.KDim-1], dst[(a.Heads-1)*SpanKeys+len(groups)*GroupTokens-1]
	var s scoresArgs
	for h := 0; h < a.Heads; {
		heads := together(a.Heads - h)
		for g := 0; g < len(groups); {
			switch left := len(groups) - g; {
			case heads == 4:
				s.fill(dst, q, a, groups, h, g, 1)
				scoresNEONQ4x1(&s)
				g++
			case heads == 2 && left >= 2:
				s.fill(dst, q, a, groups, h, g, 2)
				scoresNEONQ2x2(&s)
				g += 2
			case heads == 2:
				s.fill(dst, q, a, groups, h, g, 1)
				scoresNEONQ2x1(&s)
				g++
			case left >= 4:
				s.fill(dst, q, a, groups, h, g, 4)
				scoresNEONQ1x4(&s)
				g += 4
			default:
				s.fill(dst, q, a, groups, h, g, 1)
				scoresNEONQ1x1(&s)
				g++
			}
		}
		h += heads
	}
}

func valuesNEON(acc, p []float32, a *AttendArgs, groups []int32, from, to int) {
	if a.Type != quant.F32 {
		values(acc, p, a, groups, from, to)
		return
	}
	_, _ = acc[a.Heads*a.VDim-1], p[(a.Heads-1)*SpanKeys+to-1]
	var s valuesArgs
	whole := a.VDim &^ (Lanes - 1)
	for h := 0; h < a.Heads; {
		heads := together(a.Heads - h)
		for dim := 0; dim < whole; {
			s.fill(acc, p, a, groups, from, to, h, dim)
			switch left := whole - dim; {
			case heads == 4:
				valuesNEONQ4x1(&s)
				dim += 16
			case heads == 2 && left >= 32:
				valuesNEONQ2x2(&s)
				dim += 32
			case heads == 2:
				valuesNEONQ2x1(&s)
				dim += 16
			case left >= 64:
				valuesNEONQ1x4(&s)
				dim += 64
			default:
				valuesNEONQ1x1(&s)
				dim += 16
			}
		}
		h += heads
	}
	if whole < a.VDim {
		valuesFrom(whole, acc, p, a, groups, from, to)
	}
}

func mergeAsm(acc, acc2 []float32, a, b float32) {
	n := len(acc) / Lanes
	if n > 0 {
		mergeNEON(unsafe.SliceData(acc), unsafe.SliceData(acc2), n, a, b)
	}
	mergeValues(acc[n*Lanes:], acc2[n*Lanes:], a, b)
}
