package main

import (
	"slices"
	"strings"
	"testing"
)

// benchLines are as llama-bench and llama-batched-bench print them, with what comes
// before.
const benchLines = `load_backend: loaded CPU backend
{"n_threads": 2, "flash_attn": 1, "n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ns": 1000000000, "avg_ts": 512.5, "samples_ts": [ 512.5 ]}
{"n_threads": 2, "flash_attn": 1, "n_prompt": 512, "n_gen": 0, "n_depth": 1024, "avg_ts": 300.25}
{"n_threads": 2, "flash_attn": 1, "n_prompt": 0, "n_gen": 128, "n_depth": 0, "avg_ts": 60.125}
{"n_threads": 2, "flash_attn": 1, "n_prompt": 0, "n_gen": 128, "n_depth": 1024, "avg_ts": 40.5}
{"n_threads": 2, "n_prompt": 1, "n_gen": 0, "n_depth": 0, "avg_ts": 9.5}
{"n_threads": 2, "n_prompt": 0, "n_gen": 64, "n_depth": 0, "avg_ts": 0.0}

{"n_kv_max": 1032, "n_threads": 2, "pp": 1, "tg": 128, "pl": 8, "n_kv": 1032, "t_pp": 0.1, "speed_pp": 80.0, "t_tg": 4.0, "speed_tg": 256.0, "t": 4.1, "speed": 251.7}
{"n_kv_max": 9216, "n_threads": 2, "pp": 1024, "tg": 128, "pl": 8, "n_kv": 9216, "t_pp": 9.1, "speed_pp": 900.0, "t_tg": 8.0, "speed_tg": 128.0, "t": 17.1, "speed": 538.9}
`

func TestParseLlama(t *testing.T) {
	for _, c := range []struct {
		task task
		want float64 // 0: refused
	}{
		{task{prompting, 512, 0, 1}, 512.5},
		{task{prompting, 512, 1024, 1}, 300.25},
		{task{generating, 128, 0, 1}, 60.125},
		{task{generating, 128, 1024, 1}, 40.5},
		{task{opening, 1, 0, 1}, 9.5},
		{task{generating, 128, 0, 8}, 256},
		{task{generating, 128, 1024, 8}, 128},
		{task{generating, 128, 0, 16}, 0}, // not there
		{task{prompting, 256, 0, 1}, 0},
		{task{generating, 64, 0, 1}, 0}, // no rate
	} {
		r, err := parseLlama(c.task, []byte(benchLines))
		if (err != nil) != (c.want == 0) || r.Rate != c.want || err == nil && (r.Test != c.task.String() || c.task.batch == 1 && r.Threads != 2) {
			t.Errorf("%+v: %+v, %v, want %v", c.task, r, err, c.want)
		}
	}
	if _, err := parseLlama(task{prompting, 512, 0, 1}, []byte(`{"n_prompt": `)); err == nil {
		t.Error("a line that ends early was read")
	}
}

func TestLlamaCommand(t *testing.T) {
	c := &config{model: "m.gguf", threads: 2, repeat: 1, kv: "f16", peer: "/bin/llama-bench -lm mmap", peerKind: "llama-bench", peerFlash: "both"}
	sides, err := c.peers()
	if err != nil || len(sides) != 2 || sides[0].name != "fa off" || sides[1].name != "fa on" {
		t.Fatalf("%v, %v", sides, err)
	}
	for _, x := range []struct {
		task task
		want string
	}{
		{task{prompting, 512, 0, 1}, "/bin/llama-bench -lm mmap -m m.gguf -t 2 -fa on -ctk f16 -ctv f16 -p 512 -n 0 -d 0 -r 1 -o jsonl"},
		{task{generating, 64, 1024, 1}, "/bin/llama-bench -lm mmap -m m.gguf -t 2 -fa on -ctk f16 -ctv f16 -p 0 -n 64 -d 1024 -r 1 -o jsonl"},
		{task{opening, 1, 0, 1}, "/bin/llama-bench -lm mmap -m m.gguf -t 2 -fa on -ctk f16 -ctv f16 -p 1 -n 0 -d 0 -r 1 -o jsonl --no-warmup"},
		{task{generating, 64, 0, 8}, "/bin/llama-batched-bench -lm mmap -m m.gguf -t 2 -fa on -ctk f16 -ctv f16 -c 520 -npp 1 -ntg 64 -npl 8 --output-format jsonl"},
	} {
		if got := strings.Join(sides[1].command(x.task), " "); got != x.want {
			t.Errorf("%v:\n%s\nwant\n%s", x.task, got, x.want)
		}
	}
	c.peerBatched = "/other/batched"
	if sides, err = c.peers(); err != nil || sides[0].command(task{generating, 64, 0, 8})[0] != "/other/batched" {
		t.Errorf("%v, %v", sides, err)
	}
	for _, bad := range []config{
		{peer: " ", peerKind: "bench"}, {peer: "x", peerKind: "y"}, {peer: "x", peerKind: "bench", peerFlash: "on"}, {peer: "x", peerKind: "llama-bench", peerFlash: "maybe"},
	} {
		if _, err := bad.peers(); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// TestTasks holds the names of rows and their order.
func TestTasks(t *testing.T) {
	c, err := parseFlags([]string{"-p", "512", "-n", "128", "-depth", "0,1024", "-batch", "1,8"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range c.tasks() {
		names = append(names, x.String())
	}
	if want := []string{"pp512", "tg128", "b8", "pp512@d1024", "tg128@d1024", "b8@d1024"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	for _, bad := range [][]string{{"-p", "-1"}, {"-depth", "x"}, {"-batch", "0"}, {"-pairs", "0"}, {"stray"}, {"-steady", "-1"}} {
		if _, err := parseFlags(bad); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}
