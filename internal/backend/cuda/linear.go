package cuda

import "github.com/paddock-go/paddock/internal/prog"

// linear is a Linear or a Head: each form of the input that a family of kernels wants
// is made once, and then all weights of a format multiply it together.
type linear struct {
	*rig
	in    prog.BufID
	parts []part
	scale float32
	cap   float32
	forms []*rounded // those that may be wanted
}

func compileLinear(r *rig, o prog.Linear) (op, error) {
	l := &linear{rig: r, in: o.In, scale: 1}
	for _, p := range o.Parts {
		l.parts = append(l.parts, part{r.matrix(p.W), r.buf(p.Out), r.vector(p.Bias), r.width(p.Out)})
	}
	l.place()
	return l, nil
}

func compileHead(r *rig, o prog.Head) (op, error) {
	l := &linear{rig: r, in: o.In, scale: o.Scale, cap: o.Cap}
	l.parts = []part{{r.matrix(o.W), r.logits, r.vector(o.Bias), r.prog.Vocab}}
	l.place()
	return l, nil
}

// place gives the rounded inputs their places in the op's scratch.
func (o *linear) place() {
	var s scratchPlan
	for _, p := range o.parts {
		addForms(&s, &o.forms, o.rows(o.in, o.most()), asBuffer, p.w)
	}
	s.place(o.rig)
}

// asBuffer tells that a form is what a buffer's rows are.
func asBuffer(m multiplier, kind roundedKind, cols int) bool {
	return kind == asFloats && m.padded(cols) == cols
}

// scratchPlan collects what an op needs of its scratch, which is asked for once.
type scratchPlan struct {
	regions regions
	set     []func(base address)
}

// bytes is room for something; set is told where.
func (s *scratchPlan) bytes(n int64, set func(address)) {
	at := s.regions.take(n)
	if n > 0 {
		s.set = append(s.set, func(base address) { set(base + at) })
	}
}

// add is room for rounded rows.
func (s *scratchPlan) add(x *rounded, rows int) {
	x.take(rows, s.regions.take)
	s.set = append(s.set, func(base address) {
		for _, at := range []*address{&x.x, &x.d, &x.s} {
			*at += base
		}
	})
}

func (s *scratchPlan) place(r *rig) {
	base := r.scratch(s.regions.total)
	for _, set := range s.set {
		set(base)
	}
}

// count is where a step says how many rows a buffer has.
func (r *rig) count(id prog.BufID) address { return r.step + address(8*r.ofLogits(id)) }

// wholeRows are a buffer's rows in a step within b.
func (r *rig) wholeRows(id prog.BufID, b bucket) source {
	return wholeRows(r.buf(id), r.width(id), r.count(id), r.rows(id, b))
}

func (o *linear) launches(b bucket) []launch {
	rows := o.rows(o.in, b)
	var list []launch
	made := make(map[*rounded]bool)
	done := make([]bool, len(o.parts))
	for i, p := range o.parts {
		if done[i] {
			continue
		}
		m := multipliers[p.w.format]
		f := m.familyFor(rows)
		kind := m.kind(f)
		x := rounded{kind: kind, padded: p.w.cols, x: o.buf(o.in)}
		if !asBuffer(m, kind, p.w.cols) {
			form := formOf(o.forms, m, kind, p.w.cols)
			if x = *form; !made[form] {
				list = append(list, x.round(o.wholeRows(o.in, b), m))
				made[form] = true
			}
		}
		var together []part
		for j, q := range o.parts[i:] {
			if q.w.format == p.w.format && !done[i+j] && len(together) < mostParts {
				together, done[i+j] = append(together, q), true
			}
		}
		c := sharedRows(o.count(o.in), rows)
		c.scale = o.scale
		list = append(list, c.launch(m, f, x, together))
	}
	if o.cap != 0 {
		list = append(list, o.capLogits(rows))
	}
	return list
}

// capLogits is what follows a Head's products.
func (o *linear) capLogits(rows int) launch {
	width := o.parts[0].stride
	var a args
	a.at(o.step)
	a.at(o.parts[0].out)
	a.i32(width)
	a.f32(o.cap)
	return launch{kernel: "cap_logits", grid: dims{uint32(rows), ceilDiv(width, embedThreads), 1}, block: dims{embedThreads, 1, 1}, args: a}
}
