package kern

import (
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/cpuid"
)

// The log says which variants this run has tested.
func TestLevels(t *testing.T) {
	all := Supported()
	t.Logf("levels of this build and machine: %v", all)
	if all[0] != Portable || Best() != all[len(all)-1] {
		t.Fatalf("levels %v, best %v: want portable first and the best last", all, Best())
	}
	for i, l := range all {
		if i > 0 && l <= all[i-1] {
			t.Errorf("levels %v are not in order", all)
		}
		k := New(l)
		if k.Level() == l {
			continue
		}
		if l != AMX {
			t.Errorf("New(%v) has level %v", l, k.Level())
		}
		t.Logf("this machine has tiles, but they were refused or give other bits: level %v for %v", k.Level(), l)
	}
}

// Features that are off take their levels away, and asking for those is the
// caller's mistake.
func TestLevelsFollowFeatures(t *testing.T) {
	for _, c := range []struct {
		off  cpuid.Features
		gone []Level
	}{
		{cpuid.Features{AMXInt8: true}, []Level{AMX}},
		{cpuid.Features{AVX512VNNI: true}, []Level{AVX512VNNI, AMX}},
		{cpuid.Features{AVX512: true}, []Level{AVX512VNNI, AMX}},
		{cpuid.Features{AVX2: true}, []Level{AVX2, AVX512VNNI, AMX}},
		{cpuid.Features{DotProd: true}, []Level{NEONDot}},
		{cpuid.Features{NEON: true}, []Level{NEON, NEONDot}},
	} {
		func() {
			defer cpuid.Disable(c.off)()
			for _, l := range Supported() {
				if slices.Contains(c.gone, l) {
					t.Errorf("with %+v off, level %v is still there", c.off, l)
				}
			}
			defer func() {
				if recover() == nil {
					t.Errorf("New(%v) with %+v off did not panic", c.gone, c.off)
				}
			}()
			New(c.gone[0])
		}()
	}
}

// Every level has a kernel of its own for every format, but for the portable
// one, and each width of tile has one of a single row: sweep relies on it.
func TestTilesCoverEveryRectangle(t *testing.T) {
	for _, l := range Supported() {
		k := New(l)
		for i, tiles := range k.linear {
			single := map[int]bool{}
			for _, tl := range tiles {
				if tl.rows == 1 {
					single[tl.panels] = true
				}
			}
			for _, tl := range tiles {
				if !single[tl.panels] {
					t.Errorf("%v, %v: no tile of %d panels and one row", l, formats[i].Type, tl.panels)
				}
			}
			if !single[1] {
				t.Errorf("%v, %v: no tile of one panel and one row", l, formats[i].Type)
			}
			if l != Portable && len(tiles) < 2 {
				t.Errorf("%v has no kernels for %v", l, formats[i].Type)
			}
		}
	}
}

// The names are what the log, the model's card and the benchmark's rows say.
func TestLevelNames(t *testing.T) {
	want := []string{"portable", "avx2", "avx512vnni", "amx", "neon", "neon+dotprod"}
	for i, name := range want {
		if got := Level(i).String(); got != name {
			t.Errorf("level %d is %q, want %q", i, got, name)
		}
	}
	if len(want) != int(levels) {
		t.Errorf("%d levels, want %d", levels, len(want))
	}
}
