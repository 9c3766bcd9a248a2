package cuda

// rounding is what a launch of one of roundedKinds' kernels does.
type rounding struct {
	src source
	to  rounded
}

// fusion is a kernel that does what two do one after the other: it makes rows, writes
// them, and rounds what it has just written. Every value goes through the same
// operations as in the two, so no bit is another; what is saved is a launch, and the way
// to memory and back.
type fusion struct {
	kernel string
	second bool // its blocks are those of the rounding, not those of what makes the rows
}

// fusions are by the names of the two kernels.
var fusions = map[[2]string]fusion{
	{"norm_rms", "round_q8x32"}:    {kernel: "norm_rms_q8x32"},
	{"norm_rms", "round_q8x256"}:   {kernel: "norm_rms_q8x256"},
	{"norm_layer", "round_q8x32"}:  {kernel: "norm_layer_q8x32"},
	{"norm_layer", "round_q8x256"}: {kernel: "norm_layer_q8x256"},
	{"gate_mul_4", "round_q8x32"}:  {kernel: "gate_mul_q8x32", second: true},
	{"gate_mul_4", "round_q8x256"}: {kernel: "gate_mul_q8x256", second: true},
}

// stepLaunches are the kernels of a step within b, in order; unfused leaves two launches
// where one does.
func stepLaunches(ops []op, b bucket, unfused bool) []launch {
	var list []launch
	for _, o := range ops {
		for _, x := range o.launches(b) {
			if n := len(list); n > 0 && !unfused {
				if both, ok := fuse(list[n-1], x); ok {
					list[n-1] = both
					continue
				}
			}
			list = append(list, x)
		}
	}
	return list
}

// fuse is both launches in one, where there is a kernel for that: the second must round
// whole rows, in order, that the first has made, and they must be whole blocks. Its
// arguments are the first's and where the rounded rows go.
//
//	norm_rms        step in … out …
//	round_q8x32                 out …  quants scales
//	norm_rms_q8x32  step in … out …    quants scales
func fuse(first, second launch) (launch, bool) {
	f, ok := fusions[[2]string{first.kernel, second.kernel}]
	r := second.rounds
	if !ok || first.makes.at == 0 || first.makes != r.src || r.to.padded != r.src.cols || r.src.cols%r.to.block() != 0 {
		return launch{}, false
	}
	both := launch{kernel: f.kernel, grid: first.grid, block: first.block, shared: first.shared, args: first.args.clone()}
	if f.second {
		both.grid, both.block, both.shared = second.grid, second.block, second.shared
	}
	r.to.planesTo(&both.args)
	return both, true
}
