package nvml

import (
	"maps"
	"slices"
	"unsafe"
)

const (
	// listTries is how often a list that grew meanwhile is asked for again.
	listTries = 4
	// listSlack is room for processes that start between the sizing call and the next.
	listSlack = 8
	// listMost bounds what a library that answers nonsense makes us allocate.
	listMost = 1 << 16
)

// processList keeps the room for a list between samples.
type processList struct {
	room []processV2
}

// readProcesses merges what computes and what draws: of a process that is in both
// lists the larger figure. Where a device has one of the two lists, that is all its
// processes.
func readProcesses(d *Device, s *Sample) Code {
	c := &d.lib.call
	compute, first := d.lists[0].read(d.handle, c.compute, c.computeV1)
	if first != Success && !first.forGood() {
		return first
	}
	graphics, second := d.lists[1].read(d.handle, c.graphics, c.graphicsV1)
	if second != Success && !second.forGood() {
		return second
	}
	if first != Success && second != Success {
		return first
	}
	if compute == nil {
		compute = graphics
	}
	for pid, m := range graphics {
		if had, ok := compute[pid]; !ok || m.OK && m.V > had.V {
			compute[pid] = m
		}
	}
	list := make([]Process, 0, len(compute))
	for _, pid := range slices.Sorted(maps.Keys(compute)) {
		list = append(list, Process{pid, compute[pid]})
	}
	s.Processes = some(list)
	return Success
}

// read gives a list by pid. It may grow between the call that says how long it is and
// the one that gives it, and again: the room grows with it, a bounded number of
// times; then the sample is without.
func (l *processList) read(h handle, call func(handle, *uint32, *processV2) Code, old func(handle, *uint32, *processV1) Code) (map[int]Opt[uint64], Code) {
	if call == nil && old == nil {
		return nil, FunctionNotFound
	}
	for range listTries {
		n := uint32(len(l.room))
		switch c := l.ask(h, call, old, &n); {
		case c == Success && int(n) <= len(l.room):
			return byPID(l.room[:n]), Success
		case c == Success, c == InsufficientSize && n > listMost:
			return nil, UnknownError
		case c != InsufficientSize:
			return nil, c
		}
		// There were drivers whose entries had 8 bytes more than their interface says:
		// what lies behind the room is ours too.
		size := max(int(n), len(l.room)) + listSlack
		l.room = make([]processV2, size, size*4/3+1)
	}
	return nil, InsufficientSize
}

// ask calls for the list. Of the older layout, whose entries are smaller, the room is
// used and then spread out in place, from the end.
func (l *processList) ask(h handle, call func(handle, *uint32, *processV2) Code, old func(handle, *uint32, *processV1) Code, n *uint32) Code {
	to := unsafe.SliceData(l.room)
	if call != nil {
		return call(h, n, to)
	}
	small := (*processV1)(unsafe.Pointer(to))
	c := old(h, n, small)
	if c == Success && *n > 0 && int(*n) <= len(l.room) {
		entries := unsafe.Slice(small, *n)
		for i := int(*n) - 1; i >= 0; i-- {
			e := entries[i]
			l.room[i] = processV2{pid: e.pid, memory: e.memory}
		}
	}
	return c
}

// byPID adds up the entries of a process, which has one for each instance of a
// divided card that it uses.
func byPID(entries []processV2) map[int]Opt[uint64] {
	m := make(map[int]Opt[uint64], len(entries))
	for _, e := range entries {
		had := m[int(e.pid)]
		if e.memory != memoryHidden {
			had = some(had.V + e.memory)
		}
		m[int(e.pid)] = had
	}
	return m
}
