package cuda

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// rig is what ops are compiled against: a program, limits, and where everything lies
// in device memory. All of it is fixed for the life of a runner, so that addresses and
// widths are arguments; what changes from step to step is in the Step.
//
// An op is compiled twice, first to measure (and, at Plan, to find what is not
// supported), with addresses that mean nothing, then to run: it must ask for the same
// regions in the same order.
type rig struct {
	prog    *prog.Program
	limits  backend.Limits
	card    driver.Facts
	weights []deviceWeight // by prog.WeightID

	step   address // of the Step
	logits address // [LogitRows][OutWidth] float32: where Head and Output write
	picks  address // [LogitRows] backend.Pick
	bufs   []address
	layers []kvLayer

	regions  *regions
	constant []constant
	angles   []angles // of rope.go: what layers share
	temps    []temps

	scratchAt   address
	scratchMost int64 // of any op
}

// deviceWeight is a matrix, or a vector of float32.
type deviceWeight struct {
	matrix *matrix
	vector address
}

// constant is data of the host that a kernel reads.
type constant struct {
	at   address
	data []byte
}

// kvPart is the keys or the values of one layer: bytes of a page, of which page n
// begins n × stride behind at. What lies in a page is the affair of the ops that use
// it; RopeAppend writes it, Attend reads it, and a page is copied as it is.
type kvPart struct {
	at     address
	stride int64 // from page to page
	bytes  int64 // of a page
}

// kvLayer is a layer's part of the cache; a layer of states has no keys, one whose
// values begin its keys has no values.
type kvLayer struct {
	keys, values kvPart
}

// buf is where a buffer lies: [rows][width] float32, rows as rows has it.
func (r *rig) buf(id prog.BufID) address {
	if id == prog.NoBuf {
		return 0
	}
	return r.bufs[id]
}

// width is the values of a row of a buffer.
func (r *rig) width(id prog.BufID) int { return r.prog.Bufs[id].Width }

// rows is the most rows of a buffer in steps within b.
func (r *rig) rows(id prog.BufID, b bucket) int {
	if r.prog.Bufs[id].Rows == prog.LogitRows {
		return b.logits
	}
	return b.rows
}

// ofLogits is the kernels' argument of that name: 1 for a buffer that has step->logits
// rows, 0 for one of step->rows.
func (r *rig) ofLogits(id prog.BufID) int {
	if r.prog.Bufs[id].Rows == prog.LogitRows {
		return 1
	}
	return 0
}

// most is the bucket of the largest step.
func (r *rig) most() bucket {
	return bucket{rows: r.limits.Rows, seqs: r.limits.Seqs, logits: r.limits.LogitRows, ctx: r.limits.Context}
}

// matrix is a weight that is multiplied by or looked up in.
func (r *rig) matrix(id prog.WeightID) *matrix { return r.weights[id].matrix }

// vector is where a vector's float32 lie; 0 for prog.NoWeight.
func (r *rig) vector(id prog.WeightID) address {
	if id == prog.NoWeight {
		return 0
	}
	return r.weights[id].vector
}

// scratch is memory that only this op uses while its launches run; asked for once an
// op. It is aligned to 256, and holds
// anything at first.
func (r *rig) scratch(bytes int64) address {
	r.scratchMost = max(r.scratchMost, whole(bytes))
	return r.scratchAt
}

// own is memory of this op alone, which keeps what it holds from step to step. Before
// the first one it may hold anything.
func (r *rig) own(bytes int64) address { return r.regions.take(bytes) }

// floats is where a copy of values lies that never changes.
func (r *rig) floats(values []float32) address {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = le.AppendUint32(data, math.Float32bits(v))
	}
	return r.data(data)
}

// data is where a copy of bytes lies that never changes; equal ones have one copy.
func (r *rig) data(data []byte) address {
	for _, c := range r.constant {
		if string(c.data) == string(data) {
			return c.at
		}
	}
	at := r.regions.take(int64(len(data)))
	r.constant = append(r.constant, constant{at, data})
	return at
}

// newRig lays out what every runner has: step, buffers, cache and logits. The KV cache
// comes first and the rest behind it, so that a caller can tell them apart.
func newRig(p *prog.Program, l backend.Limits, card driver.Facts, weights []deviceWeight, to *regions, apart bool) *rig {
	r := &rig{prog: p, limits: l, card: card, weights: weights, regions: to}
	r.cache(apart)
	r.step = to.take(stepBytes(l))
	r.logits = to.take(backend.Product(4, int64(l.LogitRows), int64(p.OutWidth())))
	for _, b := range p.Bufs {
		rows := l.Rows
		if b.Rows == prog.LogitRows {
			rows = l.LogitRows
		}
		r.bufs = append(r.bufs, to.take(backend.Product(4, int64(rows), int64(b.Width))))
	}
	return r
}

// cache lays out the pages. All layers of a page lie in one piece, so that a page is
// copied at once; apart, each part of each layer is a region of its own.
//
//	page 0: │ layer 0 keys │ layer 0 values │ layer 1 keys │ … │ page 1: │ …
func (r *rig) cache(apart bool) {
	parts := func(use func(part *kvPart)) {
		for i := range r.layers {
			use(&r.layers[i].keys)
			use(&r.layers[i].values)
		}
	}
	r.layers = make([]kvLayer, len(r.prog.KV))
	for i, kv := range r.prog.KV {
		format := r.limits.KVType.Layer(r.prog, i)
		tokens := int64(r.limits.PageSize)
		r.layers[i].keys.bytes = tokens * int64(kv.Heads) * int64(quant.KVBytes(format, kv.KeyDim))
		r.layers[i].values.bytes = tokens * int64(kv.Heads) * int64(quant.KVBytes(format, kv.OwnValues()))
	}
	if apart {
		parts(func(part *kvPart) {
			part.stride = part.bytes
			part.at = r.regions.take(backend.Product(part.bytes, int64(r.limits.Pages)))
		})
		return
	}
	var page int64
	parts(func(part *kvPart) { page += part.bytes })
	at := r.regions.take(backend.Product(page, int64(r.limits.Pages)))
	parts(func(part *kvPart) {
		part.at, part.stride = at, page
		at += address(part.bytes)
	})
}

// pages are the pieces of which a page is made.
func (r *rig) pages(apart bool) []kvPart {
	var list []kvPart
	var first kvPart
	for _, l := range r.layers {
		for _, part := range []kvPart{l.keys, l.values} {
			if first.stride == 0 {
				first = kvPart{part.at, part.stride, part.stride}
			}
			if apart && part.bytes > 0 {
				list = append(list, part)
			}
		}
	}
	if !apart && first.bytes > 0 {
		list = append(list, first)
	}
	return list
}

// compile makes the program's ops.
func (r *rig) compile() ([]op, error) {
	var list []op
	for i, o := range r.prog.Ops {
		compile, ok := compilers[o.Kind()]
		if !ok {
			return nil, &UnsupportedError{What: "op", Which: o.Kind()}
		}
		x, err := compile(r, o)
		if err != nil {
			return nil, fmt.Errorf("op %d of the program: %w", i, err)
		}
		list = append(list, x)
	}
	if !r.prog.Embeds() {
		list = append(list, newPicker(r))
	}
	return list, nil
}
