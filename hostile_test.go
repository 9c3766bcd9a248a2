package paddock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/internal/chat"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/metrics"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// vocabSize is that of the files made here: three special tokens, 256 bytes, one
// word.
const vocabSize = 260

// spoiled is a good file of a small model, to be spoilt.
type spoiled struct {
	kvs     []ggufwrite.KV
	tensors []ggufwrite.Tensor
	cut     int // bytes to keep; 0: all
}

func (f *spoiled) set(key string, v any) {
	for i := range f.kvs {
		if f.kvs[i].Key == key {
			f.kvs[i].Value = v
			return
		}
	}
	f.kvs = append(f.kvs, ggufwrite.KV{Key: key, Value: v})
}

func (f *spoiled) drop(key string) {
	f.kvs = slices.DeleteFunc(f.kvs, func(kv ggufwrite.KV) bool { return kv.Key == key })
}

func (f *spoiled) get(key string) any {
	for _, kv := range f.kvs {
		if kv.Key == key {
			return kv.Value
		}
	}
	return nil
}

// fill makes a tensor of one value.
func (f *spoiled) fill(name string, v float32, dims ...uint64) {
	n := uint64(1)
	for _, d := range dims {
		n *= d
	}
	b := math.Float32bits(v)
	f.remove(name)
	f.tensors = append(f.tensors, ggufwrite.Tensor{Name: name, Dims: dims,
		Data: bytes.Repeat([]byte{byte(b), byte(b >> 8), byte(b >> 16), byte(b >> 24)}, int(n))})
}

func (f *spoiled) remove(name string) {
	f.tensors = slices.DeleteFunc(f.tensors, func(t ggufwrite.Tensor) bool { return t.Name == name })
}

func (f *spoiled) bytes(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := ggufwrite.Write(&b, f.kvs, f.tensors); err != nil {
		t.Fatal(err)
	}
	if f.cut != 0 {
		return b.Bytes()[:f.cut]
	}
	return b.Bytes()
}

// goodFile is a llama of one layer with a vocabulary of the SPM kind.
func goodFile() *spoiled {
	f := &spoiled{}
	f.set("general.architecture", "llama")
	f.set("general.name", "spoilt")
	for _, kv := range []struct {
		key string
		v   uint32
	}{
		{"context_length", 64}, {"block_count", 1}, {"embedding_length", 32}, {"feed_forward_length", 32},
		{"attention.head_count", 4}, {"attention.head_count_kv", 2}, {"rope.dimension_count", 8}, {"vocab_size", vocabSize},
	} {
		f.set("llama."+kv.key, kv.v)
	}
	f.set("llama.attention.layer_norm_rms_epsilon", float32(1e-5))
	f.set("llama.rope.freq_base", float32(10000))
	tokens, scores, types := []string{"<unk>", "<s>", "</s>"}, make([]float32, vocabSize), []int32{2, 3, 3}
	for i := range 256 {
		tokens, types = append(tokens, fmt.Sprintf("<0x%02X>", i)), append(types, 6)
	}
	tokens, types = append(tokens, "a"), append(types, 1)
	f.set("tokenizer.ggml.model", "llama")
	f.set("tokenizer.ggml.tokens", tokens)
	f.set("tokenizer.ggml.scores", scores)
	f.set("tokenizer.ggml.token_type", types)
	f.set("tokenizer.ggml.bos_token_id", uint32(1))
	f.set("tokenizer.ggml.eos_token_id", uint32(2))
	f.set("tokenizer.ggml.unknown_token_id", uint32(0))
	f.set("tokenizer.ggml.add_bos_token", true)
	f.set("tokenizer.chat_template", "{% for m in messages %}{{ m.content }}{% endfor %}")
	f.fill("token_embd.weight", 0.01, 32, vocabSize)
	f.fill("output_norm.weight", 1, 32)
	for part, dims := range map[string][]uint64{
		"attn_norm": {32}, "attn_q": {32, 32}, "attn_k": {32, 16}, "attn_v": {32, 16}, "attn_output": {32, 32},
		"ffn_norm": {32}, "ffn_gate": {32, 32}, "ffn_up": {32, 32}, "ffn_down": {32, 32},
	} {
		f.fill("blk.0."+part+".weight", 0.5, dims...)
	}
	return f
}

func setter(key string, v any) func(*spoiled) { return func(f *spoiled) { f.set(key, v) } }

// tokenAt replaces the text of a token.
func tokenAt(id int, text string) func(*spoiled) {
	return func(f *spoiled) { f.get("tokenizer.ggml.tokens").([]string)[id] = text }
}

func retype(name string, typ uint32, data int) func(*spoiled) {
	return func(f *spoiled) {
		for i := range f.tensors {
			if f.tensors[i].Name == name {
				f.tensors[i].Type, f.tensors[i].Data = typ, make([]byte, data)
			}
		}
	}
}

var nan = float32(math.NaN())

// hostileFiles are what is wrong, and a part of the error that must say so.
var hostileFiles = []struct {
	name  string
	spoil func(*spoiled)
	text  string
}{
	{"no layers", setter("llama.block_count", uint32(0)), "llama.block_count is 0"},
	{"no heads", setter("llama.attention.head_count", uint32(0)), "llama.attention.head_count is 0"},
	{"2^31 heads", setter("llama.attention.head_count", uint32(1<<31)), "llama.attention.head_count is 2147483648"},
	{"2^31 kv heads", setter("llama.attention.head_count_kv", uint32(1<<31)), "llama.attention.head_count_kv is 2147483648"},
	{"2^32-1 layers", setter("llama.block_count", uint32(1<<32-1)), "llama.block_count is 4294967295"},
	{"architecture as integer", setter("general.architecture", uint32(7)), "general.architecture"},
	{"architecture as list", setter("general.architecture", []string{"llama"}), "general.architecture"},
	{"no context", setter("llama.context_length", uint32(0)), "llama.context_length is 0"},
	{"context of 2^40", setter("llama.context_length", uint64(1<<40)), "llama.context_length"},
	{"context of 2^31-1", setter("llama.context_length", uint32(math.MaxInt32)), "KV"},
	{"context as text", setter("llama.context_length", "long"), "llama.context_length"},
	{"base not a number", setter("llama.rope.freq_base", nan), "llama.rope.freq_base is NaN"},
	{"base zero", setter("llama.rope.freq_base", float32(0)), "llama.rope.freq_base is 0"},
	{"base infinite", setter("llama.rope.freq_base", float32(math.Inf(1))), "llama.rope.freq_base is +Inf"},
	{"base below zero", setter("llama.rope.freq_base", float32(-1)), "llama.rope.freq_base is -1"},
	{"base as integer", setter("llama.rope.freq_base", uint32(10000)), "llama.rope.freq_base"},
	{"epsilon zero", setter("llama.attention.layer_norm_rms_epsilon", float32(0)), "layer_norm_rms_epsilon is 0"},
	{"epsilon not a number", setter("llama.attention.layer_norm_rms_epsilon", nan), "layer_norm_rms_epsilon is NaN"},
	{"vocabulary of another size", setter("llama.vocab_size", uint32(vocabSize-1)), "vocab_size"},
	{"more tokens than rows", func(f *spoiled) {
		f.drop("llama.vocab_size")
		f.fill("token_embd.weight", 0.01, 32, vocabSize-1)
	}, "tokenizer.ggml.tokens"},

	{"tokenizer as integer", setter("tokenizer.ggml.model", uint32(1)), "tokenizer.ggml.model"},
	{"tokenizer unknown", setter("tokenizer.ggml.model", "rwkv"), `"rwkv"`},
	{"pre-tokenizer unknown", func(f *spoiled) {
		f.set("tokenizer.ggml.model", "gpt2")
		f.set("tokenizer.ggml.pre", "nobody's")
		f.set("tokenizer.ggml.merges", []string{"a a"})
	}, `"nobody's"`},
	{"tokens as integers", setter("tokenizer.ggml.tokens", make([]int32, vocabSize)), "tokenizer.ggml.tokens"},
	{"tokens as text", setter("tokenizer.ggml.tokens", "all"), "tokenizer.ggml.tokens"},
	{"no tokens", setter("tokenizer.ggml.tokens", []string{}), "okens"},
	{"tokens missing", func(f *spoiled) { f.drop("tokenizer.ggml.tokens") }, "okens"},
	{"scores missing", func(f *spoiled) { f.drop("tokenizer.ggml.scores") }, "cores"},
	{"scores too few", setter("tokenizer.ggml.scores", make([]float32, vocabSize-1)), "259 scores for 260 tokens"},
	{"scores as text", setter("tokenizer.ggml.scores", make([]string, vocabSize)), "tokenizer.ggml.scores"},
	{"a score not a number", func(f *spoiled) { f.get("tokenizer.ggml.scores").([]float32)[259] = nan }, "Scores[259]"},
	{"types too many", setter("tokenizer.ggml.token_type", make([]int32, vocabSize+1)), "261 types for 260 tokens"},
	{"types as floats", setter("tokenizer.ggml.token_type", make([]float32, vocabSize)), "tokenizer.ggml.token_type"},
	{"a type beyond the known", func(f *spoiled) { f.get("tokenizer.ggml.token_type").([]int32)[5] = 99 }, "Types[5]"},
	{"a byte token of nothing", tokenAt(3, "<0x-1>"), `"<0x-1>"`},
	{"a byte token too long", tokenAt(3, "<0x100>"), `"<0x100>"`},
	{"a byte token in another base", tokenAt(3, "<0o17>"), `"<0o17>"`},
	{"one text twice", tokenAt(259, "<s>"), `"<s>"`},
	{"begin out of range", setter("tokenizer.ggml.bos_token_id", uint32(vocabSize)), "tokenizer.ggml.bos_token_id"},
	{"end below zero", setter("tokenizer.ggml.eos_token_id", int32(-7)), "tokenizer.ggml.eos_token_id"},
	{"end beyond int32", setter("tokenizer.ggml.eos_token_id", uint64(1<<40)), "tokenizer.ggml.eos_token_id"},
	{"end as text", setter("tokenizer.ggml.eos_token_id", "</s>"), "tokenizer.ggml.eos_token_id"},
	{"add_bos_token as integer", setter("tokenizer.ggml.add_bos_token", uint32(1)), "tokenizer.ggml.add_bos_token"},
	{"merges as integers", setter("tokenizer.ggml.merges", []int32{1}), "tokenizer.ggml.merges"},
	{"a merge of no pair", func(f *spoiled) {
		f.set("tokenizer.ggml.model", "gpt2")
		f.set("tokenizer.ggml.pre", "gpt-2")
		f.set("tokenizer.ggml.merges", []string{"a"})
	}, "Merges[0]"},
	{"template as integer", setter("tokenizer.chat_template", uint32(1)), "tokenizer.chat_template"},
	{"template as list", setter("tokenizer.chat_template", []string{"x"}), "tokenizer.chat_template"},
	{"template with a fault", setter("tokenizer.chat_template", "{% for %}"), "chat template"},
	{"template nested too deep", setter("tokenizer.chat_template", "{{ "+strings.Repeat("(", 100_000)+" }}"), "chat template"},
	{"template of nested blocks", setter("tokenizer.chat_template", strings.Repeat("{% if x %}", 100_000)), "chat template"},

	{"matrix off by a row", func(f *spoiled) { f.fill("blk.0.attn_k.weight", 1, 32, 17) }, `"blk.0.attn_k.weight" is 17×32`},
	{"matrix off by a column", func(f *spoiled) { f.fill("blk.0.ffn_down.weight", 1, 31, 32) }, `"blk.0.ffn_down.weight" is 32×31`},
	{"embedding off by a column", func(f *spoiled) { f.fill("token_embd.weight", 1, 33, vocabSize) }, `"token_embd.weight"`},
	{"norm off by one", func(f *spoiled) { f.fill("output_norm.weight", 1, 31) }, `"output_norm.weight" is 1×31`},
	{"norm missing", func(f *spoiled) { f.remove("output_norm.weight") }, `"output_norm.weight" is missing`},
	{"matrix missing", func(f *spoiled) { f.remove("blk.0.ffn_up.weight") }, `"blk.0.ffn_up.weight" is missing`},
	{"embedding missing", func(f *spoiled) { f.remove("token_embd.weight") }, `"token_embd.weight" is missing`},
	{"no tensors", func(f *spoiled) { f.tensors = nil }, "at most the number of tensors, 0"},
	{"a known type without arithmetic", retype("blk.0.ffn_up.weight", 9, 32*36), `"blk.0.ffn_up.weight"`}, // Q8_1, which is for activations
	{"integers for weights", retype("blk.0.ffn_up.weight", 26, 32*32*4), `"blk.0.ffn_up.weight"`},         // I32

	{"cut to nothing", func(f *spoiled) { f.cut = 1 }, "gguf"},
	{"cut in the metadata", func(f *spoiled) { f.cut = 300 }, "beyond the end of the file"},
	{"cut in the tensors", func(f *spoiled) { f.cut = 12000 }, "beyond the end of the file"},
}

// TestHostileFiles asks of each file, opened from disk and from a file system,
// for one typed error that says what is wrong, for memory in proportion to the
// file, and that neither goroutines nor mappings stay behind.
func TestHostileFiles(t *testing.T) {
	for _, c := range hostileFiles {
		t.Run(c.name, func(t *testing.T) {
			f := goodFile()
			c.spoil(f)
			data := f.bytes(t)
			path := filepath.Join(t.TempDir(), "hostile.gguf")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			rec := metrics.NewRecorder(metrics.RecorderOptions{})
			for _, open := range []func() (*Engine, error){
				func() (*Engine, error) { return Open(path, Options{Metrics: rec}) },
				func() (*Engine, error) {
					return OpenFS(fstest.MapFS{"m.gguf": {Data: data}}, "m.gguf", Options{Metrics: rec})
				},
			} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				e, err := open()
				runtime.ReadMemStats(&after)
				if err == nil {
					e.Close()
					t.Fatal("the file was opened")
				}
				if !strings.Contains(err.Error(), c.text) {
					t.Errorf("got %v, want an error with %q", err, c.text)
				}
				if !typed(err) {
					t.Errorf("%v is no typed error", err)
				}
				if len(err.Error()) > 1000 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
				if got, most := after.TotalAlloc-before.TotalAlloc, 8*uint64(len(data))+4<<20; got > most {
					t.Errorf("%d bytes allocated for a file of %d", got, len(data))
				}
			}
			if maps, err := os.ReadFile("/proc/self/maps"); err == nil && bytes.Contains(maps, []byte(path)) {
				t.Error("the file is still mapped")
			}
		})
	}
}

// typed tells whether a caller can branch on err.
func typed(err error) bool {
	var (
		format *FormatError
		arch   *ArchError
		key    *KeyError
		tensor *ShapeError
		vocab  *VocabError
		syntax *TemplateError
		limit  *chat.LimitError
		weight *WeightError
		memory *MemoryError
	)
	for _, target := range []any{&format, &arch, &key, &tensor, &vocab, &syntax, &limit, &weight, &memory} {
		if errors.As(err, target) {
			return true
		}
	}
	return false
}

func openSpoiled(t *testing.T, spoil func(*spoiled), o Options) *Engine {
	t.Helper()
	f := goodFile()
	spoil(f)
	o.Metrics = metrics.NewRecorder(metrics.RecorderOptions{})
	e, err := OpenFS(fstest.MapFS{"m.gguf": {Data: f.bytes(t)}}, "m.gguf", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestGoodFile asks that the file that the other tests spoil is good itself.
func TestGoodFile(t *testing.T) {
	e := openSpoiled(t, func(*spoiled) {}, Options{})
	r, err := e.Complete(context.Background(), Request{Messages: []Message{{Role: "user", Content: "aa"}}, MaxTokens: 4, IgnoreEOS: true})
	if err != nil || r.Usage.GeneratedTokens != 4 || r.Finish != FinishLength {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestWeightsThatAreNoNumbers asks that a model whose logits are not numbers ends
// its requests with an error of their own and is counted, each alone.
func TestWeightsThatAreNoNumbers(t *testing.T) {
	e := openSpoiled(t, func(f *spoiled) { f.fill("output_norm.weight", nan, 32) }, Options{})
	for _, temperature := range []float32{0, 1} {
		_, err := e.Complete(context.Background(), Request{Prompt: "aaa", Sampling: Sampling{Temperature: temperature}})
		var token *TokenError
		if !errors.As(err, &token) {
			t.Errorf("at temperature %v: %v, want a TokenError", temperature, err)
		}
	}
	s := e.Stats()
	if err := metrics.CheckBooks(&s); err != nil {
		t.Error(err)
	}
	if s.Finished[metrics.EndError] != 2 || s.PagesUsed != 0 {
		t.Errorf("%d ended with an error, %d pages used", s.Finished[metrics.EndError], s.PagesUsed)
	}
	if !e.Ready() {
		t.Error("one request's fault made the engine unready")
	}
}

// TestTemplatesThatNeverEnd asks that a template's own limits end it, as an error
// of the request alone.
func TestTemplatesThatNeverEnd(t *testing.T) {
	for name, template := range map[string]string{
		"long":      "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}",
		"recursive": "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
		"wide":      "{% set ns = namespace(s='aaaaaaaa') %}{% for a in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s }}",
		"times":     "{{ 'a' * 1000000000000 }}",
		"list":      "{{ ([0] * 4000000000) | length }}",
		"power":     "{{ 9 ** (9 ** 9) }}",
		"format":    "{{ '%2000000000d' | format(1) }}",
		"indent":    "{{ ('a\n' * 100000) | indent(100000000) }}",
		"center":    "{{ 'a' | center(4000000000) }}",
		"replace":   "{{ ('a' * 1000000) | replace('a', 'b' * 1000000) }}",
	} {
		t.Run(name, func(t *testing.T) {
			e := openSpoiled(t, setter("tokenizer.chat_template", template), Options{})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := e.Complete(context.Background(), Request{Messages: []Message{{Role: "user", Content: "a"}}, MaxTokens: 1})
			runtime.ReadMemStats(&after)
			var request *RequestError
			if !errors.As(err, &request) {
				t.Errorf("got %v, want a RequestError", err)
			}
			// In all, and freed as it goes: 30 million steps of 16 bytes, twice that
			// under the race detector.
			if got := after.TotalAlloc - before.TotalAlloc; got > 1<<30 {
				t.Errorf("%d MiB allocated", got>>20)
			}
		})
	}
}
