package cuda

import (
	"errors"
	"fmt"

	"github.com/paddock-go/paddock/internal/prog"
)

// UnsupportedError is something that this backend does not run. Another one may.
type UnsupportedError struct {
	What   string // "op", "format of weights", "head size", …
	Which  string
	Remedy string // what to do; "" says to use the CPU
}

func (e *UnsupportedError) Error() string {
	remedy := e.Remedy
	if remedy == "" {
		remedy = "run the model on the CPU (--device cpu)"
	}
	return fmt.Sprintf("cuda: %s %s is not supported on the GPU: %s", e.What, e.Which, remedy)
}

// unsupported is the error of an op's operand or option.
func unsupported(o prog.Op, what string, which any) error {
	return &UnsupportedError{What: fmt.Sprintf("%s of op %s,", what, o.Kind()), Which: fmt.Sprint(which)}
}

// MemoryError says that the device has too little memory for something.
type MemoryError struct {
	For       string // "the weights", …
	Need      int64  // bytes; 0: only the driver knows
	Available int64  // bytes; −1: unknown
	Err       error  // the driver's
}

func (e *MemoryError) Error() string {
	s := fmt.Sprintf("cuda: %s take %d bytes of device memory", e.For, e.Need)
	if e.Need == 0 {
		s = fmt.Sprintf("cuda: for %s the driver has too little memory", e.For)
	}
	if e.Available >= 0 {
		s += fmt.Sprintf(", %d are free", e.Available)
	}
	return s + ": use a smaller KV cache, close what else uses the device, or run on the CPU (--device cpu)"
}

func (e *MemoryError) Unwrap() error { return e.Err }

// errClosed is what a closed device, model or runner answers.
var errClosed = errors.New("cuda: it is closed")
