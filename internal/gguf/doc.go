// Package gguf reads GGUF model files, versions 1 to 3, little-endian, as if
// each had been made by an enemy: every count, length, offset, type and
// alignment is checked against the bytes that are there before anything is
// allocated or viewed, and a file cut short while it is mapped is an error and
// not a crash. It knows the format and nothing of models.
//
//	┌───────┬─────────┬──────────┬──────┐
//	│ magic │ version │ tensors  │ keys │  counts (version 1: 32 bits, later: 64)
//	├───────┴─────────┴──────────┴──────┤
//	│ keys: name, value type, value …   │
//	├───────────────────────────────────┤  all of this is the header: copied at
//	│ tensors: name, dimensions, format,│  Open, so that keys outlive the mapping
//	│          offset in the data …     │
//	├───────────────────────────────────┤  padding to the alignment
//	│ data: the tensors, each aligned   │  viewed in place, never copied
//	└───────────────────────────────────┘
package gguf
