package main

// families lists what is generated. Tiles go from large to small: the first
// that fits a rectangle decides how many panels are taken at once, and for
// each number of panels there is one of a single row.
func families() []file {
	var files []file
	add := func(name, format string, index int, emit map[string]func(*asm), tiles map[string][][2]int) {
		f := file{name: name, index: index, consts: ones}
		for _, level := range []string{"AVX2", "AVX512"} {
			for _, t := range tiles[level] {
				f.kernels = append(f.kernels, kernel{format, level, t[0], t[1], emit[level]})
			}
		}
		files = append(files, f)
	}
	narrow := [][2]int{{1, 4}, {4, 1}, {1, 1}}
	wide := [][2]int{{2, 4}, {4, 1}, {2, 1}, {1, 4}, {1, 1}}
	add("q4_0", "Q4_0", 3, map[string]func(*asm){"AVX2": q4_0.avx2, "AVX512": q4_0.avx512}, map[string][][2]int{"AVX2": narrow, "AVX512": wide})
	add("q8_0", "Q8_0", 4, map[string]func(*asm){"AVX2": q8_0.avx2, "AVX512": q8_0.avx512}, map[string][][2]int{"AVX2": narrow, "AVX512": wide})
	return files
}
