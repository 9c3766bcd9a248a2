// Package kernels holds gpucheck's own kernels: those that show how a card lays out
// the fragments of its tensor-core instructions, and those that measure what it can
// do at most.
package kernels

import "embed"

//go:generate go run ../../../backend/cuda/ptx/_compile

// Files are the modules, NAME.ptx.
//
//go:embed *.ptx
var Files embed.FS
