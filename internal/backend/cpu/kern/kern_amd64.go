//go:build !noasm

package kern

import "github.com/paddock-go/paddock/internal/cpuid"

func supported() []Level {
	f := cpuid.Detect()
	s := []Level{Portable}
	if f.AVX2 {
		s = append(s, AVX2)
	}
	if f.AVX512VNNI {
		s = append(s, AVX512VNNI)
	}
	if f.AMXInt8 {
		s = append(s, AMX)
	}
	return s
}

// choose puts the level's kernels over the portable ones.
func choose(k *Kernels, l Level) {
	switch l {
	case AVX2:
		chooseStriped(k, &avx2Tiles)
		k.vec, k.attend, k.store, k.peak = avx2Vec, avx2Attend, avx2Store, avx2Peak
	case AVX512VNNI, AMX:
		chooseStriped(k, &avx512Tiles)
		k.vec, k.attend, k.store, k.peak = avx512Vec, avx512Attend, avx2Store, avx512Peak
		if l == AMX {
			k.useTiles(newAMXUnit(cpuid.Detect(), cpuid.PermitTiles))
		}
	}
}

// chooseStriped is chooseTiles for tiles that serve Stripes.
func chooseStriped(k *Kernels, tiles *[len(formats)][]tile) {
	chooseTiles(k, tiles)
	for i := range tiles {
		k.striped[i] = len(tiles[i]) > 0
	}
}
