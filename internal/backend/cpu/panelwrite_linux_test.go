package cpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// someCache is a cache of panels of several chunks, and those.
func someCache(t *testing.T) (*panelCache, []byte) {
	t.Helper()
	panels := bytes.Repeat([]byte("panels!\n"), (3*panelChunk+panelChunk/2)/8)
	return &panelCache{path: filepath.Join(t.TempDir(), "m.panels"), size: int64(len(panels)), log: slog.New(slog.DiscardHandler), last: syncFolder}, panels
}

// names lists a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		list = append(list, e.Name())
	}
	return list
}

// endsAfter is a context that ends when it was asked n times.
type endsAfter struct {
	context.Context
	n    int
	stop context.CancelCauseFunc
	seen func()
}

func (c *endsAfter) Err() error {
	if c.n--; c.n < 0 {
		c.seen()
		c.stop(errGivenUp)
	}
	return c.Context.Err()
}

// TestPanelWriteStopped: a writer that is told to stop does so at the next chunk and
// leaves nothing, and the cache that was there stays.
func TestPanelWriteStopped(t *testing.T) {
	c, panels := someCache(t)
	dir := filepath.Dir(c.path)
	for n := range c.chunks() {
		ctx, stop := context.WithCancelCause(t.Context())
		var during []string
		err := c.write(&endsAfter{ctx, n, stop, func() { during = names(t, dir) }}, panels)
		if !errors.Is(err, errGivenUp) {
			t.Errorf("stopped after %d chunks: %v", n, err)
		}
		if own := fmt.Sprintf("-%d-", os.Getpid()); len(during) != 1 || !strings.Contains(during[0], own) {
			t.Errorf("while it is written the folder has %q, want a name with %s", during, own)
		}
		if left := names(t, dir); len(left) > 0 {
			t.Errorf("stopped after %d chunks it leaves %q", n, left)
		}
	}
	if err := c.write(t.Context(), panels); err != nil {
		t.Fatal(err)
	}
	m, err := c.open(2, nil)
	if err != nil || !bytes.Equal(m.bytes, panels) {
		t.Fatalf("what was written whole can't be opened: %v", err)
	}
	if err := m.close(); err != nil {
		t.Error(err)
	}
}

// TestPanelWriteUnsure: a cache in its place whose folder can't be brought to the
// disk is written, and stays.
func TestPanelWriteUnsure(t *testing.T) {
	c, panels := someCache(t)
	var log bytes.Buffer
	c.log = slog.New(slog.NewTextHandler(&log, nil))
	c.last = func(string) error { return errors.New("no power") }
	if err := c.write(t.Context(), panels); err != nil {
		t.Errorf("it says that it is not written: %v", err)
	}
	if got := names(t, filepath.Dir(c.path)); !slices.Equal(got, []string{"m.panels"}) || !strings.Contains(log.String(), "no power") {
		t.Errorf("the folder has %q, the log says\n%s", got, log.String())
	}
	// One that can't take its place is an error, once for each fault, and goes.
	if err := errors.Join(os.Remove(c.path), os.Mkdir(c.path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := c.write(t.Context(), panels); err == nil || errors.Is(err, fs.ErrClosed) || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("over a folder: %v", err)
	}
	if got := names(t, filepath.Dir(c.path)); !slices.Equal(got, []string{"m.panels"}) {
		t.Errorf("after the error the folder has %q", got)
	}
}

// TestPanelSweep: of what writers left goes what is of an ended process of this
// place or a day old; nothing of other names, other folders or live processes.
func TestPanelSweep(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dead := exec.Command(self, "-test.run=^$")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	if processPlace() == "" {
		t.Skip("this system doesn't tell where process numbers are of")
	}
	temp := func(place string, pid int) string { return fmt.Sprintf(".panels-%s-%d-123.tmp", place, pid) }
	ended, old := temp(processPlace(), dead.Process.Pid), ".panels-77.tmp"
	keep := []string{temp(processPlace(), os.Getpid()), temp("elsewhere", dead.Process.Pid), temp("", dead.Process.Pid), temp(processPlace(), 0), temp(processPlace(), -1),
		".panels-78.tmp", "m.panels", ended + "x", "x" + ended}
	top := t.TempDir()
	// A folder's own name is no pattern.
	swept, beside := filepath.Join(top, "p[ab]"), filepath.Join(top, "pa")
	for _, dir := range []string{swept, beside} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range append([]string{ended, old}, keep...) {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		long := time.Now().Add(-25 * time.Hour)
		for _, name := range []string{old, "m.panels"} {
			if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	sweep(swept)
	slices.Sort(keep)
	if got := names(t, swept); !slices.Equal(got, keep) {
		t.Errorf("the folder has\n%q, want\n%q", got, keep)
	}
	if got := names(t, beside); len(got) != len(keep)+2 {
		t.Errorf("the folder beside has %q", got)
	}
}

// TestPanelKeeper: Close waits for a writer as long as it may, then stops it and
// waits for that; one that is given up is not waited for.
func TestPanelKeeper(t *testing.T) {
	for _, c := range []struct {
		name          string
		takes, passes time.Duration // on a clock that is not the machine's
		giveUp        bool
		why           error
	}{
		{"quick", time.Second, time.Second, false, nil},
		{"slow", time.Hour, keepWait, false, errGivenUp},
		{"given up", time.Hour, 0, true, errGivenUp},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &model{memory: &memory{}}
			var why error
			m.keeping.start(func(ctx context.Context) {
				select {
				case <-time.After(c.takes):
				case <-ctx.Done():
				}
				why = context.Cause(ctx)
			})
			if c.giveUp {
				m.GiveUpPanels()
			}
			start := time.Now()
			for range 2 {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(start); took != c.passes || why != c.why {
				t.Errorf("%s: Close took %v, want %v; the writer ends for %v, want %v", c.name, took, c.passes, why, c.why)
			}
		})
	}
}
