package cuda

import "github.com/paddock-go/paddock/internal/prog"

// restThreads is the values of a head's rest that one block of threads copies.
const restThreads = 64

// headLinear is prog.HeadLinear: the heads' parts of all rows are rounded head by head,
// and each head's rows multiply its matrix.
type headLinear struct {
	*rig
	prog.HeadLinear
	w     *matrix
	apart int // rows between heads in a form
	forms []*rounded
}

func compileHeadLinear(r *rig, o prog.HeadLinear) (op, error) {
	h := &headLinear{rig: r, HeadLinear: o, w: r.matrix(o.W)}
	h.apart = int(ceilDiv(r.rows(o.In, r.most()), panelRows)) * panelRows
	var s scratchPlan
	addForms(&s, &h.forms, h.apart*h.w.stack, gathered, h.w)
	s.place(r)
	return h, nil
}

func (o *headLinear) launches(b bucket) []launch {
	rows, count := o.rows(o.In, b), o.count(o.In)
	m := multipliers[o.w.format]
	f := m.familyFor(rows)
	form := formOf(o.forms, m, m.kind(f), o.w.cols)
	inHead, outHead := o.width(o.In)/o.w.stack, o.width(o.Out)/o.w.stack
	src := source{
		at: o.buf(o.In), stride: o.width(o.In), cols: o.w.cols, count: count, most: rows,
		groups: o.w.stack, apart: inHead, toRow: 1, toGroup: o.apart,
	}
	c := call{counts: count, apart: o.apart, outApart: outHead, groups: o.w.stack, rows: rows, scale: 1}
	list := []launch{
		form.round(src, m),
		c.launch(m, f, *form, []part{{w: o.w, out: o.buf(o.Out), stride: o.width(o.Out)}}),
	}
	if rest := inHead - o.w.cols; rest > 0 {
		var a args
		a.at(count)
		a.at(o.buf(o.Out))
		a.at(o.buf(o.In))
		a.i32(outHead)
		a.i32(inHead)
		a.i32(o.w.rows)
		a.i32(o.w.cols)
		list = append(list, launch{kernel: "copy_rests", grid: dims{uint32(rows), ceilDiv(rest, restThreads), uint32(o.w.stack)}, block: dims{restThreads, 1, 1}, args: a})
	}
	return list
}
