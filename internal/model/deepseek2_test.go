package model

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/prog"
)

// first is the first op of a type.
func first[T prog.Op](t *testing.T, p *prog.Program) T {
	t.Helper()
	for _, op := range p.Ops {
		if o, ok := op.(T); ok {
			return o
		}
	}
	t.Fatalf("no such op in\n%v", p)
	panic("unreachable")
}

// TestLatentLite: queries without a latent of their own, as the small models have
// them.
func TestLatentLite(t *testing.T) {
	m := readHead(t, "deepseek2")
	m.drop("deepseek2.attention.q_lora_rank")
	for l := range 3 {
		name := func(part string) string { return fmt.Sprintf("blk.%d.%s", l, part) }
		for _, part := range []string{"attn_q_a.weight", "attn_q_a_norm.weight", "attn_q_b.weight"} {
			m.remove(name(part))
		}
		m.tensor(name("attn_q.weight"), 64, 96)
	}
	low, err := lowerMade(t, m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := low.Program.String()
	if want := "linear h: q0 = blk.0.attn_q.weight; k = blk.0.attn_kv_a_mqa.weight\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	if n := low.Program.KVValues(); n != 3*40 {
		t.Errorf("a token keeps %d values, want 3 layers of 32 + 8", n)
	}
}

// TestLatentScale holds the factors on scores and on rotated values with and
// without YaRN, and with and without its multiplier.
func TestLatentScale(t *testing.T) {
	stretch := 1 + 0.1*math.Log(8)
	for _, c := range []struct {
		name       string
		edit       func(m *made)
		scale, mag float64
	}{
		{"multiplier 1", func(*made) {}, stretch * stretch / math.Sqrt(24), 1},
		{"multiplier 0.707", func(m *made) { m.set("deepseek2.rope.scaling.yarn_log_multiplier", float32(0.0707)) },
			math.Pow(1+0.0707*math.Log(8), 2) / math.Sqrt(24), 1},
		{"no multiplier", func(m *made) { m.drop("deepseek2.rope.scaling.yarn_log_multiplier") }, stretch * stretch / math.Sqrt(24), stretch},
		{"no stretch", func(m *made) { m.drop("deepseek2.rope.scaling.type"); m.drop("deepseek2.rope.scaling.factor") }, 1 / math.Sqrt(24), 1},
	} {
		m := readHead(t, "deepseek2")
		c.edit(m)
		low, err := lowerMade(t, m, Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := first[prog.Attend](t, low.Program).Scale; math.Abs(float64(got)-c.scale) > 1e-7 {
			t.Errorf("%s: scores × %v, want %v", c.name, got, c.scale)
		}
		if got := first[prog.RopeAppend](t, low.Program).Rope; math.Abs(float64(got.Mag)-c.mag) > 1e-7 || got.From != 32 {
			t.Errorf("%s: rotated values × %v from %d on, want %v from 32", c.name, got.Mag, got.From, c.mag)
		}
	}
}

// TestExpertKeys: what the metadata says of a choice reaches the op.
func TestExpertKeys(t *testing.T) {
	m := readHead(t, "deepseek2")
	m.set("deepseek2.expert_group_count", uint32(2))
	m.set("deepseek2.expert_group_used_count", uint32(1))
	m.set("deepseek2.expert_gating_func", uint32(1))
	m.set("deepseek2.expert_weights_norm", false)
	low, err := lowerMade(t, m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := first[prog.Route](t, low.Program)
	if r.Groups != 2 || r.GroupsUsed != 1 || r.Score != prog.ScoreSoftmax || r.Norm || r.Scale != 2.5 || r.Bias == prog.NoWeight {
		t.Errorf("lowered to %+v", r)
	}
	for text, edit := range map[string]func(){
		"expert_gating_func is 9, must be": func() { m.set("deepseek2.expert_gating_func", uint32(9)) },
		"key_length_mla is 8, must be":     func() { m.set("deepseek2.attention.key_length_mla", uint32(8)) },
		"kv_lora_rank is 4095, must be":    func() { m.set("deepseek2.attention.kv_lora_rank", uint32(4095)) },
		`"blk.1.ffn_gate_exps.weight" is 64×32×4, innermost first, by the metadata it must be 64×31×4`: func() {
			m.set("deepseek2.expert_feed_forward_length", uint32(31))
			for l := 1; l < 3; l++ {
				m.tensor(fmt.Sprintf("blk.%d.ffn_gate_shexp.weight", l), 64, 31)
				m.tensor(fmt.Sprintf("blk.%d.ffn_up_shexp.weight", l), 64, 31)
			}
		},
		"expert_weights_norm":              func() { m.set("deepseek2.expert_weights_norm", uint32(1)) },
		"moe_every_n_layers is 2, must be": func() { m.set("deepseek2.moe_every_n_layers", uint32(2)) },
	} {
		m = readHead(t, "deepseek2")
		edit()
		if _, err := lowerMade(t, m, Options{}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want an error with %q", err, text)
		}
	}
}
