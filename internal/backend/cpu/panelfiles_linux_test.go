package cpu_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paddock-go/paddock/internal/model/synth"
)

// TestPanelCachePipe: a pipe in the cache's place is not waited for, and replaced.
func TestPanelCachePipe(t *testing.T) {
	b := newCacheBench(t, "Q8_0")
	b.want("first", "being written")
	path := b.kept()
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	b.want("a pipe", "being written")
	if lines := strings.Count(b.log.String(), "\n"); lines != 1 || !strings.Contains(b.log.String(), "made anew") {
		t.Errorf("%d lines are logged:\n%s", lines, b.log.String())
	}
	b.want("after the pipe", "mapped")
}

// TestPanelCacheOfACopy: panels are not used for another model of the same path,
// size, header and time of modification, whether it is written over the file or put
// in its place.
func TestPanelCacheOfACopy(t *testing.T) {
	b := newCacheBench(t, "Q8_0")
	b.file = filepath.Join(t.TempDir(), "m.gguf")
	when := time.Unix(1, 0)
	put := func(at string, seed uint64) {
		var w bytes.Buffer
		if err := synth.Write(&w, "tiny-llama", "Q8_0", seed); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(at, w.Bytes(), 0o600), os.Chtimes(at, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	put(b.file, 1)
	last := b.logits(b.device(nil, false))
	b.want("first", "being written")
	for seed, at := range map[uint64]string{2: b.file, 3: b.file + ".new"} {
		put(at, seed)
		if err := os.Rename(at, b.file); err != nil {
			t.Fatal(err)
		}
		want := b.logits(b.device(nil, false))
		if slices.Equal(want, last) {
			t.Fatalf("model %d computes what another does", seed)
		}
		if got := b.logits(b.device(nil, true)); !slices.Equal(got, want) {
			t.Errorf("model %d is computed with another's panels", seed)
		}
		b.want("the same again", "mapped")
		last = want
	}
}
