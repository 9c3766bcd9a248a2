package cpuid

import "testing"

func TestFeaturesBuildOnEachOther(t *testing.T) {
	f := Detect()
	t.Logf("this machine: %+v", f)
	if f.AVX512 && !f.AVX2 || f.AVX512VNNI && !f.AVX512 || f.AMXInt8 && !f.AVX512VNNI || f.AMXBF16 && !f.AMXInt8 || f.DotProd && !f.NEON {
		t.Errorf("%+v: a set is reported without the one that it builds on", f)
	}
}

func TestDisable(t *testing.T) {
	all := Detect()
	undoVNNI := Disable(Features{AVX512VNNI: true})
	if got := Detect(); got.AVX512VNNI || got.AMXInt8 || got.AVX512 != all.AVX512 || got.AVX2 != all.AVX2 {
		t.Errorf("without VNNI: %+v, machine %+v", got, all)
	}
	undoAVX2 := Disable(Features{AVX2: true})
	if got := Detect(); got.AVX2 || got.AVX512 || got.AVX512VNNI || got.NEON != all.NEON {
		t.Errorf("without AVX2: %+v, want nothing left that builds on it", got)
	}
	undoAVX2()
	undoVNNI()
	if got := Detect(); got != all {
		t.Errorf("after undo: %+v, want %+v", got, all)
	}
}

func TestDisableNEON(t *testing.T) {
	all := Detect()
	undoDot := Disable(Features{DotProd: true})
	if got := Detect(); got.DotProd || got.NEON != all.NEON {
		t.Errorf("without dot products: %+v, machine %+v", got, all)
	}
	undoDot()
	undo := Disable(Features{NEON: true})
	if got := Detect(); got.NEON || got.DotProd {
		t.Errorf("without NEON: %+v", got)
	}
	undo()
	if got := Detect(); got != all {
		t.Errorf("after undo: %+v, want %+v", got, all)
	}
}
