package session_test

import (
	"slices"
	"testing"
)

// TestFolderWindows: a window that a config states for an architecture without one of
// itself is applied: what lies further back than all layers' windows together reach
// does not matter, and with one layer that sees all it does.
func TestFolderWindows(t *testing.T) {
	const window = 16
	for _, c := range []struct {
		name, class string
		set         map[string]any
		far         bool // the first token reaches the last row
	}{
		{"llama", "MistralForCausalLM", nil, false},
		{"llama", "LlamaForCausalLM", nil, true}, // a class that has no windows
		{"llama", "MistralForCausalLM", map[string]any{"layer_types": []string{"sliding_attention", "full_attention", "sliding_attention"}}, true},
		{"qwen2", "Qwen2ForCausalLM", map[string]any{"use_sliding_window": true, "max_window_layers": 0}, false},
		{"qwen2", "Qwen2ForCausalLM", map[string]any{"use_sliding_window": true, "max_window_layers": 1}, true},
		{"qwen3", "Qwen3ForCausalLM", nil, true}, // not switched on
	} {
		f, path, tokens := openGolden(t, c.name)
		tensors, config := toFolder(t, f, c.class)
		config["sliding_window"] = window
		for key, v := range c.set {
			config[key] = v
		}
		dir := writeFolder(t, tensors, config, 1)
		other := slices.Clone(tokens)
		other[0]++
		got, plain, changed := logits(t, dir, tokens), reference(t, path, tokens), logits(t, dir, other)
		wide := len(got) / len(tokens)
		if !slices.Equal(got[:window*wide], plain[:window*wide]) {
			t.Errorf("%s %v: rows within the window are not those without it", c.class, c.set)
		}
		layers, _ := f.Uint32(c.name + ".block_count")
		reach := int(layers)*(window-1) + 1
		if len(tokens) <= reach {
			t.Fatalf("%d tokens, %d are reached", len(tokens), reach)
		}
		if far := !slices.Equal(got[reach*wide:], changed[reach*wide:]); far != c.far {
			t.Errorf("%s %v: the first token reaches row %d and on: %v", c.class, c.set, reach, far)
		}
	}
}
