package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/metrics"
)

// filled makes a history with several levels of pages and returns its bytes.
func filled(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	h, err := openHistory(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	h.db.NoSync = true
	var counts metrics.RollupCounts
	fakeRequest{n: 1}.addTo(&counts)
	for run := range 3 {
		now := time.Now().Unix() / 3600 * 3600
		l := &look{runner: "x", run: metrics.Run{ID: fmt.Sprint("r", run), Start: float64(now - 3600)}, at: now * 1000, full: true}
		for g := range grains {
			a := &rollupAnswer{run: l.run, bounds: fakeBounds, from: now - 300*grains[g].step, to: now}
			for at := a.from; at < a.to; at += grains[g].step {
				a.puts = append(a.puts, put{slotKey(at, seriesID{0, 0, "m"}), appendCounts(nil, &counts)})
			}
			l.rollups[g] = a
		}
		if err := h.take(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDamagedFile: whatever was done to the file, it is opened and works, or is refused by its name. The process goes on.
func TestDamagedFile(t *testing.T) {
	whole, page, dir := filled(t), os.Getpagesize(), t.TempDir()
	try := func(what string, b []byte) error {
		path := filepath.Join(dir, "history.db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := openHistory(dir, time.Now)
		if err != nil {
			if !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), path+" is damaged: move it away") {
				t.Errorf("%s: %v", what, err)
			}
			return err
		}
		h.db.NoSync = true
		_, err = h.usage(usageQuery{from: 0, to: time.Now().Unix()}) // values may be any: an error then
		now := time.Now()
		_ = h.take(&look{runner: "y", run: metrics.Run{ID: "new", Start: float64(now.Unix() - 5)}, at: now.UnixMilli(), full: true})
		h.close()
		return err
	}
	if err := try("whole", whole); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for n := page; n < len(whole); n += page {
		if try(fmt.Sprintf("cut to %d pages", n/page), whole[:n]) != nil {
			refused++
		}
		zero := append([]byte(nil), whole...)
		clear(zero[n : n+page])
		if try(fmt.Sprintf("page %d is zero", n/page), zero) != nil {
			refused++
		}
	}
	if try("within a page", whole[:len(whole)-100]) == nil || try("both metas", append(make([]byte, 2*page), whole[2*page:]...)) == nil {
		t.Error("opened")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 150 {
		b := append([]byte(nil), whole...)
		for range 1 + i%8 {
			// Heads and elements of pages more often than values.
			b[random.IntN(len(b)/page)*page+random.IntN(1+random.IntN(page))] = byte(random.Uint32())
		}
		if try(fmt.Sprintf("bytes %d", i), b) != nil {
			refused++
		}
	}
	if refused < 20 {
		t.Errorf("only %d damaged files were refused", refused)
	}
}

// TestCutInUse: the file becomes shorter under the manager: the error has its name, nothing is tried any more, and closing doesn't wait.
func TestCutInUse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	if err := os.WriteFile(path, filled(t), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := openHistory(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(2*os.Getpagesize())); err != nil {
		t.Skip("a file in use can't be cut here")
	}
	if _, err := h.usage(usageQuery{from: 0, to: time.Now().Unix()}); !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("a reader: %v", err)
	}
	select {
	case <-h.broken:
	default:
		t.Error("nobody is told")
	}
	if err := h.take(&look{runner: "x", run: metrics.Run{ID: "r0", Start: 1}, at: 5}); !errors.Is(err, errDamaged) {
		t.Errorf("a writer: %v", err)
	}
	if err := h.close(); err != nil {
		t.Error(err)
	}
}
