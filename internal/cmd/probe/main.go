// Command probe lets anyone hold paddock against another engine: one JSON object
// a line comes in, one goes out, in order. An error is {"error": "…"} and the
// process lives on; opened files stay open.
//
//	{"op":"logits","model":P,"tokens":[…]}          → {"logits":[…]}, of the last position
//	{"op":"greedy","model":P,"tokens":[…],"n":32}   → {"tokens":[…]}, end tokens ignored
//	{"op":"nll","model":P,"tokens":[…]}             → {"nll":[…]}, natural log, per token after the first
//	{"op":"tokenize","model":P,"text":S,"add_special":B,"parse_special":B} → {"ids":[…]}
//	{"op":"detokenize","model":P,"ids":[…],"skip_special":B} → {"text":S}
//	{"op":"template","template":S,"input":{…},"now":"2025-07-14T09:05:07"} → {"text":S}
//	{"op":"dequant","type":"q4_K","hex":"…"}        → {"values":[…]}
//
// Tokens are taken as they stand, without BOS; contexts are at most 512 tokens.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

// maxLine is the longest input line, in bytes.
const maxLine = 64 << 20

// serve answers lines until the input ends.
func serve(in io.Reader, out io.Writer) error {
	p := &probe{files: make(map[string]*file)}
	defer p.close()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), maxLine)
	w := bufio.NewWriter(out)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		b, err := json.Marshal(p.answer(lines.Bytes()))
		if err != nil {
			b, _ = json.Marshal(failure(fmt.Errorf("the answer can't be written as JSON: %w", err)))
		}
		w.Write(append(b, '\n'))
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

func failure(err error) map[string]any { return map[string]any{"error": err.Error()} }
