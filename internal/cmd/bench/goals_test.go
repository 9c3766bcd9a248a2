package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/internal/model/synth"
)

// TestGoalList asks that the table is whole: names of their own, files that can be
// made, and every row of the goals.
func TestGoalList(t *testing.T) {
	seen, works := map[string]bool{}, map[string]int{}
	for _, g := range goals(16) {
		if seen[g.id] || g.least <= 0 || g.weight <= 0 || g.chosen("nothing") || !g.chosen(g.id) || !g.chosen(g.work) {
			t.Errorf("%+v", g)
		}
		seen[g.id] = true
		works[g.work]++
		if !slices.Contains(synth.Shapes(), g.shape) || !slices.Contains(synth.Types(), g.typ) {
			t.Errorf("%s: no file can be made", g.id)
		}
	}
	for work, n := range map[string]int{"decode": 12 + 8, "depth": 4, "prefill": 12 + 8, "together": 2, "serve": 2, "warm": 2, "open": 1, "memory": 1} {
		if works[work] != n {
			t.Errorf("%d rows of %s, want %d", works[work], work, n)
		}
	}
	if (goal{id: "decode/0.6b/q8_0"}).chosen("decode/0.6") || !(goal{id: "serve/0.6b/q8_0/ttft"}).chosen("x,serve/0.6b") {
		t.Error("rows are not chosen by how they begin")
	}
}

func TestGoalVerdict(t *testing.T) {
	for _, c := range []struct {
		g            goal
		ratio, share float64
		want         string
	}{
		{goal{least: 2, aim: 3}, 3.1, 0, "aim"},
		{goal{least: 2, aim: 3}, 2.5, 0, "met"},
		{goal{least: 2, aim: 3}, 1.9, 0.9, "below"},
		{goal{least: 2, aim: 3, floor: 0.85}, 1.9, 0.86, "met by the floor"},
		{goal{least: 1.2, aimed: 0.9}, 1.3, 0.91, "aim"},
		{goal{least: 1.2, aimed: 0.9}, 1.3, 0.8, "met"},
		{goal{least: 1.2, aimed: 0.9}, 1.1, 0.95, "below"},
	} {
		if got := c.g.verdict(&comparison{Ratio: spread{Median: c.ratio}, Share: c.share}); got != c.want {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
	}
}

// goalTest is a run of a few goals whose measuring is made up.
func goalTest(t *testing.T, dir, only string, run func(goal, time.Duration) ([]comparison, error)) (string, error) {
	t.Helper()
	r := &goalRun{c: &config{goals: dir, goalsOnly: only, goalsTime: time.Hour}, ctx: context.Background(), saved: filepath.Join(dir, "goals.jsonl"), say: io.Discard, run: run,
		make: func(goal) error { return nil }}
	for _, g := range goals(16) {
		if g.work == "serve" || g.work == "open" {
			r.table = append(r.table, g)
		}
	}
	if err := r.load(); err != nil {
		return "", err
	}
	if err := r.all(); err != nil {
		return "", err
	}
	var out bytes.Buffer
	err := r.print(&out)
	return out.String(), err
}

// TestGoalRun asks that figures of one set of pairs are measured once, that a second run
// goes on where the first ended, that rows can be measured again, and that a fault of
// one leaves the others.
func TestGoalRun(t *testing.T) {
	dir := t.TempDir()
	var ran []string
	fault := errors.New("it | fell\nover")
	run := func(g goal, limit time.Duration) ([]comparison, error) {
		if limit <= 0 || limit > time.Hour {
			t.Errorf("%s may take %v", g.id, limit)
		}
		ran = append(ran, g.id)
		if g.work == "open" {
			return nil, fault
		}
		return []comparison{
			{Test: "serve", Unit: tokensPerSecond, Ours: spread{Median: 80}, Theirs: spread{Median: 20}, Ratio: spread{4, 3, 5}, Setting: "fa on", Pairs: 3, Dropped: 1},
			{Test: "TTFT mean", Unit: seconds, Ours: spread{Median: 3}, Theirs: spread{Median: 3}, Ratio: spread{1, 1, 1}, Pairs: 3},
		}, nil
	}
	table, err := goalTest(t, dir, "serve", run)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ran, " "); got != "serve/0.6b/q8_0" {
		t.Errorf("measured %s", got)
	}
	for _, want := range []string{
		"| `serve/0.6b/q8_0` | 80 tok/s | 20 (fa on) | 4.00, 3.00 to 5.00 | 2 / 4 | aim |  | 3, 1 dropped |\n",
		"| `serve/0.6b/q8_0/ttft` | 3 s | 3 | 1.00, 1.00 to 1.00 | 2 / 4 | below |  | 3 |\n",
		"| `open/1.2b/q4_k_m` | | | | 1 / 2 | not measured | | |\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %s:\n%s", want, table)
		}
	}
	ran = nil
	if table, err = goalTest(t, dir, "", run); err != nil || strings.Join(ran, " ") != "open/1.2b/q4_k_m" {
		t.Errorf("measured %v, %v: want what is missing", ran, err)
	}
	if !strings.Contains(table, "| `open/1.2b/q4_k_m` | | | | 1 / 2 | it / fell over | | |\n") || !strings.Contains(table, "4.00, 3.00 to 5.00") {
		t.Errorf("%s", table)
	}
	ran = nil
	if _, err = goalTest(t, dir, "serve/0.6b/q8_0/ttft", run); err != nil || strings.Join(ran, " ") != "serve/0.6b/q8_0/ttft" {
		t.Errorf("measured %v, %v: want what was named", ran, err)
	}
	if _, err = goalTest(t, dir, "nonsense", run); err == nil || !strings.Contains(err.Error(), "open/1.2b/q4_k_m") {
		t.Errorf("%v", err)
	}
}

func TestPeerFolders(t *testing.T) {
	got, err := peerFolders("/a,avx2=/b")
	if err != nil || got[""] != "/a" || got["avx2"] != "/b" || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "/a,", "avx2="} {
		if got, err := peerFolders(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// TestGoalServers holds both servers' commands: the same context, and as many sequences
// at once.
func TestGoalServers(t *testing.T) {
	r := &goalRun{srv: "/srv"}
	g := goal{serve: &serveTest{clients: 16, in: 256, out: 64}}
	hosts, err := r.servers(&config{model: "m.gguf", threads: 2, kv: "f16"}, g, "/peer")
	if err != nil || len(hosts) != 3 {
		t.Fatalf("%v, %v", hosts, err)
	}
	for i, want := range []string{
		"/srv --addr 127.0.0.1:{port} --model m.gguf --threads 2 --max-batch 16 --max-ctx 512 --log-level warn --kv-cache-dtype f16",
		"/peer/llama-server --host 127.0.0.1 --port {port} -m m.gguf -t 2 -np 16 -c 8192 -fa off -ctk f16 -ctv f16",
		"/peer/llama-server --host 127.0.0.1 --port {port} -m m.gguf -t 2 -np 16 -c 8192 -fa on -ctk f16 -ctv f16",
	} {
		if got := strings.Join(hosts[i].command, " "); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
