package ref

import (
	"math"

	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// span is how many keys are attended to from a fresh start before the result
// is merged into what came before. Spans are counted from position 0, so that
// their bounds do not depend on who attends.
const span = 512

// ropeAppend normalises and rotates query and key heads, then writes keys and
// values to the slots, rounded: attention sees them so, those of this step too.
func (r *runner) ropeAppend(op prog.RopeAppend) {
	valueDim := r.prog.KV[op.KV].OwnValues()
	for row, slot := range r.batch.Slots {
		q, k := r.row(op.Q, row), r.row(op.K, row)
		cos, sin := angles(op.Rope, r.batch.Pos[row])
		for h := range op.Heads {
			r.rotateHead(op, q[h*op.HeadDim:(h+1)*op.HeadDim], op.QNorm, cos, sin)
		}
		for h := range op.KVHeads {
			r.rotateHead(op, k[h*op.HeadDim:(h+1)*op.HeadDim], op.KNorm, cos, sin)
		}
		if op.Temp.Scale != 0 {
			t := temperature(op.Temp, r.batch.Pos[row])
			for i := range q {
				q[i] = float32(q[i] * t)
			}
		}
		r.store(r.keys[op.KV][int(slot)*len(k):], k, op.KV, op.HeadDim)
		if op.V != prog.NoBuf {
			r.store(r.values[op.KV][int(slot)*op.KVHeads*valueDim:], r.row(op.V, row), op.KV, valueDim)
		}
	}
}

// store writes the keys or values of all heads of a token: each head on its own is
// what the cache's type makes of it.
func (r *runner) store(dst, src []float32, layer, dim int) {
	for i := 0; i < len(src); i += dim {
		quant.RoundKV(r.limits.KVType.Layer(r.prog, layer), dst[i:i+dim], src[i:i+dim])
	}
}

// temperature is what queries at a position are multiplied by, computed in
// float64 and rounded once.
func temperature(t prog.Temperature, pos int32) float32 {
	return float32(1 + float64(float64(t.Scale)*num.Log64(float64(1+int(pos)/t.Every))))
}

func (r *runner) rotateHead(op prog.RopeAppend, head []float32, norm prog.WeightID, cos, sin []float32) {
	if norm != prog.NoWeight {
		w := r.vector(norm)
		rmsNorm(head[:len(w)], head[:len(w)], w, nil, op.NormEps)
	}
	head = head[op.Rope.From:]
	for i := range cos {
		a, b := 2*i, 2*i+1
		if op.Rope.Order == prog.Halves {
			a, b = i, i+op.Rope.Dim/2
		}
		x, y := head[a], head[b]
		head[a] = float32(x*cos[i]) - float32(y*sin[i])
		head[b] = float32(x*sin[i]) + float32(y*cos[i])
	}
}

// angles are cosine and sine of each pair at a position, times the magnitude.
// Angle and functions are float64, rounded once each at the end.
func angles(rope prog.Rope, pos int32) (cos, sin []float32) {
	for _, f := range rope.Freqs {
		s, c := num.SinCos64(float64(float64(pos) * float64(f)))
		cos = append(cos, float32(float32(c)*rope.Mag))
		sin = append(sin, float32(float32(s)*rope.Mag))
	}
	return cos, sin
}

// attend: for each row and head, the spans from position 0 on, each from a
// fresh start, merged left to right, a sink last.
func (r *runner) attend(op prog.Attend) {
	b, valueDim := r.batch, r.prog.KV[op.KV].ValueDim
	for s := range b.Seqs() {
		for row := int(b.SeqStart[s]); row < int(b.SeqStart[s+1]); row++ {
			first, last := visible(op, int(b.Pos[row]), int(b.CtxLen[s]))
			for h := range op.Heads {
				q := r.row(op.Q, row)[h*op.HeadDim : (h+1)*op.HeadDim]
				out := r.row(op.Out, row)[h*valueDim : (h+1)*valueDim]
				all := r.attendHead(op, s, first, last, h/(op.Heads/op.KVHeads), q, valueDim)
				if sinks := r.vector(op.Sinks); sinks != nil {
					all.merge(&softmax{top: sinks[h], sum: 1, acc: make([]float32, valueDim)})
				}
				inv := 1 / all.sum
				for i := range out {
					out[i] = float32(all.acc[i] * inv)
				}
			}
		}
	}
}

// visible is the first and the last key that a query sees.
func visible(op prog.Attend, pos, ctx int) (first, last int) {
	switch {
	case op.Both && op.Window > 0:
		return max(0, pos-op.Window/2), min(ctx-1, pos+op.Window/2)
	case op.Both:
		return 0, ctx - 1
	case op.Window > 0:
		return max(0, pos-op.Window+1), pos
	}
	return 0, pos
}

func (r *runner) attendHead(op prog.Attend, seq, first, last, kvHead int, q []float32, valueDim int) *softmax {
	var all *softmax
	for start := first / span * span; start <= last; start += span {
		part := newSoftmax(valueDim)
		part.attend(r, op, seq, kvHead, q, max(first, start), min(last, start+span-1))
		if all == nil {
			all = part
		} else {
			all.merge(part)
		}
	}
	return all
}

// at returns head h of the key or value at a position of a sequence.
func (r *runner) at(cache []float32, seq, pos, h, heads int) []float32 {
	b, size := r.batch, r.limits.PageSize
	slot := int(b.Tables[seq*b.Stride+pos/size])*size + pos%size
	dim := len(cache) / (r.limits.Pages * size * heads)
	return cache[(slot*heads+h)*dim : (slot*heads+h+1)*dim]
}

// value is head h of the value at a position of a sequence.
func (r *runner) value(op prog.Attend, seq, pos, h int) []float32 {
	if kv := r.prog.KV[op.KV]; kv.Prefix {
		return r.at(r.keys[op.KV], seq, pos, h, op.KVHeads)[:kv.ValueDim]
	}
	return r.at(r.values[op.KV], seq, pos, h, op.KVHeads)
}

// softmax is a running weighted sum: acc ÷ sum are the attended values, with
// weights relative to exp(top).
type softmax struct {
	top float32
	sum float32
	acc []float32
}

func newSoftmax(dim int) *softmax {
	return &softmax{top: float32(math.Inf(-1)), acc: make([]float32, dim)}
}

// attend adds the keys from..to of one span.
func (s *softmax) attend(r *runner, op prog.Attend, seq, kvHead int, q []float32, from, to int) {
	scores := make([]float32, 0, span)
	for pos := from; pos <= to; pos++ {
		var dot float32
		for i, k := range r.at(r.keys[op.KV], seq, pos, kvHead, op.KVHeads) {
			dot = num.FMA32(q[i], k, dot)
		}
		score := float32(dot * op.Scale)
		if op.Cap != 0 {
			score = num.Softcap32(score, op.Cap)
		}
		scores = append(scores, score)
		s.top = max(s.top, scores[pos-from])
	}
	var lanes [16]float32
	for i, score := range scores {
		weight := num.Exp32(score - s.top)
		lanes[(from+i)%16] += weight
		for j, v := range r.value(op, seq, from+i, kvHead) {
			s.acc[j] = num.FMA32(weight, v, s.acc[j])
		}
	}
	s.sum = num.Tree16(&lanes)
}

// merge adds a later span.
func (s *softmax) merge(o *softmax) {
	top := max(s.top, o.top)
	mine, theirs := num.Exp32(s.top-top), num.Exp32(o.top-top)
	s.top = top
	s.sum = num.FMA32(o.sum, theirs, float32(s.sum*mine))
	for i := range s.acc {
		s.acc[i] = num.FMA32(o.acc[i], theirs, float32(s.acc[i]*mine))
	}
}
