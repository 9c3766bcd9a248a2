package half

import (
	"math"
	"testing"
)

// TestF8EveryCode builds each value from its bits by halving and doubling, which is
// exact, and holds the ends of the ranges against the format's published numbers.
func TestF8EveryCode(t *testing.T) {
	for code := range 256 {
		got := F8E4M3ToF32(uint8(code))
		if code&0x7f == 0x7f {
			if got == got {
				t.Errorf("code %#x is %v, want no number", code, got)
			}
			continue
		}
		exp, want := code>>3&15, float32(code&7)
		if exp > 0 {
			want += 8
		} else {
			exp = 1
		}
		for ; exp < 10; exp++ {
			want /= 2
		}
		for ; exp > 10; exp-- {
			want *= 2
		}
		if code >= 0x80 {
			want = -want
		}
		if math.Float32bits(got) != math.Float32bits(want) {
			t.Errorf("code %#x is %v, want %v", code, got, want)
		}
	}
	for code, want := range map[uint8]float32{0x7e: 448, 0xfe: -448, 0x01: 1.0 / 512, 0x07: 7.0 / 512, 0x08: 1.0 / 64, 0x38: 1, 0xb8: -1, 0x40: 2} {
		if got := F8E4M3ToF32(code); got != want {
			t.Errorf("code %#x is %v, want %v", code, got, want)
		}
	}
	if z := F8E4M3ToF32(0x80); z != 0 || !math.Signbit(float64(z)) {
		t.Errorf("code 0x80 is %v, want −0", z)
	}
}
