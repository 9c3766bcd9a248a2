// Package kern holds the CPU kernels: weights repacked into panels, the dot
// products over them, activation rounding, norms, gates, rotary embedding and
// attention over a paged cache.
//
// Portable Go defines every result to the bit. The variants for AVX2, AVX-512
// and NEON repeat its float operations lane by lane in the same order, with a
// virtual vector of 16 lanes everywhere and one tree for horizontal sums, and
// are tested against it. No result depends on how many rows or panels a call
// covers. (NaN is NaN everywhere; its payload is not defined.)
//
// Weights lie in panels of 16 output rows: a lane is an output. Inside a block
// of the inner dimension k, groups of 4 k lie together, which is the operand
// order of VPDPBUSD, of SDOT and of the second operand of AMX tiles:
//
//	        lane 0        lane 1              lane 15
//	      ┌─────────────┬─────────────┬─ ─ ─┬─────────────┐
//	group │ k0 k1 k2 k3 │ k0 k1 k2 k3 │     │ k0 k1 k2 k3 │  64 bytes of 8-bit values
//	      └─────────────┴─────────────┴─ ─ ─┴─────────────┘
//
// Activations are row major, so that 4 k of a row are one 32-bit broadcast.
//
// The AMX level is the AVX-512 one with tiles for products of 16 rows and more:
// vectors expand a part of two panels to signed bytes, the tile unit multiplies
// it with blocks of rows, vectors scale the exact sums into the outputs, phase
// after phase through buffers in the first cache (amx_amd64.go). Machines with
// tiles are rare among those that build this, so a test interprets the tile
// phase's machine code instruction by instruction, by the vendor's description,
// on the memory that it was lent and no other, and everything around it runs as
// it is (machine_amd64_test.go); and at run time the unit computes a product of
// each kind before it is used, and is not used if a bit is wrong.
//
// No function allocates, locks or calls back, except for constructors. Calls
// are bounded by their arguments only: callers cut work into tiles that take
// well under 100 µs, since assembly is not preempted.
package kern

//go:generate go run -C _asm . -out ..
