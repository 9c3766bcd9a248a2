package nvml

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// pcieEvery is how often rates over PCIe are measured at most: the library blocks for
// 20 ms to measure one.
const pcieEvery = 2 * time.Second

// errOver ends a sample whose poller is closed: of a library that is slow, one call is
// waited for and not all of them.
var errOver = errors.New("nvml: the poller is closed")

// Device is a GPU of a [Library].
type Device struct {
	lib    *Library
	handle handle
	info   Info

	// Guarded by the library's lock.
	absent         uint32 // readings that it can't give, a bit for each row of readings
	noV2           bool   // of its memory
	newTemperature bool   // the older call for it is not offered any more
	eccOf          uint32 // count of ECC errors that it keeps
	pcie           pcieState
	lists          [2]processList
}

// pcieState is what was read of PCIe last.
type pcieState struct {
	at               time.Time // of the rates, or of the counts
	rx, tx           float64
	rxBytes, txBytes uint64
	counts           bool // the device gave counts
}

// wraps tells whether counts that are said to have 64 bits began again at 32.
func (p *pcieState) wraps(rx, tx uint64) bool {
	return rx < p.rxBytes && p.rxBytes <= math.MaxUint32 || tx < p.txBytes && p.txBytes <= math.MaxUint32
}

// Info is what stays the same of the device.
func (d *Device) Info() Info { return d.info }

// Sample asks the device for everything that it can tell. What it can't is found out
// the first time and not asked for again; what failed otherwise is absent this once.
// The error is an *Error: the device is lost, or the library must be opened anew.
func (d *Device) Sample() (Sample, error) {
	d.lib.mu.Lock()
	defer d.lib.mu.Unlock()
	if d.lib.lib == nil {
		return Sample{}, &Error{"nvmlShutdown", Uninitialized}
	}
	defer d.lib.doing.begin(fmt.Sprintf("sampling GPU %d", d.info.Index), d.lib.clock)()
	s := Sample{Time: d.lib.clock.Now()}
	for i := range readings {
		if d.absent&(1<<i) != 0 {
			continue
		}
		if d.lib.doing.over() {
			return Sample{}, errOver
		}
		switch c := readings[i].read(d, &s); {
		case c.deviceGone(), c.lostLibrary():
			return Sample{}, &Error{readings[i].call, c}
		case c.forGood():
			d.absent |= 1 << i
		}
	}
	return s, nil
}

// identify fills in what stays the same.
func (d *Device) identify() *Error {
	c := &d.lib.call
	b := make([]byte, nameSize)
	if code := c.uuid(d.handle, &b[0], nameSize); code != Success {
		return &Error{"nvmlDeviceGetUUID", code}
	}
	d.info.UUID = clean(b)
	d.info.Name = text(func(to *byte, size uint32) Code { return c.name(d.handle, to, size) }, c.name != nil)
	d.info.PCI = d.busID()
	var major, minor int32
	if c.capability != nil && c.capability(d.handle, &major, &minor) == Success {
		d.info.Compute = fmt.Sprintf("%d.%d", major, minor)
	}
	var current, pending uint32
	if c.migMode != nil && c.migMode(d.handle, &current, &pending) == Success {
		d.info.MIG = current == 1
	}
	var s Sample
	code := readMemory(d, &s)
	if code.deviceGone() {
		return &Error{"nvmlDeviceGetMemoryInfo_v2", code}
	}
	if code == NotSupported {
		d.info.Unified = true
		readMemory(d, &s)
	}
	d.info.MemoryTotal = s.MemoryTotal.V
	return nil
}

// busID is the address in its long form; of an older library the only one.
func (d *Device) busID() string {
	var p pciV3
	id := p.id[:]
	switch c := &d.lib.call; {
	case c.pciV3 != nil && c.pciV3(d.handle, &p) == Success:
	case c.pciV2 != nil && c.pciV2(d.handle, &p) == Success:
		id = p.legacyID[:]
	default:
		return ""
	}
	return clean(id)
}
