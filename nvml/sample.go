package nvml

import "time"

// Sample is what a device said at one time. What it can't say is absent.
type Sample struct {
	Time time.Time // when its first value was asked for

	Utilization       Opt[float64] // share of the time in which a kernel ran, 0 to 1
	MemoryUtilization Opt[float64] // share of the time in which memory was read or written, 0 to 1

	// MemoryUsed, MemoryFree and MemoryTotal are bytes of the device, or, where its Info says
	// unified, of the system. Used is without what the driver keeps for itself where
	// the library tells the two apart; free is what the library says is left, less than
	// the rest of the total then.
	MemoryUsed, MemoryFree, MemoryTotal Opt[uint64]

	Temperature Opt[float64] // of the GPU, degrees Celsius
	Power       Opt[float64] // watts
	PowerLimit  Opt[float64] // watts, the limit in force
	Energy      Opt[float64] // joules since the driver was loaded

	SMClock, MemoryClock Opt[float64] // hertz

	// PCIeRxBytes and PCIeTxBytes are the device's own counts, of newer ones. PCIeRx
	// and PCIeTx are bytes in a second: of a device that counts, the mean since its
	// sample before; of others, what the library measures over 20 ms, for which it
	// blocks, so it is asked every 2 s at most and the answer shown until then. Rx is
	// what the device received.
	PCIeRxBytes, PCIeTxBytes Opt[uint64]
	PCIeRx, PCIeTx           Opt[float64]

	// ECCCorrected and ECCUncorrected are errors over the device's life, or since the
	// driver was loaded where it keeps no such count.
	ECCCorrected, ECCUncorrected Opt[uint64]

	Fan       Opt[float64]  // share of its full speed that is intended; may exceed 1
	Throttle  Opt[Throttle] // why clocks are below their highest
	Processes Opt[[]Process]

	pcieAt time.Time // when the library measured PCIeRx and PCIeTx; zero of a device that counts
}

// Process is a process with a context on a device, for computing or for graphics.
type Process struct {
	PID int
	// Memory is what it holds, in bytes; the larger figure where it is in both lists
	// of the library. Absent where the driver hides it, as in a container.
	Memory Opt[uint64]
}
