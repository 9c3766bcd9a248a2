package nvml

import "fmt"

// Code is what a call of the library returned.
type Code int32

// The codes that a caller may want to tell apart.
const (
	Success          Code = 0
	Uninitialized    Code = 1
	InvalidArgument  Code = 2
	NotSupported     Code = 3
	NoPermission     Code = 4
	InsufficientSize Code = 7
	DriverNotLoaded  Code = 9
	FunctionNotFound Code = 13
	GPULost          Code = 15
	ResetRequired    Code = 16
	VersionMismatch  Code = 18 // the library and the loaded driver are of different versions
	NoData           Code = 21
	ArgumentVersion  Code = 25
	Deprecated       Code = 26
	GPUNotFound      Code = 28
	UnknownError     Code = 999
)

const (
	resetOrRestart    = "reset it, or restart the machine"
	driverWasReplaced = "the driver was replaced while it ran: restart the machine, or reload its modules"
)

// codes are the meanings in our words, with what to do where something can be done.
var codes = [...]string{
	Uninitialized:    "the library was not initialised",
	InvalidArgument:  "an argument is not valid",
	NotSupported:     "not supported by this device",
	NoPermission:     "not permitted to this user",
	5:                "already initialised",
	6:                "not found",
	InsufficientSize: "more room is needed",
	8:                "a power cable is missing",
	DriverNotLoaded:  "the driver is not loaded",
	10:               "timed out",
	11:               "the kernel has trouble with an interrupt",
	12:               "a library is missing",
	FunctionNotFound: "the library lacks this function",
	14:               "the device's own records are damaged",
	GPULost:          "the GPU is lost: " + resetOrRestart,
	ResetRequired:    "the GPU needs a reset: " + resetOrRestart,
	17:               "refused by the operating system",
	VersionMismatch:  "library and driver are of different versions: " + driverWasReplaced,
	19:               "in use",
	20:               "out of memory",
	NoData:           "no data",
	22:               "not possible with ECC",
	23:               "out of resources",
	24:               "not a frequency of this device",
	ArgumentVersion:  "the library doesn't know this version of an argument",
	Deprecated:       "no longer offered",
	27:               "not ready",
	GPUNotFound:      "the GPU is gone",
	29:               "not in a state for this",
}

func (c Code) String() string {
	if c > 0 && int(c) < len(codes) && codes[c] != "" {
		return codes[c]
	}
	if c == Success {
		return "success"
	}
	return fmt.Sprintf("unknown error %d", int32(c))
}

// forGood tells whether a reading that failed so will not be had later either.
func (c Code) forGood() bool {
	return c == NotSupported || c == NoPermission || c == FunctionNotFound || c == ArgumentVersion || c == Deprecated || c == InvalidArgument
}

// deviceGone tells whether the device, and it alone, can't be asked any more.
func (c Code) deviceGone() bool { return c == GPULost || c == ResetRequired || c == GPUNotFound }

// lostLibrary tells whether the whole library must be opened anew.
func (c Code) lostLibrary() bool {
	return c == Uninitialized || c == DriverNotLoaded || c == VersionMismatch
}
