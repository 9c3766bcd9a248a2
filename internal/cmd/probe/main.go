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
	"bytes"
	"encoding/json"
	"errors"
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

// maxLine is the longest input line that is answered, in bytes.
const maxLine = 64 << 20

// serve answers lines until the input ends.
func serve(in io.Reader, out io.Writer) error {
	p := &probe{files: make(map[string]*file)}
	defer p.close()
	r, w := bufio.NewReaderSize(in, 1<<20), bufio.NewWriter(out)
	for {
		line, size, readErr := readLine(r)
		if readErr != nil && readErr != io.EOF {
			return readErr
		}
		var v map[string]any
		switch {
		case size > maxLine:
			v = failure(fmt.Errorf("the line has %d bytes, at most %d are read", size, maxLine))
		case size > 0:
			v = p.answer(line)
		case readErr == nil: // one answer a line, whatever is on it
			v = failure(errors.New("the line is empty"))
		}
		if v != nil {
			b, err := json.Marshal(v)
			if err != nil {
				b, _ = json.Marshal(failure(fmt.Errorf("the answer can't be written as JSON: %w", err)))
			}
			w.Write(append(b, '\n'))
			if err := w.Flush(); err != nil {
				return err
			}
		}
		if readErr == io.EOF {
			return nil
		}
	}
}

// readLine reads a line, without its end, and counts its bytes; of one that is longer
// than maxLine it keeps no more than that. io.EOF comes with the last line.
func readLine(r *bufio.Reader) (line []byte, size int, err error) {
	for {
		part, err := r.ReadSlice('\n')
		whole := err == nil
		if whole {
			part = bytes.TrimSuffix(part[:len(part)-1], []byte{'\r'})
		}
		if size += len(part); size <= maxLine {
			line = append(line, part...)
		}
		if whole || err != bufio.ErrBufferFull {
			return line, size, err
		}
	}
}

func failure(err error) map[string]any { return map[string]any{"error": err.Error()} }
