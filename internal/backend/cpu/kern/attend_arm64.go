//go:build !noasm

package kern

var neonAttend = attendFuncs{scores: scoring(&scoresNEON), softmax: softmaxed(maxNEON, expSumNEON), values: summing(&valuesNEON), merge: merging(mergeNEON)}
