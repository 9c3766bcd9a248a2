package fakedriver

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// Failure is a call that is to fail.
type Failure struct {
	Call string // the function's symbol; "": any
	Nth  int    // which call of it, from 1, counted from when Fail is called
	Code driver.Result
	// Sticky ends the context: every later call fails with the same code, as after a
	// kernel's fault or when the card falls off the bus.
	Sticky bool
	// Late lets the call itself succeed; the failure comes when its work would run,
	// and is sticky. Only for what goes into a stream.
	Late bool
}

// Fail adds a failure to the script. It panics if no function has that name.
func (d *Driver) Fail(f Failure) {
	if f.Call != "" && !known(f.Call) {
		panic("fakedriver: no function " + f.Call)
	}
	if f.Nth < 1 {
		panic("fakedriver: a failure's Nth counts from 1")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.script = append(d.script, f)
}

func known(name string) bool {
	for i := range calls {
		if calls[i].name == name {
			return true
		}
	}
	return false
}

// scripted is the code that the script has for this call.
func (d *Driver) scripted(c call) driver.Result {
	for i := range d.script {
		f := &d.script[i]
		if f.Late || f.Nth == 0 || f.Call != "" && f.Call != calls[c].name {
			continue
		}
		if f.Nth--; f.Nth > 0 {
			continue
		}
		if f.Sticky {
			return d.fail(f.Code, fmt.Errorf("scripted: %s fails with %d", calls[c].name, f.Code))
		}
		return f.Code
	}
	return driver.Success
}

// late is the code with which work that is put into a stream now will end.
func (d *Driver) late(c call) driver.Result {
	for i := range d.script {
		f := &d.script[i]
		if !f.Late || f.Nth == 0 || f.Call != "" && f.Call != calls[c].name {
			continue
		}
		if f.Nth--; f.Nth == 0 {
			return f.Code
		}
	}
	return driver.Success
}
