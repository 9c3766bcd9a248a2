package model

import "github.com/paddock-go/paddock/internal/prog"

// feedForward writes layer l's feed-forward and returns what it gave.
func (w *stream) feedForward(l int, in prog.BufID) prog.BufID {
	if w.d.feed != nil {
		return w.d.feed(w, l, in)
	}
	return w.dense(l, in)
}

// dense is the feed-forward without experts.
func (w *stream) dense(l int, in prog.BufID) prog.BufID {
	b, s, d := w.b, w.Spec, w.d
	// Beside attention, both sums are at hand at once.
	sum := w.buf("sum", s.Embd)
	if d.parallel {
		sum = w.buf("sum2", s.Embd)
	}
	hidden := w.buf("gate", s.FFN)
	upName := w.name(l, "ffn_up")
	if d.ungated {
		b.op(prog.Linear{In: in, Parts: []prog.LinearPart{w.part(hidden, upName, s.FFN, s.Embd, d.ffnBias)}})
		b.op(prog.Activate{In: hidden, Out: hidden, Act: d.act})
	} else {
		up := w.buf("up", s.FFN)
		b.op(prog.Linear{In: in, Parts: w.gateUp(l, hidden, up)})
		b.op(prog.GateMul{Gate: hidden, Up: up, Out: hidden, Act: d.act})
	}
	b.op(prog.Linear{In: hidden, Parts: []prog.LinearPart{w.part(sum, w.name(l, "ffn_down"), s.Embd, s.FFN, d.ffnBias)}})
	return sum
}

// gateUp are the products of gate and up; where the file has no gate, the matrix
// of up holds both, the gate first.
func (w *stream) gateUp(l int, gate, up prog.BufID) []prog.LinearPart {
	s, bias := w.Spec, w.d.ffnBias
	gateName, upName := w.name(l, "ffn_gate"), w.name(l, "ffn_up")
	if w.d.fusedUp && !w.b.has(gateName+".weight") {
		return []prog.LinearPart{
			w.cut(gate, upName, 2*s.FFN, s.Embd, 0, s.FFN, bias),
			w.cut(up, upName, 2*s.FFN, s.Embd, s.FFN, s.FFN, bias),
		}
	}
	return []prog.LinearPart{
		w.part(gate, gateName, s.FFN, s.Embd, bias),
		w.part(up, upName, s.FFN, s.Embd, bias),
	}
}
