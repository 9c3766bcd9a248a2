package cuda

import "github.com/paddock-go/paddock/internal/prog"

// takeRows is prog.TakeRows.
type takeRows struct {
	*rig
	prog.TakeRows
}

func compileTakeRows(r *rig, o prog.TakeRows) (op, error) { return &takeRows{r, o}, nil }

func (o *takeRows) launches(b bucket) []launch {
	return o.copyRows("take_rows", o.buf(o.Out), o.In, b)
}

// output is prog.Output.
type output struct {
	*rig
	prog.Output
}

func compileOutput(r *rig, o prog.Output) (op, error) { return &output{r, o}, nil }

func (o *output) launches(b bucket) []launch { return o.copyRows("output", o.logits, o.In, b) }

// copyRows fills rows that want logits from rows of a buffer.
func (r *rig) copyRows(kernel string, to address, from prog.BufID, b bucket) []launch {
	if b.logits == 0 {
		return nil
	}
	width := r.width(from)
	var a args
	a.at(r.step)
	a.at(to)
	a.at(r.buf(from))
	a.i32(width)
	threads := uint32(rowThreads(width, actThreads))
	return []launch{{kernel: kernel, grid: dims{uint32(b.logits), 1, 1}, block: dims{threads, 1, 1}, args: a}}
}
