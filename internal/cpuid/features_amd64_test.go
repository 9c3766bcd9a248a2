//go:build !noasm

package cpuid

import "testing"

// What a processor with all of it says, and what one thing that is missing takes
// away.
func TestFeaturesOfWords(t *testing.T) {
	type words struct{ top, c1, xcr0, b7, c7, d7, palette, perTile, maxRows uint32 }
	whole := words{
		top: 0x20, c1: osxsave | avx | fma | f16c, xcr0: xmmYmm | opmask | tiles,
		b7: avx2 | avx512f | avx512dq | avx512bw | avx512vl, c7: avx512vnni, d7: amxTile | amxInt8 | amxBF16,
		palette: 1024<<16 | 8192, perTile: 8<<16 | 64, maxRows: 16,
	}
	all := Features{AVX2: true, AVX512: true, AVX512VNNI: true, AMXInt8: true, AMXBF16: true}
	vectors := Features{AVX2: true, AVX512: true, AVX512VNNI: true}
	for _, c := range []struct {
		name string
		edit func(w *words)
		want Features
	}{
		{"all", func(*words) {}, all},
		{"no leaf of palettes", func(w *words) { w.top = 0x1c }, vectors},
		{"no tiles", func(w *words) { w.d7 &^= amxTile }, vectors},
		{"their data is not saved", func(w *words) { w.xcr0 &^= 1 << 18 }, vectors},
		{"their configuration is not saved", func(w *words) { w.xcr0 &^= 1 << 17 }, vectors},
		{"smaller tiles", func(w *words) { w.palette = 512<<16 | 4096 }, vectors},
		{"fewer tiles", func(w *words) { w.perTile = 4<<16 | 64 }, vectors},
		{"shorter tiles", func(w *words) { w.maxRows = 8 }, vectors},
		{"no bf16", func(w *words) { w.d7 &^= amxBF16 }, Features{AVX2: true, AVX512: true, AVX512VNNI: true, AMXInt8: true}},
		{"zmm not saved", func(w *words) { w.xcr0 &^= 1 << 6 }, Features{AVX2: true}},
		{"nothing saved", func(w *words) { w.c1 &^= osxsave }, Features{}},
	} {
		w := whole
		c.edit(&w)
		got := features(func(leaf, sub uint32) (a, b, c, d uint32) {
			switch {
			case leaf == 0:
				return w.top, 0, 0, 0
			case leaf == 1:
				return 0, 0, w.c1, 0
			case leaf == 7 && sub == 0:
				return 0, w.b7, w.c7, w.d7
			case leaf == tileLeaf && sub == 1:
				return w.palette, w.perTile, w.maxRows, 0
			}
			return 0, 0, 0, 0
		}, func() (lo, hi uint32) { return w.xcr0, 0 })
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Without the unit there is nothing to permit; with it the answer stays.
func TestPermitTiles(t *testing.T) {
	first := PermitTiles()
	t.Logf("tiles: detected %v, permitted %v", Detect().AMXInt8, first)
	if first != PermitTiles() {
		t.Error("the second answer is another one")
	}
	if first && disabled == (Features{}) && !Detect().AMXInt8 {
		t.Error("permitted what the processor lacks")
	}
}
