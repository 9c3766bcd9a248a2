// Package cuda runs programs on an NVIDIA GPU through the driver alone.
//
//	prog.Program ─ compile ─▶ []op ─ launches(bucket) ─▶ []launch ─ fuse ─▶ stream, or a graph
//
// A runner's device memory is reserved when it is made and never moves: weights,
// activations, the KV cache, and one Step that holds what changes from one step to
// the next. So the arguments of all kernels are fixed, and the launches of a bucket of
// batch sizes are a list that is made once and, for decode steps, captured as a graph.
//
// Quantised weights are multiplied as internal/quant defines it, activations rounded
// to 8 bits and integer sums exact; only the order in which the blocks of a row are
// added is this backend's own. See ptx for the kernels, which are CUDA C++ compiled to
// PTX ahead of time.
package cuda
