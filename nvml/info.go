package nvml

// Info is what stays the same of a device.
type Info struct {
	Index int    // the driver's, from 0; not CUDA's, which can differ
	Name  string // as the maker calls it
	UUID  string
	PCI   string // bus id, such as 00000000:01:00.0; empty where there is none
	// MemoryTotal is in bytes: the device's own, or the machine's where Unified; 0
	// where it could not be learnt.
	MemoryTotal uint64
	// Unified: the device has no framebuffer of its own, the library tells nothing of
	// its memory, and what a sample shows is the system's.
	Unified bool
	// MIG: the card is divided into instances. It is shown whole.
	MIG     bool
	Driver  string // version of the driver
	CUDA    string // newest version of CUDA that the driver offers, such as 12.8
	Compute string // compute capability, such as 9.0; empty where it could not be learnt
}
