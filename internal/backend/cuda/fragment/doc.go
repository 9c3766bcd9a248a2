// Package fragment says which lane and register of a warp hold which element of the
// matrices of the tensor-core instructions: mma.sync's A, B and C or D, and what
// ldmatrix leaves in the registers. It is plain data: the interpreter that runs the
// kernels in tests multiplies by it, and gpucheck holds it against a card.
//
// An interpreter can't be its own proof here: who misreads a layout writes kernel and
// interpreter wrong alike. So each table comes from the text of the PTX manual
// (sections "Matrix Fragments for mma.m16n8k8", "... m16n8k16 with floating point
// type", "... m16n8k16 with integer type", "... m16n8k32" and "ldmatrix"), and the
// tests hold it against a second statement, the strides of thread and value that
// CUTLASS's traits of sm_75 and sm_80 give. The third is the card itself, once one is
// at hand.
//
// All share one shape: 32 lanes are 8 groups of 4. With g = lane / 4 and t = lane % 4,
//
//	A  16 × K, by rows          B  K × 8, by columns       C, D  16 × 8
//	rows g and g+8              column g                    rows g and g+8
//	columns by t                rows by t                   columns 2t, 2t+1
//
// and a 32-bit register holds neighbours: 2 of 16 bits, 4 of 8 bits, lowest first.
package fragment
