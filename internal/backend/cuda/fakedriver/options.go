package fakedriver

// Options are what a fake driver is made of. The zero value has one card.
type Options struct {
	Card Card // what is zero is taken from DefaultCard

	// Version is the CUDA that the driver offers, 1000 × major + 10 × minor. 0: 12.4.
	Version int
	// NoDevice leaves the machine without a card: cuInit says so.
	NoDevice bool
	// Without are symbols that the library lacks, as an older one would.
	Without []string
	// NoExecute runs no kernel: launches only count and take their time. Copies and
	// sets are carried out.
	NoExecute bool
	// Pace is when work that was put into a stream runs.
	Pace Pace
	// Seed draws the order in which the interpreter runs warps and lanes, and the pace.
	Seed uint64
}

// Card are the facts of the card.
type Card struct {
	Name            string
	UUID            [16]byte
	Memory          uint64 // bytes in all
	Major, Minor    int    // compute capability
	Multiprocessors int
	SharedOptin     int // most shared memory of a block in bytes, where a function asks for it
	Integrated      bool
	// Bare leaves all of the memory to allocations. Else the context takes a 64th, each
	// module a 4096th and each instantiated graph a 65536th.
	Bare bool
}

// DefaultCard is the least that the kernels are made for: compute capability 8.0, but
// with the shared memory of 8.6, which is less.
func DefaultCard() Card {
	return Card{
		Name: "Fake sm_80", UUID: [16]byte{0xfa, 0xce, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14},
		Memory: 1 << 30, Major: 8, Multiprocessors: 8, SharedOptin: 99 << 10,
	}
}

func (o *Options) card() Card {
	c, d := o.Card, DefaultCard()
	if c.Name == "" {
		c.Name = d.Name
	}
	if c.UUID == ([16]byte{}) {
		c.UUID = d.UUID
	}
	if c.Memory == 0 {
		c.Memory = d.Memory
	}
	if c.Major == 0 {
		c.Major, c.Minor = d.Major, d.Minor
	}
	if c.Multiprocessors == 0 {
		c.Multiprocessors = d.Multiprocessors
	}
	if c.SharedOptin == 0 {
		c.SharedOptin = d.SharedOptin
	}
	return c
}
