package driver

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/paddock-go/paddock/internal/dl"
)

// candidates are where the driver's library is. Under WSL the one that works is
// Windows's own; one that a distribution installed beside it does not.
var candidates = map[string][]string{
	"linux":   {"/usr/lib/wsl/lib/libcuda.so.1", "libcuda.so.1", "libcuda.so"},
	"windows": {"nvcuda.dll"},
}

// Open starts the driver of this machine: the first candidate that can be loaded, has
// all functions and starts. The error is an *AbsentError where there is none.
func Open() (*Driver, error) { return open(candidates[runtime.GOOS]) }

// OpenWith is Open of a library that wrap puts something before, to count its calls or
// to look after its memory say.
func OpenWith(wrap func(Library) Library) (*Driver, error) {
	return openWith(candidates[runtime.GOOS], wrap)
}

func open(candidates []string) (*Driver, error) {
	return openWith(candidates, func(l Library) Library { return l })
}

func openWith(candidates []string, wrap func(Library) Library) (*Driver, error) {
	var why []error
	for _, name := range candidates {
		lib, err := dl.Open(name)
		if err != nil {
			why = append(why, err)
			continue
		}
		d, err := New(wrap(&library{lib}))
		if err == nil {
			return d, nil
		}
		why = append(why, fmt.Errorf("%s: %w", name, err))
	}
	if len(why) == 0 {
		why = append(why, fmt.Errorf("there is none for %s", runtime.GOOS))
	}
	return nil, &AbsentError{Tried: why}
}

// library is libcuda.
type library struct{ *dl.Library }

// Bind implements Library: a function of a Hot is called by its address, without
// reflection and with a place for arguments of its own.
func (l *library) Bind(name string, fn any) error {
	address, err := l.Lookup(name)
	if err != nil {
		return err
	}
	if !bindHot(name, address, fn) {
		return l.Library.Bind(name, fn)
	}
	return nil
}

// bindHot sets a func of a Hot; false if fn is none. Two of them that have one type
// are called alike, so that the type decides.
func bindHot(name string, at uintptr, fn any) bool {
	if !isHot[name] {
		return false
	}
	c := &dl.Caller{}
	switch fn := fn.(type) {
	case *func(DevicePtr, unsafe.Pointer, uint64, Stream) Result:
		*fn = func(to DevicePtr, from unsafe.Pointer, bytes uint64, s Stream) Result {
			return Result(c.Call4(at, uintptr(to), uintptr(from), uintptr(bytes), uintptr(s)))
		}
	case *func(unsafe.Pointer, DevicePtr, uint64, Stream) Result:
		*fn = func(to unsafe.Pointer, from DevicePtr, bytes uint64, s Stream) Result {
			return Result(c.Call4(at, uintptr(to), uintptr(from), uintptr(bytes), uintptr(s)))
		}
	case *func(DevicePtr, DevicePtr, uint64, Stream) Result:
		*fn = func(to, from DevicePtr, bytes uint64, s Stream) Result {
			return Result(c.Call4(at, uintptr(to), uintptr(from), uintptr(bytes), uintptr(s)))
		}
	case *func(DevicePtr, uint8, uint64, Stream) Result:
		*fn = func(to DevicePtr, value uint8, bytes uint64, s Stream) Result {
			return Result(c.Call4(at, uintptr(to), uintptr(value), uintptr(bytes), uintptr(s)))
		}
	case *func(Function, uint32, uint32, uint32, uint32, uint32, uint32, uint32, Stream, *unsafe.Pointer, *unsafe.Pointer) Result:
		*fn = func(f Function, gx, gy, gz, bx, by, bz, shared uint32, s Stream, params, extra *unsafe.Pointer) Result {
			return Result(c.Call12(at, uintptr(f), uintptr(gx), uintptr(gy), uintptr(gz), uintptr(bx), uintptr(by), uintptr(bz),
				uintptr(shared), uintptr(s), uintptr(unsafe.Pointer(params)), uintptr(unsafe.Pointer(extra)), 0))
		}
	case *func(GraphExec, Stream) Result:
		*fn = func(g GraphExec, s Stream) Result { return Result(c.Call4(at, uintptr(g), uintptr(s), 0, 0)) }
	case *func(Event, Stream) Result:
		*fn = func(e Event, s Stream) Result { return Result(c.Call4(at, uintptr(e), uintptr(s), 0, 0)) }
	case *func(Stream) Result:
		*fn = func(s Stream) Result { return Result(c.Call4(at, uintptr(s), 0, 0, 0)) }
	case *func(Event) Result:
		*fn = func(e Event) Result { return Result(c.Call4(at, uintptr(e), 0, 0, 0)) }
	default:
		return false
	}
	return true
}

// isHot are the symbols of a Hot.
var isHot = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range new(Hot).symbols() {
		m[s.name] = true
	}
	return m
}()
