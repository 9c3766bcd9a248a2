package backendtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// locate says which op of a model is the first whose result differs between two
// devices: it cuts the program behind each op in turn and has that op's result given
// out.
func locate(t *testing.T, m *Random, want, got backend.Device) {
	t.Helper()
	tokens := m.Tokens(9)
	for k := range m.Prog.Ops {
		for _, b := range writes(m.Prog.Ops[k]) {
			p := *m.Prog
			p.Ops = slices.Clone(p.Ops[:k+1])
			p.Bufs = slices.Clone(p.Bufs)
			if p.Bufs[b].Rows == prog.TokenRows {
				p.Bufs = append(p.Bufs, prog.Buffer{Name: "cut", Width: p.Bufs[b].Width, Rows: prog.LogitRows})
				p.Ops = append(p.Ops, prog.TakeRows{In: b, Out: prog.BufID(len(p.Bufs) - 1)})
				b = prog.BufID(len(p.Bufs) - 1)
			}
			p.Ops = append(p.Ops, prog.Output{In: b})
			cut := *m
			cut.Prog, cut.near = &p, nil
			var rows [2][]float32
			for i, d := range []backend.Device{want, got} {
				s := open(t, &cut, d, cut.limits(16), nil, nil)
				rows[i] = s.Step(Part{&Seq{}, tokens, true})[0]
			}
			n := &nearness{Near: &Near{Gate: m.near.Gate, Flip: m.near.Gate}}
			n.row(t, fmt.Sprintf("op %d (%s), the first to differ", k, m.Prog.Ops[k].Kind()), rows[0], rows[1])
			if !(n.worst <= n.Gate) {
				return
			}
		}
	}
}

// writes are the buffers that an op fills.
func writes(op prog.Op) []prog.BufID {
	switch o := op.(type) {
	case prog.Embed:
		return []prog.BufID{o.Out}
	case prog.Norm:
		return []prog.BufID{o.Out}
	case prog.Linear:
		var list []prog.BufID
		for _, p := range o.Parts {
			list = append(list, p.Out)
		}
		return list
	case prog.RopeAppend:
		return []prog.BufID{o.Q}
	case prog.Attend:
		return []prog.BufID{o.Out}
	case prog.GateMul:
		return []prog.BufID{o.Out}
	case prog.Activate:
		return []prog.BufID{o.Out}
	case prog.AddTo:
		return []prog.BufID{o.Dst}
	case prog.TakeRows:
		return []prog.BufID{o.Out}
	case prog.Route:
		return []prog.BufID{o.Weights}
	case prog.RowScale:
		return []prog.BufID{o.Dst}
	case prog.Experts:
		return []prog.BufID{o.Out}
	}
	return nil
}
