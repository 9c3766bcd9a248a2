package cuda

import "github.com/paddock-go/paddock/internal/prog"

// fewExpertRows is the most rows whose experts are multiplied choice by choice; from
// there on the rows of an expert are brought together, so that its weights are read
// once for all of them.
const fewExpertRows = 4

// experts is prog.Experts. A choice of row and rank has a place in the op's own
// buffers, pair = row × used + rank for few rows, else a slot as group_rows deals them:
//
//	few    round rows ─▶ gate, up by pair ─▶ join ─▶ round ─▶ down by pair ─▶ sum
//	many   group ─▶ gather, round ─▶ gate, up by expert ─▶ join ─▶ round ─▶ down ─▶ sum
type experts struct {
	*rig
	prog.Experts
	used int // experts of a row

	gate, up, down               part
	inForms                      []*rounded // of the input
	hiddenForms                  []*rounded // of what gate and up make
	counts, offsets, from, slots address
}

func compileExperts(r *rig, o prog.Experts) (op, error) {
	e := &experts{rig: r, Experts: o, used: r.width(o.Ids)}
	gate, down := r.matrix(o.Gate), r.matrix(o.Down)
	e.gate = part{w: gate, bias: r.vector(o.GateBias), stride: gate.rows}
	e.up = part{w: r.matrix(o.Up), bias: r.vector(o.UpBias), stride: gate.rows}
	e.down = part{w: down, bias: r.vector(o.DownBias), stride: down.rows}

	most := r.rows(o.In, r.most())
	pairs := most * e.used
	slots := e.mostSlots(most)
	var s scratchPlan
	addForms(&s, &e.inForms, slots, gathered, e.gate.w, e.up.w)
	addForms(&s, &e.hiddenForms, slots, gathered, down)
	for _, p := range []*part{&e.gate, &e.up, &e.down} {
		s.bytes(4*int64(slots)*int64(p.stride), func(at address) { p.out = at })
	}
	s.bytes(4*int64(gate.stack), func(at address) { e.counts = at })
	s.bytes(4*int64(gate.stack+1), func(at address) { e.offsets = at })
	s.bytes(4*int64(slots), func(at address) { e.from = at })
	s.bytes(4*int64(pairs), func(at address) { e.slots = at })
	s.place(r)
	return e, nil
}

// addForms is room for rows in all forms that matrices want, but those that asIs says
// are there already.
func addForms(s *scratchPlan, forms *[]*rounded, rows int, asIs func(m multiplier, kind roundedKind, cols int) bool, matrices ...*matrix) {
	for _, w := range matrices {
		m := multipliers[w.format]
		for _, kind := range []roundedKind{m.few, m.many} {
			if formOf(*forms, m, kind, w.cols) == nil && !asIs(m, kind, w.cols) {
				x := &rounded{kind: kind, padded: m.padded(w.cols)}
				*forms = append(*forms, x)
				s.add(x, rows)
			}
		}
	}
}

// gathered rows are never there already.
func gathered(multiplier, roundedKind, int) bool { return false }

// formOf finds rows in a form.
func formOf(forms []*rounded, m multiplier, kind roundedKind, cols int) *rounded {
	for _, f := range forms {
		if f.kind == kind && f.padded == m.padded(cols) {
			return f
		}
	}
	return nil
}

// mostSlots is how many slots so many rows take at most: each expert that is chosen
// fills up to whole panels.
func (o *experts) mostSlots(rows int) int {
	pairs := rows * o.used
	return pairs + (panelRows-1)*min(pairs, o.gate.w.stack)
}

func (o *experts) launches(b bucket) []launch {
	rows := o.rows(o.In, b)
	count := o.count(o.In)
	if rows <= fewExpertRows {
		pairs := rows * o.used
		byPair := call{counts: count, groups: pairs, rows: 1, scale: 1, ids: o.buf(o.Ids), used: o.used}
		family := func(multiplier) family { return families[0] }
		gate, down := byPair, byPair
		gate.per, down.per = o.used, 1
		list := o.product(gate, family, o.inForms, wholeRows(o.buf(o.In), o.width(o.In), count, rows), o.gate, o.up)
		list = append(list, o.join(count, o.used, 0, pairs))
		hidden := wholeRows(o.gate.out, o.gate.stride, count, rows)
		hidden.stride *= o.used
		hidden.groups, hidden.apart, hidden.toRow, hidden.toGroup = o.used, o.gate.stride, o.used, 1
		list = append(list, o.product(down, family, o.hiddenForms, hidden, o.down)...)
		return append(list, o.sum(count, 0, rows))
	}
	n := o.gate.w.stack
	slots, inUse := o.mostSlots(rows), o.offsets+address(4*n)
	perExpert := int(ceilDiv(rows*o.used, n))
	family := func(m multiplier) family { return m.familyFor(max(perExpert, panelRows)) }
	byExpert := call{counts: o.counts, offsets: o.offsets, groups: n, rows: rows, scale: 1}
	in := wholeRows(o.buf(o.In), o.width(o.In), inUse, slots)
	in.from = o.from
	list := []launch{o.group(count)}
	list = append(list, o.product(byExpert, family, o.inForms, in, o.gate, o.up)...)
	list = append(list, o.join(inUse, 1, o.from, slots))
	list = append(list, o.product(byExpert, family, o.hiddenForms, wholeRows(o.gate.out, o.gate.stride, inUse, slots), o.down)...)
	return append(list, o.sum(count, o.slots, rows))
}

// product rounds rows for the parts and multiplies them, together where they have one
// format.
func (o *experts) product(c call, choose func(multiplier) family, forms []*rounded, src source, parts ...part) []launch {
	var list []launch
	made := map[*rounded]bool{}
	for len(parts) > 0 {
		m := multipliers[parts[0].w.format]
		f := choose(m)
		form := formOf(forms, m, m.kind(f), parts[0].w.cols)
		if !made[form] {
			list = append(list, form.round(src, m))
			made[form] = true
		}
		n := 1
		for n < len(parts) && parts[n].w.format == parts[0].w.format {
			n++
		}
		list = append(list, c.launch(m, f, *form, parts[:n]))
		parts = parts[n:]
	}
	return list
}

// group deals the slots.
func (o *experts) group(count address) launch {
	var a args
	a.at(count)
	a.at(o.buf(o.Ids))
	a.i32(o.used)
	a.i32(o.gate.w.stack)
	a.at(o.counts)
	a.at(o.offsets)
	a.at(o.from)
	a.at(o.slots)
	threads := min(32*o.gate.w.stack, 1024)
	return launch{kernel: "group_rows", grid: dims{1, 1, 1}, block: dims{uint32(threads), 1, 1}, args: a}
}

// join is gate = act(gate, up).
func (o *experts) join(count address, times int, from address, most int) launch {
	var a args
	a.at(count)
	a.i32(times)
	a.at(from)
	a.at(o.gate.out)
	a.at(o.up.out)
	a.i32(o.gate.stride)
	a.i32(int(o.Act))
	a.f32(o.Alpha)
	a.f32(o.Limit)
	return launch{kernel: "join_experts", grid: dims{uint32(most), ceilDiv(o.gate.stride, actThreads), 1}, block: dims{actThreads, 1, 1}, args: a}
}

// sum adds what a row's experts made.
func (o *experts) sum(count, slots address, rows int) launch {
	width := o.width(o.Out)
	var a args
	a.at(count)
	a.at(o.buf(o.Out))
	a.at(o.down.out)
	a.at(o.buf(o.Weights))
	a.at(slots)
	a.i32(o.used)
	a.i32(width)
	return launch{kernel: "sum_experts", grid: dims{uint32(rows), ceilDiv(width, actThreads), 1}, block: dims{actThreads, 1, 1}, args: a}
}
