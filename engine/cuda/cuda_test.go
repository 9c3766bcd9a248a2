package cuda

import (
	"errors"
	"testing"

	"github.com/paddock-go/paddock"
)

// TestNoDriver: where there is no driver, that is an ordinary error, and an engine is
// on the CPU.
func TestNoDriver(t *testing.T) {
	list, err := Detect(Options{})
	if err == nil || len(list) > 0 {
		t.Skipf("this machine has %d GPUs that can be used", len(list))
	}
	var absent *AbsentError
	var call *DriverError
	var unsupported *UnsupportedError
	if !errors.As(err, &absent) && !errors.As(err, &call) && !errors.As(err, &unsupported) {
		t.Errorf("%T: %v", err, err)
	}
	if d := Devices(); len(d) != 0 {
		t.Errorf("%d devices", len(d))
	}
	var _ = paddock.Options{Devices: Devices()}
}
