package cuda

import "github.com/paddock-go/paddock/internal/prog"

// embedThreads is the values of a row that one block of threads looks up.
const embedThreads = 256

// embed is prog.Embed: the tokens' rows, then the positions', then the type's.
type embed struct {
	*rig
	prog.Embed
}

func compileEmbed(r *rig, o prog.Embed) (op, error) { return &embed{r, o}, nil }

func (o *embed) launches(b bucket) []launch {
	width := o.width(o.Out)
	one := func(kernel string, fill func(a *args)) launch {
		var a args
		a.at(o.step)
		a.at(o.buf(o.Out))
		fill(&a)
		return launch{kernel: kernel, grid: dims{uint32(b.rows), ceilDiv(width, embedThreads), 1}, block: dims{embedThreads, 1, 1}, args: a}
	}
	rows := func(w prog.WeightID, scale float32, ofPos int) launch {
		matrix := o.matrix(w)
		m := multipliers[matrix.format]
		return one("embed_"+m.name, func(a *args) {
			a.at(matrix.planes[0])
			a.i32(m.padded(width) / m.unit)
			a.i32(width)
			a.f32(scale)
			a.i32(ofPos)
		})
	}
	list := []launch{rows(o.W, o.Scale, 0)}
	if o.Pos != prog.NoWeight {
		list = append(list, rows(o.Pos, 1, 1))
	}
	if o.Type != prog.NoWeight {
		list = append(list, one("embed_type", func(a *args) {
			a.at(o.vector(o.Type))
			a.i32(width)
		}))
	}
	return list
}
