package ref

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// runner executes batches. One goroutine uses it at a time.
type runner struct {
	*model
	limits backend.Limits
	bufs   [][]float32 // buffer → [rows][width]
	keys   [][]float32 // KV layer → [slot][head][key dim], rounded to the cache's type
	values [][]float32 // KV layer → [slot][head][value dim], so too
	act    quant.Act

	// The step that is running.
	batch  *prog.Batch
	logits []float32
}

// Close implements backend.Runner; there is nothing to give back.
func (r *runner) Close() error { return nil }

// CopyPages implements backend.Runner.
func (r *runner) CopyPages(copies []backend.PageCopy) {
	for _, c := range copies {
		for l := range r.keys {
			copyPage(r.keys[l], c, r.limits.Pages)
			copyPage(r.values[l], c, r.limits.Pages)
		}
	}
}

func copyPage(cache []float32, c backend.PageCopy, pages int) {
	n := len(cache) / pages
	copy(cache[int(c.To)*n:int(c.To+1)*n], cache[int(c.From)*n:])
}

// Run implements backend.Runner.
func (r *runner) Run(b *prog.Batch, logits []float32) error {
	if err := backend.CheckBatch(r.prog, r.limits, b, logits); err != nil {
		return err
	}
	r.batch, r.logits = b, logits
	for _, op := range r.prog.Ops {
		switch op := op.(type) {
		case prog.Embed:
			r.embed(op)
		case prog.Norm:
			r.norm(op)
		case prog.Linear:
			for _, p := range op.Parts {
				r.linear(op.In, p.W, p.Bias, func(row int) []float32 { return r.row(p.Out, row) })
			}
		case prog.RopeAppend:
			r.ropeAppend(op)
		case prog.Attend:
			r.attend(op)
		case prog.GateMul:
			r.gateMul(op)
		case prog.Activate:
			r.activate(op)
		case prog.AddTo:
			for row := range r.rows(op.Dst) {
				dst, src := r.row(op.Dst, row), r.row(op.Src, row)
				for i := range dst {
					dst[i] = num.FMA32(src[i], op.Scale, dst[i])
				}
			}
		case prog.TakeRows:
			for i, row := range b.Logits {
				copy(r.row(op.Out, i), r.row(op.In, int(row)))
			}
		case prog.ShortConv:
			r.shortConv(op)
		case prog.Pool:
			r.pool(op)
		case prog.Output:
			width := r.prog.Bufs[op.In].Width
			for i := range b.Logits {
				copy(logits[i*width:(i+1)*width], r.row(op.In, i))
			}
		case prog.Route:
			r.route(op)
		case prog.Experts:
			r.experts(op)
		case prog.RowScale:
			r.rowScale(op)
		case prog.HeadLinear:
			r.headLinear(op)
		case prog.Head:
			r.linear(op.In, op.W, op.Bias, func(row int) []float32 {
				return logits[row*r.prog.Vocab : (row+1)*r.prog.Vocab]
			})
			shapeLogits(logits[:len(b.Logits)*r.prog.Vocab], op)
		default:
			return fmt.Errorf("ref: op %s is unknown to this backend", op.Kind())
		}
	}
	return nil
}

// rows is how many rows a buffer has in this step.
func (r *runner) rows(id prog.BufID) int {
	if r.prog.Bufs[id].Rows == prog.LogitRows {
		return len(r.batch.Logits)
	}
	return len(r.batch.Tokens)
}

func (r *runner) row(id prog.BufID, row int) []float32 {
	w := r.prog.Bufs[id].Width
	return r.bufs[id][row*w : (row+1)*w]
}

func (r *runner) vector(id prog.WeightID) []float32 {
	if id == prog.NoWeight {
		return nil
	}
	return r.weights[id].vector
}

// embed widens the row of each token.
func (r *runner) embed(op prog.Embed) {
	w := &r.weights[op.W]
	for i, token := range r.batch.Tokens {
		out := r.row(op.Out, i)
		w.format.Decode(out, w.row(int(token)))
		if op.Scale != 1 {
			for j := range out {
				out[j] = float32(out[j] * op.Scale)
			}
		}
		if op.Pos != prog.NoWeight {
			p := &r.weights[op.Pos]
			pos := make([]float32, len(out))
			p.format.Decode(pos, p.row(int(r.batch.Pos[i])))
			add(out, pos)
		}
		if op.Type != prog.NoWeight {
			add(out, r.vector(op.Type))
		}
	}
}

// shapeLogits scales and caps.
func shapeLogits(logits []float32, op prog.Head) {
	for i := range logits {
		if op.Scale != 1 {
			logits[i] = float32(logits[i] * op.Scale)
		}
		if op.Cap != 0 {
			logits[i] = num.Softcap32(logits[i], op.Cap)
		}
	}
}

// norm: the residual first, rounded and written back, then the normalisation.
func (r *runner) norm(op prog.Norm) {
	for row := range r.rows(op.In) {
		in, out := r.row(op.In, row), r.row(op.Out, row)
		if op.Add != prog.NoBuf {
			add(in, r.row(op.Add, row))
		}
		if op.Norm == prog.LayerNorm {
			layerNorm(out, in, r.vector(op.W), r.vector(op.Bias), op.Eps)
		} else {
			rmsNorm(out, in, r.vector(op.W), r.vector(op.Bias), op.Eps)
		}
	}
}

// linear rounds each row of the input to the kind of the weight's format and
// takes the format's dot product for each output.
func (r *runner) linear(in prog.BufID, w, bias prog.WeightID, out func(row int) []float32) {
	weight, b := &r.weights[w], r.vector(bias)
	for row := range r.rows(in) {
		r.act.Set(weight.format.Act, r.row(in, row))
		o := out(row)
		for i := range weight.rows {
			o[i] = weight.format.Dot(weight.row(i), &r.act)
			if b != nil {
				o[i] += b[i]
			}
		}
	}
}

// actOf is the function that an act names.
func actOf(a prog.Act) func(float32) float32 {
	switch a {
	case prog.GELU:
		return num.GELU32
	case prog.Tanh:
		return num.Tanh32
	}
	return num.SiLU32
}

func (r *runner) activate(op prog.Activate) {
	act := actOf(op.Act)
	for row := range r.rows(op.In) {
		in, out := r.row(op.In, row), r.row(op.Out, row)
		for i := range out {
			out[i] = act(in[i])
		}
	}
}

func (r *runner) gateMul(op prog.GateMul) {
	act := actOf(op.Act)
	for row := range r.rows(op.Gate) {
		gate, up, out := r.row(op.Gate, row), r.row(op.Up, row), r.row(op.Out, row)
		for i := range out {
			out[i] = float32(act(gate[i]) * up[i])
		}
	}
}

// add is dst += src.
func add(dst, src []float32) {
	for i := range dst {
		dst[i] += src[i]
	}
}
