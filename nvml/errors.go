package nvml

import (
	"fmt"
	"strings"
	"time"
)

// Error is a call that the library answered with an error.
type Error struct {
	Call string // its name in the library
	Code Code
}

func (e *Error) Error() string {
	return fmt.Sprintf("nvml: %s: %v (%d)", e.Call, e.Code, int32(e.Code))
}

// Attempt is a candidate for the library, and why it was not taken.
type Attempt struct {
	Library string
	Err     error // may be an *Error, of its initialisation
}

// OpenError says that no candidate could be loaded and initialised. On a machine
// without an NVIDIA driver that is as it should be.
type OpenError struct {
	Tried []Attempt
}

func (e *OpenError) Error() string {
	var b strings.Builder
	b.WriteString("nvml: no usable library of an NVIDIA driver")
	for i, a := range e.Tried {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		fmt.Fprintf(&b, "%s: %v", a.Library, a.Err)
	}
	return b.String()
}

func (e *OpenError) Unwrap() []error {
	errs := make([]error, len(e.Tried))
	for i, a := range e.Tried {
		errs[i] = a.Err
	}
	return errs
}

// HeldError says that another process of this machine polls.
type HeldError struct {
	PID  int    // 0: it could not be learnt
	Path string // of the lock
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("nvml: the GPUs of this machine are polled by another process: %s is held, by a process that did not say its pid", e.Path)
	}
	return fmt.Sprintf("nvml: the GPUs of this machine are polled by another process: %s is held by pid %d", e.Path, e.PID)
}

// LockFileError says that what is in the lock's place is no lock. It was left as it is.
type LockFileError struct {
	Path string
	Why  string
}

func (e *LockFileError) Error() string {
	return fmt.Sprintf("nvml: %s can't be the lock of the machine's polling process: %s; take it away, or name another file", e.Path, e.Why)
}

// BusyError says that the library has not returned from a call.
type BusyError struct {
	Doing string // what was asked
	For   time.Duration
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("nvml: the library has not answered for %v (%s); it is let go, and the lock with it, as soon as it does", e.For.Round(time.Millisecond), e.Doing)
}
