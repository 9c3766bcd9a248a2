package cuda

import (
	"slices"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// The blocks of the rotation's kernels, and the heads that one of rope_append does.
const (
	ropeThreads = 128
	ropeHeads   = ropeThreads / 32
)

// angles are the cosines and sines of a rotary table for the rows of a step, which all
// layers that have the table share; the first one's op fills them.
type angles struct {
	prog.Rope
	at address // [rows][pairs][2]
}

// same tells whether two tables give the same angles.
func (a *angles) same(r prog.Rope) bool { return a.Mag == r.Mag && slices.Equal(a.Freqs, r.Freqs) }

// temps are what the queries of a step's rows are multiplied by.
type temps struct {
	prog.Temperature
	at address // [rows]
}

// ropeAppend is prog.RopeAppend.
type ropeAppend struct {
	*rig
	prog.RopeAppend
	kernel string
	freqs  address
	angles address
	temps  address
	fills  bool // the angles
	warms  bool // the temperatures
}

func compileRopeAppend(r *rig, o prog.RopeAppend) (op, error) {
	name, err := r.kvName(o, o.KV)
	if err != nil {
		return nil, err
	}
	x := &ropeAppend{rig: r, RopeAppend: o, kernel: "rope_append_" + name}
	if o.Rope.Dim > 0 {
		i := slices.IndexFunc(r.angles, func(a angles) bool { return a.same(o.Rope) })
		if i < 0 {
			i, x.fills = len(r.angles), true
			x.freqs = r.floats(o.Rope.Freqs)
			r.angles = append(r.angles, angles{o.Rope, r.own(backend.Product(8, int64(r.limits.Rows), int64(len(o.Rope.Freqs))))})
		}
		x.angles = r.angles[i].at
	}
	if o.Temp.Scale != 0 {
		i := slices.IndexFunc(r.temps, func(t temps) bool { return t.Temperature == o.Temp })
		if i < 0 {
			i, x.warms = len(r.temps), true
			r.temps = append(r.temps, temps{o.Temp, r.own(4 * int64(r.limits.Rows))})
		}
		x.temps = r.temps[i].at
	}
	return x, nil
}

func (o *ropeAppend) launches(b bucket) []launch {
	var list []launch
	pairs := len(o.Rope.Freqs)
	if o.fills {
		var a args
		a.at(o.step)
		a.at(o.angles)
		a.at(o.freqs)
		a.f32(o.Rope.Mag)
		a.i32(pairs)
		list = append(list, launch{kernel: "rope_angles", grid: dims{ceilDiv(b.rows*pairs, ropeThreads), 1, 1}, block: dims{ropeThreads, 1, 1}, args: a})
	}
	if o.warms {
		var a args
		a.at(o.step)
		a.at(o.temps)
		a.f32(o.Temp.Scale)
		a.i32(o.Temp.Every)
		list = append(list, launch{kernel: "rope_temps", grid: dims{ceilDiv(b.rows, ropeThreads), 1, 1}, block: dims{ropeThreads, 1, 1}, args: a})
	}
	layer, heads := &o.layers[o.KV], o.Heads+o.KVHeads
	if o.V != prog.NoBuf {
		heads += o.KVHeads
	}
	normed := o.HeadDim
	if o.KNorm != prog.NoWeight {
		normed = min(o.prog.Weights[o.KNorm].Cols, normed)
	}
	apart := 0
	if o.Rope.Order == prog.Halves {
		apart = o.Rope.Dim / 2
	}
	var a args
	a.at(o.step)
	a.at(o.buf(o.Q))
	a.at(o.buf(o.K))
	a.at(o.buf(o.V))
	a.at(o.vector(o.QNorm))
	a.at(o.vector(o.KNorm))
	a.at(o.angles)
	a.at(o.temps)
	a.at(layer.keys.at)
	a.at(layer.values.at)
	a.i64(layer.keys.stride)
	a.i64(layer.values.stride)
	a.i32(o.Heads)
	a.i32(o.KVHeads)
	a.i32(o.HeadDim)
	a.i32(o.prog.KV[o.KV].ValueDim)
	a.i32(normed)
	a.i32(pairs)
	a.i32(o.Rope.From)
	a.i32(apart)
	a.f32(o.NormEps)
	a.i32(o.limits.PageSize)
	return append(list, launch{kernel: o.kernel, grid: dims{ceilDiv(b.rows*heads, ropeHeads), 1, 1}, block: dims{ropeThreads, 1, 1}, args: a})
}
