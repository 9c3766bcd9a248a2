package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeLog names a file; with it in its environment the test's own program is a fake
// peer, which notes its arguments there.
const fakeLog = "BENCH_TEST_FAKE_LOG"

// fakePeer prints the rows of a program that does nothing.
func fakePeer(args []string, out io.Writer) error {
	c, err := parseFlags(args[1:])
	if err != nil {
		return err
	}
	f, err := os.OpenFile(os.Getenv(fakeLog), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, strings.Join(args, " ")); err != nil {
		return err
	}
	rate := map[string]float64{"fake-ours": 20, "fake-theirs": 5}[args[0]]
	fmt.Fprintln(out, "loading")
	for _, t := range c.tasks() {
		r := row{Test: t.String(), Rate: rate, Threads: c.threads, Backend: "fake", Bytes: 1e6}
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// TestPeerProcesses runs both sides as processes, with peaks measured by a third.
func TestPeerProcesses(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv(fakeLog, log)
	c, err := parseFlags([]string{"-model", log, "-threads", "1", "-p", "32", "-n", "4", "-batch", "1,2", "-depth", "8", "-r", "1", "-pairs", "2", "-steady", "1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ours, theirs := benchSide("ours", []string{self, "fake-ours"}, c), benchSide("theirs", []string{self, "fake-theirs"}, c)
	var got []comparison
	for _, x := range c.tasks() {
		list, err := compareTask(context.Background(), c, x, ours, []side{theirs}, 0)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, list[0])
	}
	var names []string
	for _, x := range got {
		names = append(names, x.Test)
		if x.Ratio != (spread{4, 4, 4}) || x.Pairs != 2 || x.Peaks.Read <= 0 || x.Peaks.FMA <= 0 || x.Backend != "fake" {
			t.Errorf("%+v", x)
		}
	}
	if want := "pp32@d8 tg4@d8 b2@d8"; strings.Join(names, " ") != want {
		t.Errorf("tests %v, want %s", names, want)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	flags := "-model " + log + " -threads 1 -r 1 -json "
	var want strings.Builder
	for _, args := range []string{"-p 32 -n 0 -depth 8", "-p 0 -n 4 -depth 8 -batch 1", "-p 0 -n 4 -depth 8 -batch 2"} {
		for _, side := range []string{"ours", "theirs", "theirs", "ours"} {
			fmt.Fprintf(&want, "fake-%s %s%s\n", side, flags, args)
		}
	}
	if string(b) != want.String() {
		t.Errorf("ran\n%swant\n%s", b, want.String())
	}
}

// TestChild asks what a process took, and for the reason of one that fails.
func TestChild(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeLog, filepath.Join(t.TempDir(), "log"))
	done, err := runChild(context.Background(), []string{self, "fake-ours", "-p", "1", "-n", "0"})
	if err != nil || !bytes.Contains(done.printed, []byte("pp1")) || done.took <= 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if peakMemory(nil) != 0 || done.peak != 0 && done.peak < 1<<20 {
		t.Errorf("a process had %d bytes resident at most", done.peak)
	}
	if _, err := runChild(context.Background(), []string{self, "fake-ours", "-no-such-flag"}); err == nil || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := runChild(ctx, []string{self, "fake-ours"}); err == nil {
		t.Error("a process ran after the end")
	}
}

// TestMeasureRows measures a tiny model at every level, and its opening: the work is
// the same whatever does it.
func TestMeasureRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	if err := writeSynth(path, "tiny-llama", "Q8_0"); err != nil {
		t.Fatal(err)
	}
	rows := func(args ...string) (list []row) {
		var out bytes.Buffer
		if err := run(append([]string{"-model", path, "-threads", "2", "-r", "1", "-json"}, args...), &out); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			var r row
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			list = append(list, r)
		}
		return list
	}
	tests := []string{"-kv", "f32", "-p", "16", "-n", "4", "-depth", "0,20", "-batch", "1,3"}
	best, portable := rows(tests...), rows(append(tests, "-level", "portable")...)
	if len(best) != 6 || len(portable) != 6 {
		t.Fatalf("%d and %d rows, want 6", len(best), len(portable))
	}
	for i, r := range portable {
		if r.Checksum != best[i].Checksum || r.Test != best[i].Test || r.Backend != "cpu/portable" || !(r.Rate > 0) {
			t.Errorf("%+v, at the best level %+v", r, best[i])
		}
		if (r.Bytes > 0) != !strings.HasPrefix(r.Test, "pp") {
			t.Errorf("%s: a step reads %d bytes", r.Test, r.Bytes)
		}
	}
	if deep, flat := best[4].Bytes, best[1].Bytes; deep-flat != 20*4*3*2*(64+64) {
		t.Errorf("a step reads %d bytes at depth 20 and %d at none", deep, flat)
	}
	if r := rows("-open"); len(r) != 1 || r[0].Test != "open" || !(r[0].Rate > 0) {
		t.Errorf("%+v", r)
	}
	if err := run([]string{"-model", path, "-level", "mmx"}, io.Discard); err == nil || !strings.Contains(err.Error(), "portable") {
		t.Errorf("a level that there is not: %v", err)
	}
}
