package cpu_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/session"
)

// cacheBench is a model file and a folder for its panels.
type cacheBench struct {
	t         *testing.T
	file, dir string
	log       bytes.Buffer
}

func newCacheBench(t *testing.T, typ string) *cacheBench {
	if !cpu.CanMapPanels {
		t.Skip("this system keeps no panels")
	}
	return &cacheBench{t: t, file: synthetic(t, "tiny-llama", typ), dir: filepath.Join(t.TempDir(), "panels")}
}

func (b *cacheBench) device(level *kern.Level, cached bool) *cpu.Device {
	o := cpu.Options{Threads: 2, Level: level, Logger: slog.New(slog.NewTextHandler(&b.log, nil))}
	if cached {
		o.PanelCache = b.dir
	}
	return cpu.New(o)
}

// load loads and closes the model, and returns what became of the cache.
func (b *cacheBench) load() (choice string, mapped int64) {
	b.t.Helper()
	f, err := gguf.Open(b.file)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	lowered, err := model.Lower(f, model.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	m, err := b.device(nil, true).Load(lowered.Program, model.NewSource(f), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	c := m.(backend.PanelCached)
	choice, why := c.PanelCache()
	if mapped = c.MappedBytes(); (mapped > 0) != (choice == "mapped") || mapped > m.WeightBytes() || why == "" {
		b.t.Errorf("%d of %d bytes are mapped, the choice is %q (%s)", mapped, m.WeightBytes(), choice, why)
	}
	if err := m.Close(); err != nil {
		b.t.Fatal(err)
	}
	return choice, mapped
}

// want loads the model and compares what became of the cache.
func (b *cacheBench) want(what, choice string) {
	b.t.Helper()
	if got, _ := b.load(); got != choice {
		b.t.Errorf("%s: the panel cache is %q, want %q\n%s", what, got, choice, b.log.String())
	}
}

// kept is the one file of the folder.
func (b *cacheBench) kept() string {
	b.t.Helper()
	list, err := os.ReadDir(b.dir)
	if err != nil || len(list) != 1 {
		b.t.Fatalf("the cache's folder has %v (%v), want one file", list, err)
	}
	return filepath.Join(b.dir, list[0].Name())
}

// logits runs the model.
func (b *cacheBench) logits(d *cpu.Device) []uint32 {
	b.t.Helper()
	s, err := session.Open(b.file, d, session.Limits{Seqs: 1, Context: 32, Rows: 32, Logits: 1}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Step(session.Span{Tokens: []int32{1, 2, 3, 4, 5}})
	if err != nil {
		b.t.Fatal(err)
	}
	bits := make([]uint32, len(out))
	for i, x := range out {
		bits[i] = math.Float32bits(x)
	}
	return bits
}

// TestPanelCache: the first load writes the panels, the next maps them, at every
// level, and what is computed is the same to the bit.
func TestPanelCache(t *testing.T) {
	for _, typ := range []string{"Q8_0", "Q4_K_M", "F16"} {
		b := newCacheBench(t, typ)
		want := b.logits(b.device(nil, false))
		b.want("first", "being written")
		name := b.kept()
		b.want("second", "mapped")
		for _, l := range kern.Supported() {
			if got := b.logits(b.device(&l, true)); !slices.Equal(got, want) {
				t.Errorf("%s, %v: mapped panels give other logits", typ, l)
			}
		}
		if b.log.Len() > 0 {
			t.Errorf("%s: it is told of\n%s", typ, b.log.String())
		}
		// A changed model takes the place of what was made of it before.
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(b.file, later, later); err != nil {
			t.Fatal(err)
		}
		b.want("changed", "being written")
		b.want("unchanged again", "mapped")
		if b.kept() != name {
			t.Errorf("%s: the cache is %s now, %s before", typ, b.kept(), name)
		}
	}
}

// TestPanelCacheSpoilt: whatever lies in the cache's place, a load works, tells of it
// in one line and writes it anew.
func TestPanelCacheSpoilt(t *testing.T) {
	b := newCacheBench(t, "Q4_0")
	left := filepath.Join(b.dir, ".panels-1.tmp")
	long := time.Now().Add(-25 * time.Hour)
	if err := errors.Join(os.Mkdir(b.dir, 0o700), os.WriteFile(left, nil, 0o600), os.Chtimes(left, long, long)); err != nil {
		t.Fatal(err)
	}
	b.want("first", "being written")
	path := b.kept() // what a writer left that was killed is gone
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(at int) []byte {
		bad := slices.Clone(good)
		bad[at] ^= 0x10
		return bad
	}
	head := len("paddock panels 1")
	for name, bad := range map[string][]byte{
		"empty": {}, "cut in the header": good[:40], "without panels": good[:2<<20], "cut by a byte": good[:len(good)-1], "longer": append(slices.Clone(good), 0),
		"all zero": make([]byte, len(good)), "magic": flipped(0), "key": flipped(head), "size": flipped(head + 32), "chunk": flipped(head + 40),
		"sum": flipped(head + 48), "sum of the header": flipped(head + 52), "first panel": flipped(2 << 20), "last panel": flipped(len(good) - 1),
	} {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		b.log.Reset()
		b.want(name, "being written")
		if lines := strings.Count(b.log.String(), "\n"); lines != 1 || !strings.Contains(b.log.String(), "made anew") {
			t.Errorf("%s: %d lines are logged:\n%s", name, lines, b.log.String())
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, good) {
			t.Errorf("%s: the cache is not what it was (%v)", name, err)
		}
	}
	b.log.Reset()
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	b.want("a folder in its place", "being written")
	if lines := strings.Count(b.log.String(), "\n"); lines != 2 {
		t.Errorf("a folder in its place: %d lines are logged:\n%s", lines, b.log.String())
	}
	b.kept()       // and nothing beside it
	b.dir = b.file // where no folder can be made
	b.want("no folder", "being written")
	if _, err := os.Stat(b.file + "/x"); !errors.Is(err, fs.ErrNotExist) && err == nil {
		t.Error("a file became a folder")
	}
}

// TestPanelCacheCutShort: a cache that is cut under a running model is an error of
// the step that meets it, and not the end of the process.
func TestPanelCacheCutShort(t *testing.T) {
	b := newCacheBench(t, "Q8_0")
	b.want("first", "being written")
	s, err := session.Open(b.file, b.device(nil, true), session.Limits{Seqs: 1, Context: 32, Rows: 32, Logits: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Step(session.Span{Tokens: []int32{1, 2, 3}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(b.kept(), 100); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Step(session.Span{Tokens: []int32{1, 2, 3}}); err == nil || !strings.Contains(err.Error(), "panicked") {
			t.Errorf("a step over a file that is gone: %v", err)
		}
	}
}

// TestPanelCacheTogether: loads at the same time don't get into each other's way.
func TestPanelCacheTogether(t *testing.T) {
	b := newCacheBench(t, "Q4_0")
	done := make(chan error)
	for range 4 {
		go func() {
			s, err := session.Open(b.file, cpu.New(cpu.Options{Threads: 2, PanelCache: b.dir}), session.Limits{Seqs: 1, Context: 32, Rows: 32, Logits: 1}, nil)
			if err == nil {
				err = s.Close()
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	b.want("afterwards", "mapped")
	b.kept()
}
