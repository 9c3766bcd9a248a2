package driver

import (
	"fmt"
	"unsafe"
)

// leastVersion is CUDA 11.4: the first whose driver has all of the functions.
const leastVersion = 11040

// Driver is a driver library that is ready to be used. It may be used by several
// goroutines at once, Close excepted; but for those about the driver as a whole, a
// call acts on the context that is current on the calling thread.
type Driver struct {
	table   Table
	lib     Library
	started bool // cuInit has succeeded
}

// New binds all functions of a library and starts it. The library belongs to the
// Driver from then on, also where the error is not nil.
func New(l Library) (*Driver, error) {
	d := &Driver{lib: l}
	err := d.start()
	if err == nil {
		return d, nil
	}
	if !d.started {
		l.Close() // the reason is why it could not be used
	}
	return nil, err
}

// start asks for the version before it binds the rest: an old driver lacks some of the
// functions, and their names say nothing to who has it.
func (d *Driver) start() error {
	if err := bind(d.lib, d.table.base()); err != nil {
		return err
	}
	if err := d.err("cuInit", d.table.Init(0)); err != nil {
		return err
	}
	d.started = true
	version, err := d.Version()
	if err != nil {
		return err
	}
	if version < leastVersion {
		return &VersionError{Got: version, Least: leastVersion}
	}
	if err := bind(d.lib, d.table.symbols()); err != nil {
		return err
	}
	return bind(d.lib, new(Hot).symbols())
}

// Name is the library's.
func (d *Driver) Name() string { return d.lib.Name() }

// Close says that no call will follow. The library stays loaded: once it has started
// it has threads, and things to do at the end of the process, which must not lose
// their code; it takes nothing more than that.
func (d *Driver) Close() error { return nil }

// Version is the CUDA that the driver offers: 1000 × major + 10 × minor.
func (d *Driver) Version() (int, error) {
	var v int32
	err := d.err("cuDriverGetVersion", d.table.DriverGetVersion(&v))
	return int(v), err
}

// Count is how many devices there are.
func (d *Driver) Count() (int, error) {
	var n int32
	err := d.err("cuDeviceGetCount", d.table.DeviceGetCount(&n))
	return int(n), err
}

// Facts are what is asked of a device once.
type Facts struct {
	Device             Device
	Name               string
	UUID               string // GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, as nvidia-smi prints it
	Major, Minor       int    // compute capability
	Multiprocessors    int
	MaxThreads         int    // of a block
	MaxBlock           [3]int // threads of a block in x, y and z
	MaxGrid            [3]int // blocks of a grid
	MaxShared          int    // shared memory of a block in bytes, where a function asks for it
	Memory             uint64 // bytes in all
	SharesSystemMemory bool
}

// Facts asks for those of a device.
func (d *Driver) Facts(ordinal int) (Facts, error) {
	var f Facts
	if err := d.err("cuDeviceGet", d.table.DeviceGet(&f.Device, int32(ordinal))); err != nil {
		return f, err
	}
	var name [256]byte
	if err := d.err("cuDeviceGetName", d.table.DeviceGetName(&name[0], int32(len(name)), f.Device)); err != nil {
		return f, err
	}
	f.Name = text(&name[0])
	var u [16]byte
	if err := d.err("cuDeviceGetUuid_v2", d.table.DeviceGetUuid(&u, f.Device)); err != nil {
		return f, err
	}
	f.UUID = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	if err := d.err("cuDeviceTotalMem_v2", d.table.DeviceTotalMem(&f.Memory, f.Device)); err != nil {
		return f, err
	}
	var shares int
	for _, a := range []struct {
		attribute Attribute
		to        *int
	}{
		{CapabilityMajor, &f.Major}, {CapabilityMinor, &f.Minor}, {Multiprocessors, &f.Multiprocessors},
		{MaxThreadsPerBlock, &f.MaxThreads}, {MaxSharedPerBlockOptin, &f.MaxShared}, {Integrated, &shares},
		{MaxBlockX, &f.MaxBlock[0]}, {MaxBlockX + 1, &f.MaxBlock[1]}, {MaxBlockX + 2, &f.MaxBlock[2]},
		{MaxGridX, &f.MaxGrid[0]}, {MaxGridX + 1, &f.MaxGrid[1]}, {MaxGridX + 2, &f.MaxGrid[2]},
	} {
		var v int32
		if err := d.err("cuDeviceGetAttribute", d.table.DeviceGetAttribute(&v, a.attribute, f.Device)); err != nil {
			return f, err
		}
		*a.to = int(v)
	}
	f.SharesSystemMemory = shares != 0
	return f, nil
}

// Retain takes a share in the device's primary context; Release gives it back.
func (d *Driver) Retain(device Device) (Context, error) {
	var c Context
	err := d.err("cuDevicePrimaryCtxRetain", d.table.DevicePrimaryCtxRetain(&c, device))
	return c, err
}

// Release gives back what Retain took.
func (d *Driver) Release(device Device) error {
	return d.err("cuDevicePrimaryCtxRelease_v2", d.table.DevicePrimaryCtxRelease(device))
}

// SetCurrent makes a context the calling thread's; 0: none.
func (d *Driver) SetCurrent(c Context) error {
	return d.err("cuCtxSetCurrent", d.table.CtxSetCurrent(c))
}

// err is the error of a call's result.
func (d *Driver) err(call string, code Result) error {
	if code == Success {
		return nil
	}
	e := &Error{Call: call, Code: code}
	var at *byte
	if d.table.GetErrorName != nil && d.table.GetErrorName(code, &at) == Success && at != nil {
		e.Name = text(at)
	}
	if d.table.GetErrorString != nil && d.table.GetErrorString(code, &at) == Success && at != nil {
		e.Text = text(at)
	}
	return e
}

// maxText bounds a text of the driver.
const maxText = 1 << 16

// text is a C string.
func text(at *byte) string {
	n := 0
	for n < maxText && *(*byte)(unsafe.Add(unsafe.Pointer(at), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(at, n))
}
