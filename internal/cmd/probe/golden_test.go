package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
)

// door is a running probe: every check of this file goes through its lines, as an
// outsider's would.
type door struct {
	t   testing.TB
	in  *io.PipeWriter
	out *bufio.Reader
}

func openDoor(t testing.TB) *door {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := serve(inR, outW)
		outW.CloseWithError(err)
		done <- err
	}()
	t.Cleanup(func() {
		inW.Close()
		go io.Copy(io.Discard, outR)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &door{t, inW, bufio.NewReaderSize(outR, 1<<20)}
}

// ask sends one line and decodes its answer into v; an error answer is returned.
func (d *door) ask(q map[string]any, v any) string {
	d.t.Helper()
	b, err := json.Marshal(q)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.askRaw(b, v)
}

func (d *door) askRaw(line []byte, v any) string {
	d.t.Helper()
	go d.in.Write(append(line, '\n'))
	out, err := d.out.ReadBytes('\n')
	if err != nil {
		d.t.Fatal(err)
	}
	var failed struct{ Error string }
	if json.Unmarshal(out, &failed) == nil && failed.Error != "" {
		return failed.Error
	}
	if err := json.Unmarshal(out, v); err != nil {
		d.t.Fatalf("%s: %v", out, err)
	}
	return ""
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reference is a prompt of the golden models with what the peer made of it.
type reference struct {
	Tokens []int32   `json:"tokens"`
	Argmax int       `json:"argmax"`
	Logits []float64 `json:"logits"`
	Greedy []int32   `json:"greedy"`
	Margin []float64 `json:"greedy_margin"`
}

type referenceFile struct {
	Prompts     []reference `json:"prompts"`
	Dequantized struct {
		Prompts []reference `json:"prompts"`
	} `json:"dequantized_f32"`
}

// models are the files of the formats and architectures that are built, each with
// the gates that the data's README recommends for our arithmetic.
var models = []struct {
	name    string
	gate    float64 // on the largest difference of logits
	kl      float64 // nats
	against string  // "": prompts; "f32": the weights expanded to float32
}{
	{"models/llama", 1e-3, 1e-6, ""},
	{"models/llama_gqa_tied", 1e-3, 1e-6, ""},
	{"models/llama_mqa_headdim", 1e-3, 1e-6, ""},
	{"models/llama_bias", 1e-3, 1e-6, ""},
	{"models/llama_linear", 1e-3, 1e-6, ""},
	{"models/llama_yarn", 1e-3, 1e-6, ""},
	{"models/llama3_rope", 1e-3, 1e-6, ""},
	{"models/qwen2", 1e-3, 1e-6, ""},
	{"models/qwen3", 1e-3, 1e-6, ""},
	{"models/lfm2", 1e-3, 1e-6, ""},
	{"models/smollm3", 1e-3, 1e-6, ""},
	{"models/granite", 1e-3, 1e-6, ""},
	{"models/mistral3", 1e-3, 1e-6, ""},
	{"models/glm4", 1e-3, 1e-6, ""},
	{"models/phi3", 1e-3, 1e-6, ""},
	{"models/phi3_longrope_short", 1e-3, 1e-6, ""},
	{"models/phi3_longrope_long", 1e-3, 1e-6, ""},
	{"models/olmo2", 1e-3, 1e-6, ""},
	{"models/olmo3", 1e-3, 1e-6, ""},
	{"models/cohere2", 1e-3, 1e-6, ""},
	{"models/gemma", 5e-3, 1e-6, ""},      // GELU from a table of halves
	{"models/gemma2", 5e-3, 1e-6, ""},     // GELU from a table of halves
	{"models/gemma3", 5e-3, 1e-6, ""},     // GELU from a table of halves
	{"models/gpt2", 5e-3, 1e-6, ""},       // GELU from a table of halves
	{"models/starcoder2", 5e-3, 1e-6, ""}, // GELU from a table of halves
	{"models/phi2", 5e-3, 1e-6, ""},       // GELU from a table of halves
	{"models/mixtral", 1e-3, 1e-6, ""},
	{"models/granitemoe", 1e-3, 1e-6, ""},
	{"models/qwen2moe", 1e-3, 1e-6, ""},
	{"models/qwen3moe", 1e-3, 1e-6, ""},
	{"models/deepseek2", 1e-3, 1e-6, ""},
	{"models/gptoss", 1e-3, 1e-6, ""},
	{"models/gptoss_mxfp4", 5e-3, 1e-5, ""},
	{"quants/F32", 1e-3, 1e-6, ""},
	{"quants/F16", 1e-3, 1e-6, "f32"},
	{"quants/BF16", 0.25, 2e-3, ""},
	{"quants/Q8_0", 5e-3, 1e-5, ""},
	{"quants/Q4_0", 5e-3, 1e-5, ""},
	{"quants/Q4_1", 5e-3, 1e-5, ""},
	{"quants/Q5_0", 5e-3, 1e-5, ""},
	{"quants/Q5_1", 5e-3, 1e-5, ""},
	{"quants/Q2_K", 5e-3, 1e-5, ""},
	{"quants/Q3_K_S", 5e-3, 1e-5, ""},
	{"quants/Q3_K_M", 5e-3, 1e-5, ""},
	{"quants/Q4_K_S", 5e-3, 1e-5, ""},
	{"quants/Q4_K_M", 5e-3, 1e-5, ""},
	{"quants/Q5_K_S", 5e-3, 1e-5, ""},
	{"quants/Q5_K_M", 5e-3, 1e-5, ""},
	{"quants/Q6_K", 5e-3, 1e-5, ""},
	{"quants/IQ3_S", 5e-3, 1e-5, ""},
	{"quants/IQ4_NL", 5e-3, 1e-5, ""},
	{"quants/IQ4_XS", 5e-3, 1e-5, ""},
	{"quants/MXFP4", 5e-3, 1e-5, ""},
	{"quants/NVFP4", 5e-3, 1e-5, ""},
	{"quants/TQ1_0", 5e-3, 1e-5, ""},
	{"quants/TQ2_0", 5e-3, 1e-5, ""},
}

// ties are continuations that leave the reference's at a step where one rounding to
// 8 bits falls the other way, so that its margin there says nothing: the data's
// README saw the like between builds of the peer, worth up to 0.083 in the logits.
var ties = map[string]struct {
	prompt, step int
	why          string
}{
	"quants/Q4_0": {200, 3, "an activation of 67.500022 units lies 3 float32 steps from the tie; rounded to 67 it gives the reference's token"},
}

// flips are prompts whose logits are beyond the gate for the same reason; the
// README allows one of a model with experts.
var flips = map[string]struct {
	prompt int
	bound  float64
	why    string
}{
	"models/gptoss_mxfp4": {200, 0.1, "an activation of −19.499968 units lies close to the tie; rounded to −20 it gives the reference's logits to 7e-7"},
}

func TestGoldenModels(t *testing.T) {
	dir := golden.Dir(t)
	d := openDoor(t)
	passed := 0
	for _, m := range models {
		var f referenceFile
		readJSON(t, filepath.Join(dir, m.name+".json"), &f)
		refs := f.Prompts
		if m.against == "f32" {
			refs = f.Dequantized.Prompts
			for i := range refs {
				refs[i].Tokens = f.Prompts[i].Tokens
			}
		}
		if len(refs) != 4 {
			t.Fatalf("%s: %d prompts", m.name, len(refs))
		}
		worst, worstKL, compared, ok := 0.0, 0.0, 0, true
		for _, ref := range refs {
			var got struct{ Logits []float64 }
			if msg := d.ask(map[string]any{"op": "logits", "model": filepath.Join(dir, m.name+".gguf"), "tokens": ref.Tokens}, &got); msg != "" {
				t.Fatalf("%s: %s", m.name, msg)
			}
			diff, kl := compare(ref.Logits, got.Logits)
			if flip, known := flips[m.name]; known && flip.prompt == len(ref.Tokens) {
				if diff <= m.gate || diff > flip.bound {
					t.Errorf("%s: prompt of %d: largest difference %.2g, is listed as between %.2g and %.2g", m.name, flip.prompt, diff, m.gate, flip.bound)
				}
				t.Logf("%s: prompt of %d: largest difference %.2g, KL %.2g: %s", m.name, flip.prompt, diff, kl, flip.why)
			} else {
				worst, worstKL = max(worst, diff), max(worstKL, kl)
			}
			if best := argmax(got.Logits); best != ref.Argmax {
				ok = false
				t.Errorf("%s: prompt of %d: best token %d, want %d", m.name, len(ref.Tokens), best, ref.Argmax)
			}
			var cont struct{ Tokens []int32 }
			if msg := d.ask(map[string]any{"op": "greedy", "model": filepath.Join(dir, m.name+".gguf"), "tokens": ref.Tokens, "n": len(ref.Greedy)}, &cont); msg != "" {
				t.Fatalf("%s: %s", m.name, msg)
			}
			for i, want := range ref.Greedy {
				if i < len(ref.Margin) && ref.Margin[i] < 2*m.gate {
					t.Logf("%s: prompt of %d: compared up to token %d, whose margin is %.2g", m.name, len(ref.Tokens), i, ref.Margin[i])
					break // the reference itself could have gone either way
				}
				if tie, known := ties[m.name]; known && tie.prompt == len(ref.Tokens) && tie.step == i {
					if cont.Tokens[i] == want {
						t.Errorf("%s: the tie at token %d of the prompt of %d is gone: take it off the list", m.name, i, tie.prompt)
					}
					t.Logf("%s: prompt of %d: token %d differs: %s", m.name, tie.prompt, i, tie.why)
					break
				}
				compared++
				if cont.Tokens[i] != want {
					ok = false
					t.Errorf("%s: prompt of %d: greedy token %d is %d, want %d", m.name, len(ref.Tokens), i, cont.Tokens[i], want)
					break
				}
			}
		}
		if worst > m.gate || worstKL > m.kl {
			ok = false
			t.Errorf("%s: largest difference %.2g (gate %.2g), KL %.2g (gate %.2g)", m.name, worst, m.gate, worstKL, m.kl)
		}
		t.Logf("%-26s largest difference %.1e of %.0e, KL %.1e, %d greedy tokens compared", m.name, worst, m.gate, worstKL, compared)
		if ok {
			passed++
		}
	}
	t.Logf("models: %d of %d passed", passed, len(models))
}

// compare gives the largest difference and the divergence of b from a.
func compare(a, b []float64) (diff, kl float64) {
	za, zb := logSumExp(a), logSumExp(b)
	for i := range a {
		diff = max(diff, math.Abs(a[i]-b[i]))
		kl += math.Exp(a[i]-za) * ((a[i] - za) - (b[i] - zb))
	}
	if len(a) != len(b) {
		diff = math.Inf(1)
	}
	return diff, kl
}

func logSumExp(x []float64) float64 {
	top, sum := slices.Max(x), 0.0
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}

func argmax(x []float64) int {
	at := 0
	for i := range x {
		if x[i] > x[at] {
			at = i
		}
	}
	return at
}

// TestGoldenStory: real trained weights tell the story that they told the peer.
func TestGoldenStory(t *testing.T) {
	dir := golden.Dir(t)
	d := openDoor(t)
	var ref struct {
		Prompt     []int32   `json:"prompt_tokens"`
		Greedy     []int32   `json:"greedy_tokens"`
		Text       string    `json:"greedy_text_first_100"`
		Logits     []float64 `json:"last_prompt_logits"`
		Perplexity struct {
			Text       string    `json:"text"`
			Tokens     []int32   `json:"tokens"`
			NLL        []float64 `json:"nll"`
			Perplexity float64   `json:"perplexity"`
		} `json:"perplexity"`
	}
	readJSON(t, filepath.Join(dir, "stories260K.json"), &ref)
	model := filepath.Join(dir, "stories260K.gguf")
	var got struct {
		Tokens []int32
		Logits []float64
		NLL    []float64
		IDs    []int32
		Text   string
	}
	if msg := d.ask(map[string]any{"op": "greedy", "model": model, "tokens": ref.Prompt, "n": 100}, &got); msg != "" {
		t.Fatal(msg)
	}
	if !slices.Equal(got.Tokens, ref.Greedy[:100]) {
		t.Errorf("the story differs:\n got %v\nwant %v", got.Tokens, ref.Greedy[:100])
	}
	if msg := d.ask(map[string]any{"op": "detokenize", "model": model, "ids": append(slices.Clone(ref.Prompt), got.Tokens...), "skip_special": true}, &got); msg != "" {
		t.Fatal(msg)
	}
	if want := "Once upon a time" + ref.Text; got.Text != want {
		t.Errorf("text %q, want %q", got.Text, want)
	}
	if msg := d.ask(map[string]any{"op": "logits", "model": model, "tokens": ref.Prompt}, &got); msg != "" {
		t.Fatal(msg)
	}
	if diff, _ := compare(ref.Logits, got.Logits); diff > 1e-3 {
		t.Errorf("logits differ by %v", diff)
	}
	if msg := d.ask(map[string]any{"op": "tokenize", "model": model, "text": ref.Perplexity.Text, "add_special": true, "parse_special": false}, &got); msg != "" {
		t.Fatal(msg)
	}
	if !slices.Equal(got.IDs, ref.Perplexity.Tokens) {
		t.Errorf("tokens %v, want %v", got.IDs, ref.Perplexity.Tokens)
	}
	if msg := d.ask(map[string]any{"op": "nll", "model": model, "tokens": ref.Perplexity.Tokens}, &got); msg != "" {
		t.Fatal(msg)
	}
	sum := 0.0
	for i, x := range got.NLL {
		sum += x
		if math.Abs(x-ref.Perplexity.NLL[i]) > 1e-3 {
			t.Errorf("loss of token %d is %v, want %v", i+1, x, ref.Perplexity.NLL[i])
		}
	}
	ppl := math.Exp(sum / float64(len(got.NLL)))
	if math.Abs(ppl/ref.Perplexity.Perplexity-1) > 1e-3 {
		t.Errorf("perplexity %v, want %v", ppl, ref.Perplexity.Perplexity)
	}
	t.Logf("100 greedy tokens equal; perplexity %.6f, the reference's is %.6f", ppl, ref.Perplexity.Perplexity)
}

func gunzip(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestGoldenTemplates holds all golden templates, those too that are only fetched,
// through the door.
func TestGoldenTemplates(t *testing.T) {
	dir := golden.Dir(t)
	d := openDoor(t)
	sources := map[string]string{} // "": not fetched, and need not be
	b, err := os.ReadFile(filepath.Join(dir, "templates", "vectors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	passed, total := 0, 0
	for line := range bytes.Lines(b) {
		var c struct {
			Template, Case string
			Input          json.RawMessage
			Expected       *string
			Error          string
			Kind           string `json:"error_kind"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		src, known := sources[c.Template]
		if !known {
			if name, fetched := strings.CutPrefix(c.Template, "npm-"); fetched {
				src, _ = golden.FetchedTemplate(t, name)
			} else {
				b, err := os.ReadFile(filepath.Join(dir, "templates", "files", c.Template+".jinja"))
				if err != nil {
					t.Fatal(err)
				}
				src = string(b)
			}
			sources[c.Template] = src
		}
		if src == "" {
			continue
		}
		source, _ := json.Marshal(src)
		var q bytes.Buffer // by hand, so that the input's order and numbers stay as they are
		q.WriteString(`{"op":"template","now":"2025-07-14T09:05:07","template":`)
		q.Write(source)
		q.WriteString(`,"input":`)
		q.Write(c.Input)
		q.WriteString(`}`)
		var got struct{ Text *string }
		msg := d.askRaw(q.Bytes(), &got)
		total++
		switch {
		case c.Expected != nil && (got.Text == nil || *got.Text != *c.Expected):
			t.Errorf("%s %s: got %v (%s), want %q", c.Template, c.Case, got.Text, msg, *c.Expected)
		case c.Expected == nil && msg == "":
			t.Errorf("%s %s: rendered, must fail", c.Template, c.Case)
		case c.Kind == "raise_exception" && !strings.Contains(msg, c.Error):
			t.Errorf("%s %s: failed with %q, want %q", c.Template, c.Case, msg, c.Error)
		default:
			passed++
		}
	}
	if total < 600 {
		t.Errorf("only %d cases found", total)
	}
	t.Logf("templates: %d of %d passed", passed, total)
}

// TestGoldenBlocks decodes the golden blocks of every format, bit for bit, whatever
// the case of its name.
func TestGoldenBlocks(t *testing.T) {
	dir := filepath.Join(golden.Dir(t), "quants", "blocks")
	list, err := os.ReadFile(filepath.Join(dir, "types.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	d := openDoor(t)
	passed, total := 0, 0
	for line := range strings.Lines(string(list)) {
		name := strings.Split(line, "\t")[1]
		total++
		raw, err := os.ReadFile(filepath.Join(dir, name+".raw.bin"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, name+".f32.bin"))
		if err != nil {
			t.Fatal(err)
		}
		ok := true
		for _, typ := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			var got struct{ Values []float32 }
			if msg := d.ask(map[string]any{"op": "dequant", "type": typ, "hex": hex.EncodeToString(raw)}, &got); msg != "" {
				t.Errorf("%s: %s", typ, msg)
				ok = false
			} else if !sameBits(got.Values, want) {
				t.Errorf("%s: the values differ", typ)
				ok = false
			}
		}
		if ok {
			passed++
		}
	}
	if total < 27 {
		t.Errorf("only %d formats found", total)
	}
	t.Logf("formats: %d of %d passed", passed, total)
}

// sameBits holds values against their bytes.
func sameBits(values []float32, want []byte) bool {
	for i, v := range values {
		if 4*i+4 > len(want) || math.Float32bits(v) != binary.LittleEndian.Uint32(want[4*i:]) {
			return false
		}
	}
	return len(values)*4 == len(want)
}
