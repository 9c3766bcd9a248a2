package engine

import "github.com/paddock-go/paddock/internal/backend/cpu"

// cpuDevice is the device of those who name none.
func cpuDevice(o Options) Device {
	return cpu.New(cpu.Options{Threads: o.Threads, NoAMX: o.NoAMX, PanelCache: o.PanelCache, Logger: o.Logger})
}
