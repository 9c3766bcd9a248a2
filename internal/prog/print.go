package prog

import (
	"fmt"
	"slices"
	"strings"
)

func (k RowKind) String() string {
	if k == LogitRows {
		return "logit"
	}
	return "token"
}

func (k WeightKind) String() string {
	if k == Vector {
		return "vector"
	}
	return "matrix"
}

func (k NormKind) String() string {
	if k == LayerNorm {
		return "layer"
	}
	return "rms"
}

func (o PairOrder) String() string {
	if o == Halves {
		return "halves"
	}
	return "interleaved"
}

func (a Act) String() string {
	switch a {
	case GELU:
		return "gelu"
	case Tanh:
		return "tanh"
	}
	return "silu"
}

// String prints the whole program, one line an op, so that a change of a
// lowering shows as a difference of text. Rotary tables are printed once each
// and named r0, r1, …. Safe for concurrent use.
func (p *Program) String() string {
	w := &printer{p: p}
	atomic := ""
	if p.Atomic {
		atomic = ", atomic"
	}
	w.line("program %s: vocab %d, embd %d, context %d%s", p.Arch, p.Vocab, p.Embd, p.Context, atomic)
	w.line("buffers")
	for i, b := range p.Bufs {
		w.line("  %d %s: %s rows × %d", i, b.Name, b.Rows, b.Width)
	}
	w.line("weights")
	for i, t := range p.Weights {
		from := ""
		if t.FromRow != 0 {
			from = fmt.Sprintf(" from row %d", t.FromRow)
		}
		if t.Stack != 0 {
			from = fmt.Sprintf(" × %d", t.Stack) + from
		}
		w.line("  %d %s: %s %d×%d%s", i, t.Tensor, t.Kind, t.Rows, t.Cols, from)
	}
	w.line("kv")
	for i, l := range p.KV {
		prefix := ""
		if l.Prefix {
			prefix = " of the key"
		}
		w.line("  %d: %d heads, key %d, value %d%s%s", i, l.Heads, l.KeyDim, l.ValueDim, prefix, window(l.Window))
	}
	w.line("ops")
	for i, op := range p.Ops {
		w.line("  %d %s", i, w.op(op))
	}
	if len(w.ropes) > 0 {
		w.line("ropes")
	}
	for i, r := range w.ropes {
		from := ""
		if r.From != 0 {
			from = fmt.Sprintf(" from %d", r.From)
		}
		w.line("  r%d: dim %d%s, %s, mag %v, freqs %v", i, r.Dim, from, r.Order, r.Mag, r.Freqs)
	}
	return w.String()
}

type printer struct {
	strings.Builder
	p     *Program
	ropes []Rope
}

func (w *printer) line(format string, args ...any) {
	fmt.Fprintf(w, format+"\n", args...)
}

func (w *printer) op(op Op) string {
	head := op.Kind() + " "
	switch o := op.(type) {
	case Embed:
		return head + fmt.Sprintf("%s = %v × %s%s%s", w.buf(o.Out), o.Scale, w.weight(o.W), w.bias(o.Pos), w.bias(o.Type))
	case Norm:
		add := ""
		if o.Add != NoBuf {
			add = " += " + w.buf(o.Add)
		}
		return head + fmt.Sprintf("%s = %s(%s%s) × %s%s, eps %v", w.buf(o.Out), o.Norm, w.buf(o.In), add, w.weight(o.W), w.bias(o.Bias), o.Eps)
	case Linear:
		var parts []string
		for _, p := range o.Parts {
			parts = append(parts, fmt.Sprintf("%s = %s%s", w.buf(p.Out), w.weight(p.W), w.bias(p.Bias)))
		}
		return head + w.buf(o.In) + ": " + strings.Join(parts, "; ")
	case RopeAppend:
		norms := ""
		if o.QNorm != NoWeight {
			norms += ", q norm " + w.weight(o.QNorm)
		}
		if o.KNorm != NoWeight {
			norms += ", k norm " + w.weight(o.KNorm)
		}
		if norms != "" {
			norms += fmt.Sprintf(", eps %v", o.NormEps)
		}
		if o.Temp.Scale != 0 {
			norms += fmt.Sprintf(", q × 1 + %v ln(1 + ⌊pos/%d⌋)", o.Temp.Scale, o.Temp.Every)
		}
		value := "key's beginning"
		if o.V != NoBuf {
			value = w.buf(o.V)
		}
		return head + fmt.Sprintf("%s, %s, %s to kv %d: %d/%d heads × %d, %s%s", w.buf(o.Q), w.buf(o.K), value, o.KV,
			o.Heads, o.KVHeads, o.HeadDim, w.rope(o.Rope), norms)
	case Attend:
		more := softcap(o.Cap) + window(o.Window)
		if o.Both {
			more += ", both ways"
		}
		if o.Sinks != NoWeight {
			more += ", sinks " + w.weight(o.Sinks)
		}
		return head + fmt.Sprintf("%s = %s over kv %d: %d/%d heads × %d, scale %v%s", w.buf(o.Out), w.buf(o.Q), o.KV,
			o.Heads, o.KVHeads, o.HeadDim, o.Scale, more)
	case GateMul:
		return head + fmt.Sprintf("%s = %s(%s) × %s", w.buf(o.Out), o.Act, w.buf(o.Gate), w.buf(o.Up))
	case Activate:
		return head + fmt.Sprintf("%s = %s(%s)", w.buf(o.Out), o.Act, w.buf(o.In))
	case AddTo:
		return head + fmt.Sprintf("%s += %s%s", w.buf(o.Dst), factor(o.Scale), w.buf(o.Src))
	case TakeRows:
		return head + fmt.Sprintf("%s = %s", w.buf(o.Out), w.buf(o.In))
	case Pool:
		return head + w.pool(o)
	case Output:
		return head + w.buf(o.In)
	case ShortConv:
		return head + w.shortConv(o)
	case Route:
		return head + w.route(o)
	case Experts:
		return head + w.experts(o)
	case RowScale:
		return head + w.rowScale(o)
	case HeadLinear:
		return head + w.headLinear(o)
	case Head:
		return head + fmt.Sprintf("%s: logits = %s%s%s%s", w.buf(o.In), factor(o.Scale), w.weight(o.W), w.bias(o.Bias), softcap(o.Cap))
	}
	return head + fmt.Sprintf("%+v", op)
}

func window(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", window %d", n)
}

func softcap(v float32) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(", cap %v", v)
}

func factor(v float32) string {
	if v == 1 {
		return ""
	}
	return fmt.Sprintf("%v × ", v)
}

// buf and weight print an index that is out of range as a number, so that a
// faulty program can be printed too.
func (w *printer) buf(id BufID) string {
	if id < 0 || int(id) >= len(w.p.Bufs) {
		return fmt.Sprintf("buffer(%d)", id)
	}
	return w.p.Bufs[id].Name
}

func (w *printer) weight(id WeightID) string {
	if id < 0 || int(id) >= len(w.p.Weights) {
		return fmt.Sprintf("weight(%d)", id)
	}
	return w.p.Weights[id].Tensor
}

func (w *printer) bias(id WeightID) string {
	if id == NoWeight {
		return ""
	}
	return " + " + w.weight(id)
}

func (w *printer) rope(r Rope) string {
	if r.Dim == 0 {
		return "no rope"
	}
	i := slices.IndexFunc(w.ropes, func(s Rope) bool {
		return s.Dim == r.Dim && s.From == r.From && s.Order == r.Order && s.Mag == r.Mag && slices.Equal(s.Freqs, r.Freqs)
	})
	if i < 0 {
		i = len(w.ropes)
		w.ropes = append(w.ropes, r)
	}
	return fmt.Sprintf("rope r%d", i)
}
