package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/metrics"
)

// panels opens a file with a panel cache, and returns its card and an answer.
func panels(t *testing.T, path string, o Options) (Card, []int32) {
	t.Helper()
	o.Threads, o.KVPages, o.Metrics = 2, 16, metrics.NewRecorder(metrics.RecorderOptions{})
	e, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Complete(context.Background(), Request{Tokens: []int32{1, 2, 3, 4}, MaxTokens: 8, IgnoreEOS: true})
	if err := errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	var out []int32
	for _, x := range r.Choices[0].Tokens {
		out = append(out, x.ID)
	}
	return e.Model(), out
}

// choiceOf is what a card says was chosen.
func choiceOf(c Card, what string) string {
	for _, x := range c.Choices {
		if x.What == what {
			return x.Choice
		}
	}
	return ""
}

// TestPanelCache: the second Open maps what the first has written, the card says
// so, and the answer is the same.
func TestPanelCache(t *testing.T) {
	path, dir := filepath.Join(t.TempDir(), "m.gguf"), t.TempDir()
	if err := os.WriteFile(path, synthFile(t, "tiny-llama")["m.gguf"].Data, 0o600); err != nil {
		t.Fatal(err)
	}
	plain, want := panels(t, path, Options{})
	if got := choiceOf(plain, "panels"); got != "" || plain.Memory.Mapped != 0 {
		t.Errorf("without a cache the card says %q, %d bytes", got, plain.Memory.Mapped)
	}
	second := "mapped"
	if runtime.GOOS != "linux" {
		second = "none"
	}
	for i, choice := range []string{"being written", second} {
		if second == "none" {
			choice = second
		}
		c, got := panels(t, path, Options{PanelCache: dir})
		if !slices.Equal(got, want) {
			t.Errorf("Open %d answers %v, without a cache it is %v", i, got, want)
		}
		if choiceOf(c, "panels") != choice || (c.Memory.Mapped > 0) != (choice == "mapped") || c.Memory.Mapped > c.Memory.Weights {
			t.Errorf("Open %d: want %s:\n%s", i, choice, c)
		}
		if strings.Contains(c.String(), "mapped from a file") != (choice == "mapped") {
			t.Error(c)
		}
	}
}

// TestPanelCacheElsewhere: a model that is not a file of the system goes without,
// and says so; a cache for another device is refused.
func TestPanelCacheElsewhere(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]Card{"m.gguf": needs(t, synthFile(t, "tiny-llama"), "m.gguf", Options{PanelCache: dir}), "m": needs(t, smallFolder(t), "m", Options{PanelCache: dir})} {
		if got := choiceOf(c, "panels"); got != "none" {
			t.Errorf("%s: the panels are %q", name, got)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("%v, %v were written", list, err)
	}
	_, err := OpenFS(synthFile(t, "tiny-llama"), "m.gguf", Options{PanelCache: dir, Devices: []Device{cpu.New(cpu.Options{})}})
	if want := (*OptionsError)(nil); !errors.As(err, &want) || !strings.Contains(err.Error(), "PanelCache") {
		t.Errorf("a cache for another device: %v", err)
	}
}
