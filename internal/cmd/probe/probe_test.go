package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
)

// TestLateTokens: a token that no vocabulary has is told of as such also where it would
// first be an answer, at the end of a step.
func TestLateTokens(t *testing.T) {
	d, model := openDoor(t), filepath.Join(golden.Dir(t), "models", "llama.gguf")
	for _, last := range []int32{-1, 512, math.MaxInt32} {
		tokens := append(slices.Repeat([]int32{1}, rows), last)
		for _, op := range []string{"nll", "logits"} {
			line, err := json.Marshal(map[string]any{"op": op, "model": model, "tokens": tokens})
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if msg := d.askRaw(line, &v); !strings.Contains(msg, fmt.Sprintf("tokens[%d] is %d", rows, last)) {
				t.Errorf("%s: %q", op, msg)
			}
		}
	}
}

// TestLongLine: a line that is too long is answered like any other, as are an empty one
// and one at the end that nothing ends.
func TestLongLine(t *testing.T) {
	const good = `{"op":"dequant","type":"f32","hex":"0000803f"}`
	in := io.MultiReader(strings.NewReader(good+"\r\n\n"), strings.NewReader(strings.Repeat("x", maxLine+1)), strings.NewReader("\n"+good))
	var out strings.Builder
	if err := serve(in, &out); err != nil {
		t.Fatal(err)
	}
	const one = `{"values":[1]}` + "\n"
	if got := out.String(); !strings.HasPrefix(got, one+`{"error":"the line is empty"}`+"\n"+`{"error":"the line has 67108865 bytes`) || !strings.HasSuffix(got, "\n"+one) || strings.Count(got, "\n") != 4 {
		t.Errorf("%.300q", got)
	}
}

// TestErrorsLeaveTheProbeAlive: bad lines are answered in order and the next one is
// served.
func TestErrorsLeaveTheProbeAlive(t *testing.T) {
	d := openDoor(t)
	for _, c := range []struct{ line, want string }{
		{`{"op":"rotate","model":"x","tokens":[1]}`, "unsupported op: rotate"},
		{`{"op":"schema"}`, "unsupported op: schema"},
		{`not json`, "invalid character"},
		{`{"op":"logits","tokens":[1]}`, "model is missing"},
		{`{"op":"logits","model":"/does/not/exist.gguf","tokens":[1]}`, "no such file"},
		{`{"op":"dequant","type":"q9","hex":""}`, "no format"},
		{`{"op":"dequant","type":"q8_0","hex":"00"}`, "whole blocks"},
		{`{"op":"template","template":"{{","input":{}}`, "line 1"},
	} {
		var v any
		if msg := d.askRaw([]byte(c.line), &v); !strings.Contains(msg, c.want) {
			t.Errorf("%s: %q, want %q", c.line, msg, c.want)
		}
	}
	var got struct{ Text string }
	if msg := d.askRaw([]byte(`{"op":"template","template":"{{ x }}","input":{"x":48.0}}`), &got); msg != "" || got.Text != "48.0" {
		t.Errorf("after the errors: %q, %q", got.Text, msg)
	}
}
