package nvml

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/paddock-go/paddock/internal/dl"
)

// Library is the driver's library, loaded and initialised. Its methods, and those of
// its devices, may be called by several goroutines; one is in the library at a time,
// for as long as the library takes.
type Library struct {
	name    string
	clock   Clock
	doing   *activity
	devices []*Device
	missing []missing

	mu   sync.Mutex // one caller in the library, and the fields below
	lib  *dl.Library
	call symbols
	host func() (total, used uint64, ok bool)
}

// mostDevices bounds what a library that answers nonsense makes us ask.
const mostDevices = 1024

// missing is an index for which the library gives no device.
type missing struct {
	index int
	err   *Error
}

// Open loads and initialises the library: the first candidate with which both work.
// The error is an *OpenError. It takes no lock: that is the [Poller]'s.
func Open(o Options) (*Library, error) { return open(o.withDefaults(), new(activity)) }

func open(o Options, doing *activity) (*Library, error) {
	var tried []Attempt
	for _, name := range o.Library {
		if doing.over() {
			return nil, errOver
		}
		l, err := openOne(name, o, doing)
		if err == nil {
			return l, nil
		}
		var load *dl.OpenError
		if errors.As(err, &load) && len(load.Tried) == 1 {
			err = load.Tried[0].Err
		}
		tried = append(tried, Attempt{name, err})
	}
	return nil, &OpenError{tried}
}

func openOne(name string, o Options, doing *activity) (*Library, error) {
	defer doing.begin("opening "+name, o.Clock)()
	lib, err := dl.Open(name)
	if err != nil {
		return nil, err
	}
	l := &Library{name: name, clock: o.Clock, doing: doing, lib: lib, host: hostMemory}
	if err := l.start(); err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	return l, nil
}

// start initialises the library and finds the devices.
func (l *Library) start() error {
	if err := l.call.bind(l.lib); err != nil {
		return err
	}
	if c := l.call.initialize(); c != Success {
		return &Error{"nvmlInit_v2", c}
	}
	if err := l.find(); err != nil {
		return errors.Join(err, asError("nvmlShutdown", l.call.shutdown()))
	}
	return nil
}

// find makes the list of devices. One that can't be had is left out and noted.
func (l *Library) find() error {
	var n uint32
	if c := l.call.count(&n); c != Success {
		return &Error{"nvmlDeviceGetCount_v2", c}
	}
	if n > mostDevices {
		return fmt.Errorf("nvml: the library says that there are %d devices, and no machine has more than %d", n, mostDevices)
	}
	driver := text(func(to *byte, size uint32) Code { return l.call.driverVersion(to, size) }, l.call.driverVersion != nil)
	cuda := l.cudaVersion()
	for i := range n {
		if l.doing.over() {
			return errOver
		}
		var h handle
		if c := l.call.byIndex(i, &h); c != Success {
			l.missing = append(l.missing, missing{int(i), &Error{"nvmlDeviceGetHandleByIndex_v2", c}})
			continue
		}
		d := &Device{lib: l, handle: h, eccOf: eccOverLifetime, info: Info{Index: int(i), Driver: driver, CUDA: cuda}}
		if err := d.identify(); err != nil {
			l.missing = append(l.missing, missing{int(i), err})
			continue
		}
		l.devices = append(l.devices, d)
	}
	return nil
}

func (l *Library) cudaVersion() string {
	var v int32
	if l.call.cudaVersion == nil || l.call.cudaVersion(&v) != Success || v <= 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", v/1000, v%1000/10)
}

// Name is the candidate that was taken.
func (l *Library) Name() string { return l.name }

// Devices are the devices that could be had, by their index.
func (l *Library) Devices() []*Device { return slices.Clone(l.devices) }

// Close shuts the library down and unloads it. Its devices' samples are errors from
// then on.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lib == nil {
		return nil
	}
	defer l.doing.begin("shutting down", l.clock)()
	err := errors.Join(asError("nvmlShutdown", l.call.shutdown()), l.lib.Close())
	l.lib = nil
	return err
}

func asError(call string, c Code) error {
	if c == Success {
		return nil
	}
	return &Error{call, c}
}

// text reads a string of the library; empty where it gives none.
func text(read func(to *byte, size uint32) Code, has bool) string {
	if !has {
		return ""
	}
	b := make([]byte, nameSize)
	if read(&b[0], nameSize) != Success {
		return ""
	}
	return clean(b)
}

// clean is a text of the library up to its end. Bytes that are no text are replaced:
// pages and JSON take valid text alone.
func clean(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
