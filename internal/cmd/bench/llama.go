package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// llamaSide is llama.cpp's llama-bench, and its llama-batched-bench for sequences that
// decode together. flash is its setting of flash attention; "": its default.
func llamaSide(name string, program, batched []string, flash string, c *config) side {
	if len(batched) == 0 {
		dir, file := filepath.Split(program[0])
		batched = slices.Clone(program)
		batched[0] = dir + strings.Replace(file, "llama-bench", "llama-batched-bench", 1)
	}
	settings := []string{"-m", c.model, "-t", strconv.Itoa(c.workers())}
	if flash != "" {
		settings = append(settings, "-fa", flash)
	}
	if c.kv != "" {
		settings = append(settings, "-ctk", c.kv, "-ctv", c.kv)
	}
	return side{
		name: name,
		command: func(t task) []string {
			if t.kind == generating && t.batch > 1 {
				// An empty prompt has no figure of its own there, so it has one token.
				prompt := max(t.depth, 1)
				return slices.Concat(batched, settings, []string{"-c", strconv.Itoa(t.batch * (prompt + t.tokens)),
					"-npp", strconv.Itoa(prompt), "-ntg", strconv.Itoa(t.tokens), "-npl", strconv.Itoa(t.batch), "--output-format", "jsonl"})
			}
			return slices.Concat(program, settings, llamaTask(t, c.repeat))
		},
		parse: parseLlama,
	}
}

func llamaTask(t task, repeat int) []string {
	p, n := t.tokens, 0
	if t.kind == generating {
		p, n = 0, t.tokens
	}
	args := []string{"-p", strconv.Itoa(p), "-n", strconv.Itoa(n), "-d", strconv.Itoa(t.depth), "-r", strconv.Itoa(repeat), "-o", "jsonl"}
	if t.kind == opening {
		args = append(args, "--no-warmup")
	}
	return args
}

// llamaLine is a line of llama-bench, or one of llama-batched-bench, as far as they
// are read.
type llamaLine struct {
	Prompt   *int    `json:"n_prompt"`
	Generate int     `json:"n_gen"`
	Depth    int     `json:"n_depth"`
	Threads  int     `json:"n_threads"`
	Rate     float64 `json:"avg_ts"`

	BatchedPrompt *int    `json:"pp"`
	BatchedTokens int     `json:"tg"`
	Sequences     int     `json:"pl"`
	BatchedRate   float64 `json:"speed_tg"`
}

func parseLlama(t task, printed []byte) (row, error) {
	return findRow(t, printed, func(line []byte) (r row, found bool, err error) {
		var l llamaLine
		if err := json.Unmarshal(line, &l); err != nil {
			return r, false, err
		}
		r = row{Test: t.String(), Rate: l.Rate, Threads: l.Threads, Backend: "llama.cpp"}
		p, n := t.tokens, 0
		switch {
		case t.kind == generating && t.batch > 1:
			r.Rate = l.BatchedRate
			return r, l.BatchedPrompt != nil && *l.BatchedPrompt == max(t.depth, 1) && l.BatchedTokens == t.tokens && l.Sequences == t.batch, nil
		case t.kind == generating:
			p, n = 0, t.tokens
		}
		return r, l.Prompt != nil && *l.Prompt == p && l.Generate == n && l.Depth == t.depth, nil
	})
}

// peers are the programs that -peer names: one for each setting that is asked for.
func (c *config) peers() ([]side, error) {
	program := strings.Fields(c.peer)
	if len(program) == 0 {
		return nil, fmt.Errorf("-peer is %q, must be a program with its first arguments", c.peer)
	}
	switch c.peerKind {
	case "bench":
		if c.peerFlash != "" {
			return nil, fmt.Errorf("-peer-fa is a setting of -peer-kind llama-bench")
		}
		return []side{benchSide("theirs", program, c)}, nil
	case "llama-bench":
		batched := strings.Fields(c.peerBatched)
		switch c.peerFlash {
		case "":
			return []side{llamaSide("theirs", program, batched, "", c)}, nil
		case "both":
			return []side{llamaSide("fa off", program, batched, "off", c), llamaSide("fa on", program, batched, "on", c)}, nil
		case "on", "off", "auto":
			return []side{llamaSide("fa "+c.peerFlash, program, batched, c.peerFlash, c)}, nil
		}
		return nil, fmt.Errorf("-peer-fa is %q, must be on, off, auto or both", c.peerFlash)
	}
	return nil, fmt.Errorf("-peer-kind is %q, must be bench or llama-bench", c.peerKind)
}
