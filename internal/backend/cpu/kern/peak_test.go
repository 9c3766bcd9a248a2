package kern

import "testing"

// The yardsticks run at every level, on any length, and count what they did.
func TestPeaks(t *testing.T) {
	data := make([]byte, 200<<10)
	eachLevel(t, func(t *testing.T, k *Kernels) {
		for _, n := range []int{0, 1, 255, 256, 1000, peakBytes, peakBytes + 257, len(data)} {
			k.ReadPeak(data[len(data)-n:])
		}
		for name, peak := range map[string]func(int) int64{"FMA": k.FMAPeak, "Dot": k.DotPeak} {
			one := peak(1)
			if one < 2 || peak(0) != 0 || peak(-1) != 0 || peak(3*peakRounds+1) != int64(3*peakRounds+1)*one {
				t.Errorf("%sPeak counts %d operations a round, %d in %d rounds", name, one, peak(3*peakRounds+1), 3*peakRounds+1)
			}
		}
		if n := testing.AllocsPerRun(10, func() { k.ReadPeak(data); k.FMAPeak(10); k.DotPeak(10) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
