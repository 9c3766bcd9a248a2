// Package cpu runs programs on the processor. Weights are repacked at load into
// the panels of package kern; a runner owns the KV cache, the activation
// buffers and a few worker goroutines.
//
// A program becomes a list of phases, each a number of items that any worker
// may take: panels of output rows, rows of activations, heads of attention.
// Nothing is split along an inner dimension, so that neither the number of
// workers nor who takes what changes a bit: results equal those of package ref.
package cpu
