package cuda

import (
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// tapFormats are the formats of a convolution's weights, as short_conv counts them.
var tapFormats = map[quant.Type]int{quant.F32: 0, quant.F16: 1, quant.BF16: 2}

// shortConv is prog.ShortConv: the products of all rows go to their slots first.
type shortConv struct {
	*rig
	prog.ShortConv
	format int
}

func compileShortConv(r *rig, o prog.ShortConv) (op, error) {
	w := r.matrix(o.W)
	format, ok := tapFormats[w.format]
	if !ok {
		return nil, unsupported(o, "weights", w.format)
	}
	return &shortConv{r, o, format}, nil
}

func (o *shortConv) launches(b bucket) []launch {
	width, part, w := o.width(o.Out), o.states(o.KV), o.matrix(o.W)
	var keep args
	keep.at(o.step)
	keep.at(o.buf(o.B))
	keep.at(o.buf(o.X))
	keep.at(part.at)
	keep.i64(part.stride)
	keep.i32(width)
	keep.i32(o.limits.PageSize)
	var conv args
	conv.at(o.step)
	conv.at(o.buf(o.Out))
	conv.at(o.buf(o.C))
	conv.at(w.planes[0])
	conv.i32(o.format)
	conv.i32(int(packings[w.format].planes(w.cols)[0]) / packings[w.format].group)
	conv.at(part.at)
	conv.i64(part.stride)
	conv.i32(o.Taps)
	conv.i32(width)
	conv.i32(o.limits.PageSize)
	return []launch{byColumns("conv_state", b.rows, width, keep), byColumns("short_conv", b.rows, width, conv)}
}
