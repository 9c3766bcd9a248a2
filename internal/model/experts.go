package model

import (
	"fmt"
	"strings"

	"github.com/paddock-go/paddock/internal/prog"
)

// expertSpec is what a file says of its layers of experts, over what its
// architecture takes where the file is silent.
//
//	h ─┬─ router ─ route ───────────┬─ experts ──(+)─
//	   ├────────────────────────────┘             │
//	   └─ gate,up ─ act× ─ down (─ × σ(gate·h)) ──┘   the shared expert, if any
type expertSpec struct {
	experts, used int
	hidden        int // width between an expert's gate and down
	shared        int // the same of the shared expert; 0: there is none
	sharedGate    bool
	lead          int // first layers that have the usual feed-forward

	score              prog.Score
	groups, groupsUsed int
	norm               bool
	scale              float32
	choiceBias         need // of the choice alone
	bias               need // of router and experts
	act                prog.ExpertAct
	alpha, limit       float32
}

const maxExperts = 1 << 12

// scores maps the metadata's numbers of how experts are weighed.
var scores = map[int]prog.Score{1: prog.ScoreSoftmax, 2: prog.ScoreSigmoid, 3: prog.ScoreChosen}

// readExperts completes e by the metadata, whose absent sizes are those given:
// of an expert and of the shared one.
func readExperts(k *keys, e expertSpec, hidden, shared int) *expertSpec {
	e.experts = k.count("expert_count", 1, maxExperts)
	e.used = k.count("expert_used_count", 1, int64(max(e.experts, 1)))
	e.hidden = k.countOr("expert_feed_forward_length", hidden, 1, maxWidth)
	e.shared = k.countOr("expert_shared_feed_forward_length", shared, 0, maxWidth)
	e.lead = k.countOr("leading_dense_block_count", 0, 0, maxLayers)
	e.norm = k.flagOr("expert_weights_norm", e.norm)
	e.scale = k.scaleOr("expert_weights_scale", 1)
	e.groups = max(1, k.countOr("expert_group_count", 1, 0, 64))
	e.groupsUsed = max(1, k.countOr("expert_group_used_count", e.groups, 0, int64(e.groups)))
	if k.has("expert_gating_func") {
		n := k.count("expert_gating_func", 0, 1<<16)
		score, ok := scores[n]
		switch {
		case n == 0: // as if it were not there
			score = e.score
		case !ok:
			k.fail(k.name("expert_gating_func"), n, "1 (softmax), 2 (sigmoid) or 3 (softmax of the chosen)", ErrUnsupported)
		}
		e.score = score
	}
	held := e.experts / e.groups * e.groupsUsed
	if k.err == nil && e.experts%e.groups != 0 {
		k.fail(k.name("expert_group_count"), e.groups, fmt.Sprintf("a divisor of %d experts", e.experts), nil)
	}
	if k.err == nil && e.used > held {
		k.fail(k.name("expert_used_count"), e.used, fmt.Sprintf("at most %d, what %d of %d groups hold", held, e.groupsUsed, e.groups), nil)
	}
	for _, key := range []string{"interleave_moe_layer_step", "moe_every_n_layers"} {
		if n := k.countOr(key, 1, 0, maxLayers); n > 1 {
			k.fail(k.name(key), n, "1 (experts in every layer)", ErrUnsupported)
		}
	}
	return &e
}

// feedExperts writes layer l's feed-forward: the usual one in layers without
// experts.
func (w *stream) feedExperts(l int, in prog.BufID) prog.BufID {
	e, b := w.moe, w.b
	if e == nil || l < e.lead {
		return w.dense(l, in)
	}
	sum := w.buf("sum", w.Embd)
	logits := w.buf("router", e.experts)
	parts := []prog.LinearPart{w.part(logits, w.name(l, "ffn_gate_inp"), e.experts, w.Embd, e.bias)}
	if e.shared > 0 {
		parts = append(w.sharedParts(l), parts...) // the largest first
	}
	b.op(prog.Linear{In: in, Parts: parts})

	r := prog.Route{In: logits, Ids: w.buf("ids", e.used), Weights: w.buf("weights", e.used), Score: e.score, Bias: prog.NoWeight,
		Groups: e.groups, GroupsUsed: e.groupsUsed, Norm: e.norm, Scale: e.scale}
	if e.choiceBias == maybe {
		r.Bias = b.optional(w.name(l, "exp_probs_b.bias"), e.experts)
	}
	b.op(r)
	x := prog.Experts{In: in, Out: sum, Ids: r.Ids, Weights: r.Weights, Act: e.act, Alpha: e.alpha, Limit: e.limit}
	x.Gate, x.GateBias = w.stack(l, "ffn_gate_exps", e.hidden, w.Embd)
	x.Up, x.UpBias = w.stack(l, "ffn_up_exps", e.hidden, w.Embd)
	x.Down, x.DownBias = w.stack(l, "ffn_down_exps", w.Embd, e.hidden)
	b.op(x)
	if e.shared > 0 {
		w.addShared(l, sum)
	}
	return sum
}

// stack is the matrices of one kind of all experts, and their biases.
func (w *stream) stack(l int, part string, rows, cols int) (weights, biases prog.WeightID) {
	name, n := w.name(l, part), w.moe.experts
	weights, biases = w.b.stack(name+".weight", prog.Matrix, n, rows, cols), prog.NoWeight
	if w.moe.bias == required {
		biases = w.b.stack(name+".bias", prog.Vector, n, 1, rows)
	}
	return weights, biases
}

// sharedParts are the products of the shared expert's input.
func (w *stream) sharedParts(l int) []prog.LinearPart {
	e := w.moe
	parts := []prog.LinearPart{
		w.part(w.buf("shared.gate", e.shared), w.name(l, "ffn_gate_shexp"), e.shared, w.Embd, absent),
		w.part(w.buf("shared.up", e.shared), w.name(l, "ffn_up_shexp"), e.shared, w.Embd, absent),
	}
	if e.sharedGate {
		parts = append(parts, w.part(w.buf("shared.scale", 1), w.name(l, "ffn_gate_inp_shexp"), 1, w.Embd, absent))
	}
	return parts
}

// addShared finishes the shared expert and adds it.
func (w *stream) addShared(l int, sum prog.BufID) {
	e, b := w.moe, w.b
	gate, up, out := w.buf("shared.gate", e.shared), w.buf("shared.up", e.shared), w.buf("shared", w.Embd)
	b.op(prog.GateMul{Gate: gate, Up: up, Out: gate, Act: prog.SiLU})
	b.op(prog.Linear{In: gate, Parts: []prog.LinearPart{w.part(out, w.name(l, "ffn_down_shexp"), w.Embd, e.shared, absent)}})
	if e.sharedGate {
		b.op(prog.RowScale{Dst: out, Gate: w.buf("shared.scale", 1)})
	}
	b.op(prog.AddTo{Dst: sum, Src: out, Scale: 1})
}

// stack adds a weight of n matrices of rows × cols, or of n vectors of cols.
func (b *builder) stack(name string, kind prog.WeightKind, n, rows, cols int) prog.WeightID {
	t, ok := b.file.Tensor(name)
	want, got := fmt.Sprintf("%d×%d×%d", cols, rows, n), ""
	dims := []uint64{uint64(cols), uint64(rows), uint64(n)}
	if kind == prog.Vector {
		dims = []uint64{uint64(cols), uint64(n)}
		want = fmt.Sprintf("%d×%d", cols, n)
	}
	for i := range dims {
		if ok && (len(t.Dims) != len(dims) || t.Dims[i] != dims[i]) {
			got = strings.Trim(strings.ReplaceAll(fmt.Sprint(t.Dims), " ", "×"), "[]") + ", innermost first"
		}
	}
	b.faced[name] = true
	if !ok || got != "" {
		b.fail(&TensorError{Arch: b.prog.Arch, Tensor: name, Want: want, Got: got})
		return 0
	}
	b.prog.Weights = append(b.prog.Weights, prog.Weight{Tensor: name, Kind: kind, Rows: rows, Cols: cols, Stack: n})
	return prog.WeightID(len(b.prog.Weights) - 1)
}
