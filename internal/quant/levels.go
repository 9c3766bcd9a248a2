package quant

// The values that the quants of a format take, as Taken has them, for backends
// that store them as indices. Each call returns a list of its own; all are safe
// for concurrent use.

// IQ4Levels are those of iq4_nl and iq4_xs.
func IQ4Levels() *[16]int8 { l := iq4Levels; return &l }

// FP4Levels are those of mxfp4 and nvfp4: twice the floats.
func FP4Levels() *[16]int8 { l := fp4Levels; return &l }

// IQ3SLevels are those of iq3_s.
func IQ3SLevels() *[16]int8 { return mirrored(1, 3, 5, 7, 9, 11, 13, 15) }

// IQ3XXSLevels are those of iq3_xxs.
func IQ3XXSLevels() *[16]int8 { return mirrored(4, 12, 20, 28, 36, 44, 52, 62) }

// IQ2Levels are the 6 of the iq2 formats.
func IQ2Levels() *[16]int8 { return mirrored(8, 25, 43) }

// IQ1Levels are the 6 of the iq1 formats.
func IQ1Levels() *[16]int8 { return mirrored(1, 7, 9) }

// mirrored lists the values and then their negatives.
func mirrored(values ...int8) *[16]int8 {
	var l [16]int8
	copy(l[:], values)
	for i, v := range values {
		l[len(values)+i] = -v
	}
	return &l
}
