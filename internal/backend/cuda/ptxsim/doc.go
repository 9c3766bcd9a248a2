// Package ptxsim runs PTX, the text form of NVIDIA's machine-independent
// assembly, in plain Go, as the driver and a card of compute capability 8.0 would.
// It is for tests and for internal/cmd/gpucheck: nothing that serves imports it.
//
//	Parse ──► Module ──► Kernel ─┐
//	                             ├─► Machine.Launch ──► nil or a *Fault
//	NewMachine ──► Alloc, Write ─┘
//
// Three things are stricter than a card. Each access is held against its
// allocation, its alignment and what was ever written there. Shared memory has no
// data race within a block, and global memory none between blocks of one launch,
// though a card would let most of them pass. Warps, and lanes of a warp that took
// different branches, run in an order that Options.Seed draws.
//
// The blocks of a launch run one after another, so that a seed gives one order and a
// fault can be had again. A Module may serve machines in several goroutines.
//
// What is not found: a race between threads of one block on global memory; that a
// block's .nc load came before its own write; and, where blocks touch different bytes
// of one word, one order of two (see race.go); an access beyond a part of an allocation
// that falls into another part of it, as of an op's scratch. A .func must be inlined.
//
// What it does not know it refuses in Parse, by name and line: an instruction that
// is accepted here does what the PTX manual (ISA 7.0) says, apart from the .approx
// functions, whose error is below that of a card.
package ptxsim
