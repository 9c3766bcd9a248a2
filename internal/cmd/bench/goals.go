package main

import (
	"fmt"
	"strings"
)

// goal is one row of the table of goals: a figure of ours against the peer's.
type goal struct {
	id     string // as -goals-only names it
	work   string // what the table calls it
	shape  string
	typ    string
	task   task
	serve  *serveTest
	figure string  // of the run, by its name; "": the first
	level  string  // both sides are kept to it; "": the best
	flash  string  // the peer's settings of flash attention that are tried
	least  float64 // ratio that is asked for
	aim    float64 // ratio that is hoped for; 0: none
	floor  float64 // share of a plain read that stands for least where it is reached; 0: none
	aimed  float64 // share of a plain read that is hoped for; 0: none
	weight float64 // share of the time that it may take, beside the others'
}

// settings of a run's length: short, so that the whole table is done in minutes.
const (
	goalTokens = 32
	deepTokens = 16
)

// formatGoals are what decode and prefill are to reach by format.
var formatGoals = []struct {
	typ                string
	decode, aimed      float64
	prefill, aimPrompt float64
}{
	{"Q8_0", 1.2, 0.90, 2, 3},
	{"Q4_0", 1.8, 0.90, 2, 3},
	{"Q4_K_M", 2.3, 0.75, 3, 5},
	{"Q6_K", 2.3, 0.75, 3, 5},
	{"F16", 1.2, 0.90, 2.5, 4},
	{"BF16", 1.2, 0.90, 4, 8},
}

// goals is the whole table, in its order.
func goals(clients int) []goal {
	var list []goal
	add := func(g goal, parts ...string) {
		g.id = strings.ToLower(strings.Join(append([]string{g.work, g.shape, g.typ}, parts...), "/"))
		list = append(list, g)
	}
	size := map[string]float64{"135m": 1, "0.6b": 3, "1.2b": 5}
	for _, shape := range []string{"0.6b", "1.2b"} {
		for _, f := range formatGoals {
			add(goal{work: "decode", shape: shape, typ: f.typ, task: task{generating, goalTokens, 0, 1}, least: f.decode, aimed: f.aimed, weight: 2 * size[shape]})
		}
	}
	for _, shape := range []string{"135m", "0.6b"} {
		for _, depth := range []int{1024, 4096} {
			add(goal{work: "depth", shape: shape, typ: "Q8_0", task: task{generating, deepTokens, depth, 1}, flash: "both", least: 2, floor: 0.85, aim: 3,
				weight: size[shape] * float64(depth) / 150}, fmt.Sprint(depth))
		}
	}
	for _, shape := range []string{"0.6b", "1.2b"} {
		for _, f := range formatGoals {
			add(goal{work: "prefill", shape: shape, typ: f.typ, task: task{prompting, 512, 0, 1}, least: f.prefill, aim: f.aimPrompt, weight: 4 * size[shape]})
		}
	}
	for _, n := range []int{8, 16} {
		add(goal{work: "together", shape: "0.6b", typ: "Q8_0", task: task{generating, goalTokens, 0, n}, least: 1.8, aim: 3, weight: 10}, fmt.Sprint(n))
	}
	load := &serveTest{name: "load", clients: clients, in: 256, out: 64}
	add(goal{work: "serve", shape: "0.6b", typ: "Q8_0", serve: load, flash: "both", least: 2, aim: 4, weight: 60})
	add(goal{work: "serve", shape: "0.6b", typ: "Q8_0", serve: load, flash: "both", figure: "TTFT mean", least: 2, aim: 4, weight: 60}, "ttft")
	for _, shape := range []string{"135m", "0.6b"} {
		add(goal{work: "warm", shape: shape, typ: "Q8_0", serve: &serveTest{name: "ttft-warm", clients: 1, in: warmTail, out: 1, prefix: 1024, times: 5}, flash: "both",
			least: 2, aim: 4, weight: 8 * size[shape]})
	}
	for _, level := range []string{"avx512vnni", "avx2"} {
		for _, typ := range []string{"Q8_0", "Q4_0", "Q4_K_M", "F16"} {
			add(goal{work: "decode", shape: "0.6b", typ: typ, level: level, task: task{generating, goalTokens, 0, 1}, least: 1, aim: 1.3, weight: 6}, level)
			add(goal{work: "prefill", shape: "0.6b", typ: typ, level: level, task: task{prompting, 512, 0, 1}, least: 1, aim: 1.3, weight: 14}, level)
		}
	}
	add(goal{work: "open", shape: "1.2b", typ: "Q4_K_M", task: task{opening, 1, 0, 1}, least: 1, aim: 2, weight: 8})
	add(goal{work: "memory", shape: "1.2b", typ: "Q4_K_M", task: task{prompting, 512, 0, 1}, figure: "peak memory", least: 1 / 1.05, aim: 1, weight: 20})
	return list
}

// key names what a goal runs: rows of one key are figures of one set of pairs.
func (g goal) key() string {
	name := g.task.String()
	if g.serve != nil {
		name = g.serve.name
	}
	return strings.Join([]string{g.shape, g.typ, name, g.level, g.flash}, " ")
}

// chosen tells whether a goal is one of those that -goals-only names: whole, or by how
// they begin.
func (g goal) chosen(only string) bool {
	for _, name := range strings.Split(strings.ToLower(only), ",") {
		if g.id == name || strings.HasPrefix(g.id, strings.TrimSuffix(name, "/")+"/") {
			return true
		}
	}
	return false
}

// verdict says how a comparison stands to the goal.
func (g goal) verdict(c *comparison) string {
	switch r := c.Ratio.Median; {
	case g.aim > 0 && r >= g.aim, g.aimed > 0 && c.Share >= g.aimed && r >= g.least:
		return "aim"
	case r >= g.least:
		return "met"
	case g.floor > 0 && c.Share >= g.floor:
		return "met by the floor"
	}
	return "below"
}

// wanted is what the goal asks for, in words.
func (g goal) wanted() string {
	s := fmt.Sprintf("%.3g", g.least)
	if g.floor > 0 {
		s += fmt.Sprintf(" or %.0f %%", 100*g.floor)
	}
	if g.aim > 0 {
		s += fmt.Sprintf(" / %.3g", g.aim)
	}
	if g.aimed > 0 {
		s += fmt.Sprintf(" / %.0f %% of a plain read", 100*g.aimed)
	}
	return s
}
