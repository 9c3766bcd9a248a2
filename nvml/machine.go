package nvml

import (
	"cmp"
	"log/slog"
	"slices"
	"time"
)

// A lost device, or a library that is gone, is looked for again after retryFirst, and
// then after twice as long each time, up to retryMost: each time the library is
// initialised anew, for all devices.
const (
	retryFirst = 10 * time.Second
	retryMost  = 5 * time.Minute
)

// machine is the poller's view of all devices, kept over the library's being opened
// anew. One goroutine has it.
type machine struct {
	o     Options
	doing *activity
	log   *slog.Logger

	lib     *Library
	openErr error
	known   []*tracked // by index; every device that was ever there

	retryIn time.Duration // 0: nothing is lost
	retryAt time.Time
}

// tracked is a device and what is remembered of it.
type tracked struct {
	info   Info
	dev    *Device // nil: lost
	lost   error
	sample Sample
	totals totals
}

// turn samples every device that there is. Of a turn that takes long, what is known by
// then goes to publish in between.
func (m *machine) turn(now time.Time, publish func(*Reading)) *Reading {
	if m.lib == nil && m.retryIn == 0 || m.retryIn > 0 && !now.Before(m.retryAt) {
		m.open()
	}
	told := now
	for i, t := range m.known {
		if t.dev == nil {
			continue
		}
		m.sample(t)
		if at := m.o.Clock.Now(); at.Sub(told) >= watchedEvery && i < len(m.known)-1 && !m.doing.over() {
			publish(m.reading(now))
			told = at
		}
	}
	m.plan(now)
	return m.reading(now)
}

// reading is what is known now, in a turn that began then.
func (m *machine) reading(begun time.Time) *Reading {
	r := &Reading{Time: begun, Err: m.openErr, Devices: make([]DeviceReading, 0, len(m.known))}
	for _, t := range m.known {
		r.Devices = append(r.Devices, DeviceReading{t.info, t.sample, t.totals.get(), t.lost})
		if t.sample.Time.After(r.Time) {
			r.Time = t.sample.Time
		}
	}
	return r
}

// sample asks a device, and loses it, or the library with all of them.
func (m *machine) sample(t *tracked) {
	s, err := t.dev.Sample()
	if err == nil {
		t.sample = s
		t.totals.add(&s)
		return
	}
	if err == errOver {
		return
	}
	if e, ok := err.(*Error); ok && e.Code.lostLibrary() {
		m.openErr = err
		m.log.Warn("the GPUs' library must be opened anew", "error", err)
		for _, t := range m.known {
			t.lose(err)
		}
		return
	}
	m.log.Warn("GPU lost; the others go on", "gpu", t.info.Index, "uuid", t.info.UUID, "error", err)
	t.lose(err)
}

func (t *tracked) lose(err error) {
	t.dev = nil
	if t.lost == nil {
		t.lost = err
	}
}

// plan sets when what is lost is looked for.
func (m *machine) plan(now time.Time) {
	lost := m.openErr != nil || slices.ContainsFunc(m.known, func(t *tracked) bool { return t.dev == nil })
	switch {
	case !lost:
		m.retryIn = 0
	case m.retryIn == 0:
		m.retryIn = retryFirst
		m.retryAt = now.Add(m.retryIn)
	case !now.Before(m.retryAt):
		m.retryIn = min(2*m.retryIn, retryMost)
		m.retryAt = now.Add(m.retryIn)
	}
}

// open gives up the library that there is, and takes stock anew.
func (m *machine) open() {
	if err := m.close(); err != nil {
		m.log.Warn("closing the GPUs' library to open it anew", "error", err)
	}
	lib, err := open(m.o, m.doing)
	m.openErr = err
	if err != nil {
		for _, t := range m.known {
			t.lose(err)
		}
		return
	}
	m.lib = lib
	m.match(lib.Devices(), lib.missing)
}

// match gives the devices that are here to those that are known, by UUID, and takes
// up new ones. An index that answers with an error is a lost device: the known one of
// that index, or one that nothing is known of. One that this user may not see is none.
func (m *machine) match(devices []*Device, missing []missing) {
	m.known = slices.DeleteFunc(m.known, func(t *tracked) bool { return t.info.UUID == "" })
	here := map[string]*Device{}
	for _, d := range devices {
		here[d.info.UUID] = d
	}
	for _, t := range m.known {
		d := here[t.info.UUID]
		if d == nil {
			t.lose(&Error{"nvmlDeviceGetHandleByIndex_v2", GPUNotFound})
			continue
		}
		if t.lost != nil {
			m.log.Info("GPU found again", "gpu", d.info.Index, "uuid", d.info.UUID)
		}
		t.info, t.dev, t.lost = d.info, d, nil
		t.totals.anew()
		delete(here, d.info.UUID)
	}
	for _, d := range devices {
		if here[d.info.UUID] != nil {
			m.known = append(m.known, &tracked{info: d.info, dev: d})
		}
	}
	for _, miss := range missing {
		if miss.err.Code == NoPermission {
			continue
		}
		same := func(t *tracked) bool { return t.dev == nil && t.info.Index == miss.index }
		if i := slices.IndexFunc(m.known, same); i >= 0 {
			m.known[i].lost = miss.err
		} else {
			m.known = append(m.known, &tracked{info: Info{Index: miss.index}, lost: miss.err})
		}
	}
	slices.SortStableFunc(m.known, func(a, b *tracked) int { return cmp.Compare(a.info.Index, b.info.Index) })
}

// close gives up the library and the devices' handles, which end with it.
func (m *machine) close() error {
	for _, t := range m.known {
		t.dev = nil
	}
	if m.lib == nil {
		return nil
	}
	lib := m.lib
	m.lib = nil
	return lib.Close()
}
