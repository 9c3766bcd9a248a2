//go:build !noasm

package kern

var (
	avx2Attend   = attendFuncs{scores: scoring(&scoresAVX2), softmax: softmaxed(maxAVX2, expSumAVX2), values: summing(&valuesAVX2), merge: merging(mergeAVX2)}
	avx512Attend = attendFuncs{scores: scoring(&scoresAVX512), softmax: softmaxed(maxAVX2, expSumAVX512), values: summing(&valuesAVX512), merge: merging(mergeAVX2)}
)
