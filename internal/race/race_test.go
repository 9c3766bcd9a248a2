package race_test

import (
	"testing"

	"github.com/paddock-go/paddock/internal/race"
)

// The calls must be harmless on every slice, and free where nothing watches.
func TestAnySlice(t *testing.T) {
	floats, empty := make([]float32, 5), []int64{}
	n := testing.AllocsPerRun(10, func() {
		race.WriteSlice(floats)
		race.ReadSlice(floats[1:3])
		race.ReadSlice(empty)
		race.WriteSlice([]byte(nil))
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
