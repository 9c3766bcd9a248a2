package main

// variant is how one level computes a format: the emitter, and the tiles
// (panels × rows) that it is emitted for. Tiles go from large to small: the
// first that fits a rectangle decides how many panels are taken at once, and
// for each number of panels there is one of a single row.
type variant struct {
	emit  func(*asm)
	tiles [][2]int
}

// family is a format in panels.
type family struct {
	name, format string
	consts       string
	avx2, avx512 variant
	more         int // formats after it that lie in the same panels
}

// families are in the order of kern's table of formats.
var families = []family{
	{"f32", "F32", "",
		variant{plain32.kernel('Y'), [][2]int{{1, 4}, {4, 1}, {1, 1}}},
		variant{plain32.kernel('Z'), [][2]int{{4, 4}, {4, 1}, {1, 4}, {1, 1}}}, 0},
	{"f16", "F16", "",
		variant{plain16.kernel('Y'), [][2]int{{1, 4}, {4, 1}, {1, 1}}},
		variant{plain16.kernel('Z'), [][2]int{{4, 4}, {4, 1}, {1, 4}, {1, 1}}}, 0},
	{"bf16", "BF16", "",
		variant{bf16('Y'), [][2]int{{2, 1}, {1, 1}}},
		variant{bf16('Z'), [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"q4_0", "Q4_0", ones,
		variant{q4_0.avx2, [][2]int{{1, 4}, {4, 1}, {1, 1}}},
		variant{q4_0.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"q8_0", "Q8_0", ones,
		variant{q8_0.avx2, [][2]int{{1, 4}, {4, 1}, {1, 1}}},
		variant{q8_0.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"q4_k", "Q4K", "",
		variant{q4k.avx2, [][2]int{{1, 2}, {2, 1}, {1, 1}}},
		variant{q4k.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"q6_k", "Q6K", mask30,
		variant{q6k.avx2, [][2]int{{1, 2}, {2, 1}, {1, 1}}},
		variant{q6k.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"q4_1", "Q4_1", ones,
		variant{q4_1.avx2, [][2]int{{1, 2}, {4, 1}, {1, 1}}},
		variant{q4_1.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"q5_0", "Q5_0", ones + bit4,
		variant{q5_0.avx2, [][2]int{{1, 2}, {4, 1}, {1, 1}}},
		variant{q5_0.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"q5_1", "Q5_1", ones + bit4,
		variant{q5_1.avx2, [][2]int{{1, 2}, {4, 1}, {1, 1}}},
		variant{q5_1.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"iq4_nl", "IQ4NL", ones + levelsData("iq4", iq4Levels, 128),
		variant{iq4nl.avx2, [][2]int{{1, 2}, {4, 1}, {1, 1}}},
		variant{iq4nl.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"mxfp4", "MXFP4", ones + exponents + levelsData("fp4", fp4Levels, 12),
		variant{mxfp4.avx2, [][2]int{{1, 2}, {4, 1}, {1, 1}}},
		variant{mxfp4.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"q2_k", "Q2K", "",
		variant{q2k.avx2, [][2]int{{1, 2}, {2, 1}, {1, 1}}},
		variant{q2k.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"q3_k", "Q3K", bit2,
		variant{q3k.avx2, [][2]int{{1, 2}, {2, 1}, {1, 1}}},
		variant{q3k.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"q5_k", "Q5K", bit4,
		variant{q5k.avx2, [][2]int{{1, 2}, {2, 1}, {1, 1}}},
		variant{q5k.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"iq4_xs", "IQ4XS", levelsData("iq4", iq4Levels, 128),
		variant{iq4xs.avx2, [][2]int{{1, 2}, {2, 1}, {1, 1}}},
		variant{iq4xs.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"iq3_s", "IQ3S", levelsData("iq3s", iq3sLevels, 128),
		variant{iq3s.avx2, [][2]int{{1, 2}, {2, 1}, {1, 1}}},
		variant{iq3s.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"iq3_xxs", "IQ3XXS", levelsData("iq3xxs", iq3xxsLevels, 128) + factor(quarter),
		variant{iq3xxs.avx2, [][2]int{{1, 2}, {2, 1}, {1, 1}}},
		variant{iq3xxs.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
	{"iq2", "IQ2", bit2 + levelsData("iq2", iq2Levels, 128) + factor(eighth),
		variant{iq2.avx2, [][2]int{{1, 2}, {2, 1}, {1, 1}}},
		variant{iq2.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 2},
	{"iq1", "IQ1", bit2 + levelsData("iq1", iq1Levels, 128) + factor(eighth),
		variant{iq1.avx2, [][2]int{{1, 2}, {2, 1}, {1, 1}}},
		variant{iq1.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 1},
	{"tq", "TQ", "",
		variant{tq.avx2, [][2]int{{1, 2}, {2, 1}, {1, 1}}},
		variant{tq.avx512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 1},
	{"nvfp4", "NVFP4", ones + levelsData("fp4", fp4Levels, 12),
		variant{nvfp4AVX2, [][2]int{{1, 2}, {2, 1}, {1, 1}}},
		variant{nvfp4AVX512, [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}}, 0},
}

// files lists the functions of each family.
func files() []file {
	var out []file
	index := 0
	for _, fam := range families {
		f := file{name: fam.name, consts: fam.consts}
		for _, l := range []struct {
			name string
			variant
		}{{"AVX2", fam.avx2}, {"AVX512", fam.avx512}} {
			for _, t := range l.tiles {
				f.kernels = append(f.kernels, kernel{fam.format, l.name, t[0], t[1], l.emit})
			}
		}
		for range 1 + fam.more {
			f.index = index
			out = append(out, f)
			f.name = "" // others share what is written
			index++
		}
	}
	return out
}
