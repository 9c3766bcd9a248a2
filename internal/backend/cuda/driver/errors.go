package driver

import (
	"errors"
	"fmt"
	"strings"
)

// Error is a call that the driver did not carry out.
type Error struct {
	Call string // the function's name
	Code Result
	Name string // of the code, CUDA_ERROR_OUT_OF_MEMORY say; "" where the driver has none
	Text string
	Log  string // of the JIT compiler, with line numbers of the PTX; "" of other calls
}

func (e *Error) Error() string {
	s := fmt.Sprintf("cuda: %s: error %d", e.Call, e.Code)
	if e.Name != "" {
		s += fmt.Sprintf(" (%s: %s)", e.Name, e.Text)
	}
	if e.Log != "" {
		s += "\n" + e.Log
	}
	return s
}

// IsOutOfMemory tells whether the device had too little memory for a call. Safe for
// concurrent use.
func IsOutOfMemory(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == OutOfMemory
}

// IsCapture tells whether a call failed for reasons of a stream's capture, which then is
// spoilt and nothing else. Safe for concurrent use.
func IsCapture(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code >= captureFirst && e.Code <= captureLast
}

// The results that are about captures: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED to
// CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD.
const (
	captureFirst Result = 900
	captureLast  Result = 908
)

// AbsentError says that this machine has no driver that can be used.
type AbsentError struct {
	Tried []error // what each library had against it
}

func (e *AbsentError) Error() string {
	var why []string
	for _, err := range e.Tried {
		why = append(why, err.Error())
	}
	return "cuda: no NVIDIA driver can be used: " + strings.Join(why, "; ")
}

func (e *AbsentError) Unwrap() []error { return e.Tried }

// VersionError is a driver that is too old.
type VersionError struct {
	Got, Least int // 1000 × major + 10 × minor, of the CUDA that it offers
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("cuda: the driver offers CUDA %d.%d, at least %d.%d is needed: install a newer driver",
		e.Got/1000, e.Got%1000/10, e.Least/1000, e.Least%1000/10)
}
