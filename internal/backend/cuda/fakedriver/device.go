package fakedriver

import (
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

func (d *Driver) init(flags uint32) driver.Result {
	if r := d.enter(cuInit); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	switch {
	case flags != 0:
		return driver.InvalidValue
	case d.opts.NoDevice:
		return driver.NoDevice
	}
	d.started = true
	return driver.Success
}

func (d *Driver) driverGetVersion(version *int32) driver.Result {
	if r := d.enter(cuDriverGetVersion); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if version == nil {
		return driver.InvalidValue
	}
	*version = int32(d.opts.Version)
	return driver.Success
}

func (d *Driver) getErrorName(code driver.Result, text **byte) driver.Result {
	return d.errorText(cuGetErrorName, 0, code, text)
}

func (d *Driver) getErrorString(code driver.Result, text **byte) driver.Result {
	return d.errorText(cuGetErrorString, 1, code, text)
}

func (d *Driver) errorText(c call, which int, code driver.Result, text **byte) driver.Result {
	if r := d.enter(c); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	t, ok := codeTexts[code]
	if !ok || text == nil {
		if text != nil {
			*text = nil
		}
		return driver.InvalidValue
	}
	b, ok := d.texts[t[which]]
	if !ok {
		b = append([]byte(t[which]), 0)
		d.texts[t[which]] = b
	}
	*text = &b[0]
	return driver.Success
}

func (d *Driver) deviceGetCount(count *int32) driver.Result {
	if r := d.enter(cuDeviceGetCount); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	*count = 1
	return driver.Success
}

func (d *Driver) deviceGet(device *driver.Device, ordinal int32) driver.Result {
	if r := d.enter(cuDeviceGet); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if ordinal != 0 {
		return invalidDevice
	}
	*device = 0
	return driver.Success
}

func (d *Driver) deviceGetName(name *byte, size int32, device driver.Device) driver.Result {
	if r := d.enter(cuDeviceGetName); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if device != 0 {
		return invalidDevice
	}
	if size < 1 {
		return driver.InvalidValue
	}
	to := unsafe.Slice(name, size)
	n := copy(to[:size-1], d.card.Name)
	to[n] = 0
	return driver.Success
}

func (d *Driver) deviceTotalMem(bytes *uint64, device driver.Device) driver.Result {
	if r := d.enter(cuDeviceTotalMem); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if device != 0 {
		return invalidDevice
	}
	*bytes = d.card.Memory
	return driver.Success
}

func (d *Driver) deviceGetUUID(uuid *[16]byte, device driver.Device) driver.Result {
	if r := d.enter(cuDeviceGetUuid); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if device != 0 {
		return invalidDevice
	}
	*uuid = d.card.UUID
	return driver.Success
}

// The card's fixed attributes, by CUdevice_attribute.
const (
	maxThreads       = 1024
	maxShared        = 48 << 10 // of a block that does not ask for more
	maxGridX         = 1<<31 - 1
	maxGridYZ        = 65535
	maxBlockZ        = 64
	warpSize         = 32
	registersOfBlock = 65536
)

var attributes = map[driver.Attribute]int32{
	1: maxThreads, 2: maxThreads, 3: maxThreads, 4: maxBlockZ, // threads of a block; in x, y, z
	5: maxGridX, 6: maxGridYZ, 7: maxGridYZ, // blocks of a grid in x, y, z
	8:  maxShared,
	10: warpSize,
	12: registersOfBlock,
	13: 1_000_000,       // clock, kHz
	20: 0,               // compute mode: default
	31: 1,               // concurrent kernels
	32: 0,               // ECC
	33: 1, 34: 0, 50: 0, // PCI bus, device, domain
	36: 1_000_000, // memory clock, kHz
	37: 384,       // memory bus, bits
	38: 4 << 20,   // L2 cache
	39: 2048,      // threads of a multiprocessor
	40: 1,         // copy engines
	41: 1,         // unified addresses
	82: registersOfBlock,
}

func (d *Driver) deviceGetAttribute(value *int32, attribute driver.Attribute, device driver.Device) driver.Result {
	if r := d.enter(cuDeviceGetAttribute); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if device != 0 {
		return invalidDevice
	}
	switch attribute {
	case driver.Multiprocessors:
		*value = int32(d.card.Multiprocessors)
	case driver.CapabilityMajor:
		*value = int32(d.card.Major)
	case driver.CapabilityMinor:
		*value = int32(d.card.Minor)
	case driver.MaxSharedPerBlockOptin:
		*value = int32(d.card.SharedOptin)
	case driver.Integrated:
		*value = 0
		if d.card.Integrated {
			*value = 1
		}
	default:
		v, ok := attributes[attribute]
		if !ok {
			return driver.InvalidValue
		}
		*value = v
	}
	return driver.Success
}
