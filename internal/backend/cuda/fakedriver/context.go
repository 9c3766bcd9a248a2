package fakedriver

import "github.com/paddock-go/paddock/internal/backend/cuda/driver"

// primary is the handle of the card's one context.
const primary driver.Context = 0xface_c000

func (d *Driver) primaryCtxRetain(c *driver.Context, device driver.Device) driver.Result {
	if r := d.enter(cuDevicePrimaryCtxRetain); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if device != 0 {
		return invalidDevice
	}
	if d.retained == 0 {
		d.open()
	}
	d.retained++
	*c = primary
	return driver.Success
}

// open makes the context's tables.
func (d *Driver) open() {
	d.sticky, d.fault = driver.Success, nil
	d.mem = newMemory(&d.opts, d.card.Memory)
	d.mem.take(ofContext)
	d.pinned = nil
	d.modules = map[driver.Module]*module{}
	d.funcs = map[driver.Function]*function{}
	d.streams = map[driver.Stream]*stream{}
	d.order = nil
	d.events = map[driver.Event]*event{}
	d.graphs = map[driver.Graph]*graph{}
	d.execs = map[driver.GraphExec]*graphExec{}
	d.captures = nil
}

// primaryCtxRelease gives a share back. With the last one the context goes, with all
// that is in it: Live lists what was still there, until the next context.
func (d *Driver) primaryCtxRelease(device driver.Device) driver.Result {
	if r := d.enter(cuDevicePrimaryCtxRelease); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if device != 0 {
		return invalidDevice
	}
	if d.retained == 0 {
		return invalidContext
	}
	d.retained--
	return driver.Success
}

func (d *Driver) ctxSetCurrent(c driver.Context) driver.Result {
	if r := d.enter(cuCtxSetCurrent); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	switch c {
	case 0:
		delete(d.current, thread())
	case primary:
		if d.retained == 0 {
			return contextDestroyed
		}
		d.current[thread()] = c
	default:
		return invalidContext
	}
	return driver.Success
}

// sound says whether the calling thread has a context that can be used.
func (d *Driver) sound() driver.Result {
	if d.current[thread()] != primary {
		return invalidContext
	}
	if d.retained == 0 {
		return contextDestroyed
	}
	return d.sticky
}
