package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/internal/backend/cuda/ptx"
	"github.com/paddock-go/paddock/internal/cmd/gpucheck/kernels"
	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/internal/race"
)

// TestSimulate executes the whole program on the interpreter: every section has its
// rows, and none fails.
func TestSimulate(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"-simulate", "-json", "-budget", "1h"} // the machine may be slow
	wanted := map[string]int{"card": 1, "fragments": 24, "kernels": 20, "picks": 3, "conformance": 1, "kv": 2, "graphs": 1, "memory": 3, "bench": 10, "end": 1}
	if testing.Short() { // the models take their time
		args = append(args, "-only", "fragments,memory")
		for _, section := range []string{"kernels", "picks", "kv", "graphs"} {
			delete(wanted, section)
		}
		delete(wanted, "conformance")
		delete(wanted, "bench")
	}
	if race.Enabled { // the interpreter is twenty times as slow
		args = append(args, "-only", "fragments")
		wanted = map[string]int{"card": 1, "fragments": 24, "end": 1}
	}
	if status := run(args, &out, &errs); status != 0 {
		t.Errorf("the status is %d: %s", status, errs.String())
	}
	rows := map[string]row{}
	sections := map[string]int{}
	for d := json.NewDecoder(&out); d.More(); {
		var r row
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Result == fail || r.Result == skip || r.Result == warn {
			t.Errorf("%s: %s: %s %s", r.Section, r.Check, r.Result, r.Text)
		}
		rows[r.Check] = r
		sections[r.Section]++
	}
	for section, least := range wanted {
		if sections[section] < least {
			t.Errorf("section %s has %d rows, must have %d", section, sections[section], least)
		}
	}
	if testing.Short() || race.Enabled {
		return
	}
	with, without := rows["tiny-qwen3 Q8_0: driver calls a decode step"].Value, rows["tiny-qwen3 Q8_0: driver calls a step without a graph"].Value
	if with < 3 || with > 6 || without < 20 {
		t.Errorf("a decode step makes %v driver calls with graphs, %v without", with, without)
	}
	if r := rows["tiny-qwen3 Q8_0: kernels of a decode step"]; r.Value < 20 || r.Value > without {
		t.Errorf("%v kernels of a decode step, %v driver calls of a step without a graph", r.Value, without)
	}
	for _, name := range []string{"tiny-qwen3 Q8_0: a decode step's bytes", "copy, by a kernel", "bf16 mma.sync", "tiny-qwen3 Q8_0: decode", "tiny-qwen3 Q8_0: prompts of 20", "tiny-qwen3 Q8_0: 4 streams together"} {
		if r := rows[name]; r.Result != measured || r.Value <= 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestWrongLayoutsAreSeen gives the card that is none other layouts: operands
// exchanged, a load that is not turned. Those must fail, and nothing else.
func TestWrongLayoutsAreSeen(t *testing.T) {
	for _, c := range []struct{ kernel, old, new, where string }{
		{"mma_k16_f16", "{%r1, %r2, %r3, %r4}, {%r5, %r6}", "{%r2, %r1, %r3, %r4}, {%r5, %r6}", "takes it for (8, 0)"},
		{"mma_k32_s8", "{%r9, %r10}", "{%r10, %r9}", "takes it for (0, 16)"},
		{"mma_k16_s8", "{%r5, %r6}, {%r7}", "{%r6, %r5}, {%r7}", "takes it for (8, 0)"},
		{"load_x2_trans", ".x2.trans.shared", ".x2.shared", ""},
	} {
		if race.Enabled && c.kernel != "load_x2_trans" {
			continue
		}
		k := simulated(t)
		k.files = edited(t, kernels.Files, c.kernel, c.old, c.new)
		k.section = "fragments"
		if err := k.fragments(); err != nil {
			t.Fatal(err)
		}
		seen := false
		for _, r := range k.rows {
			touched := strings.HasSuffix(r.Check, "("+c.kernel+")") || r.Check == "product of "+c.kernel
			if (r.Result == fail) != touched {
				t.Errorf("%s changed: %s: %s %s", c.kernel, r.Check, r.Result, r.Text)
			}
			seen = seen || touched && strings.Contains(r.Text, c.where)
		}
		if !seen {
			t.Errorf("%s changed: no row says %q", c.kernel, c.where)
		}
		if err := k.close(); err != nil {
			t.Error(err)
		}
	}
}

func simulated(t *testing.T) *checker {
	t.Helper()
	k, err := open(&config{simulate: true})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// edited is a folder's modules with one line of one kernel changed.
func edited(t *testing.T, files fs.FS, kernel, old, new string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	texts, err := ptx.Read(files)
	if err != nil {
		t.Fatal(err)
	}
	done := false
	for name, text := range texts {
		before, body, found := strings.Cut(string(text), ".entry "+kernel+"(")
		if found && strings.Contains(body, old) {
			done = true
			text = []byte(before + ".entry " + kernel + "(" + strings.Replace(body, old, new, 1))
		}
		out[name] = &fstest.MapFile{Data: text}
	}
	if !done {
		t.Fatalf("kernel %s has no %q", kernel, old)
	}
	return out
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-only", "nothing"}, {"extra"}, {"-nothing"}, {"-simulate", "-device", "1"}} {
		var out, errs bytes.Buffer
		if status := run(args, &out, &errs); status != 2 || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q gives status %d, %q, %q", args, status, out.String(), errs.String())
		}
	}
	var out, errs bytes.Buffer
	if status := run([]string{"-h"}, &out, &errs); status != 0 || !strings.Contains(errs.String(), "-simulate") {
		t.Errorf("-h gives status %d, %q", status, errs.String())
	}
}

func TestReport(t *testing.T) {
	k := &checker{c: &config{}, section: "one"}
	k.pass("a check", "is well")
	k.judge("another", "is not well", "is well")
	k.skip("a third", "for want of time")
	k.section = "two"
	k.share("rate", 1234.5, "GB/s", 1, 4, "all")
	var out bytes.Buffer
	if err := k.print(&out, false); err != nil {
		t.Fatal(err)
	}
	want := "one          pass      a check  is well\n" +
		"             FAIL      another  is not well\n" +
		"             skip      a third  for want of time\n" +
		"two          measured  rate     1234 GB/s, 25 % of all\n"
	if got := out.String(); !strings.HasPrefix(got, want) || !strings.Contains(got, "1 checks failed of 4 lines") {
		t.Errorf("printed:\n%s\nwant:\n%s", got, want)
	}
}

// TestShow: a section's rows are printed when it ends, once.
func TestShow(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		k := &checker{c: &config{}, section: "one"}
		var out bytes.Buffer
		k.pass("a check", "is well")
		if err := k.show(&out, asJSON); err != nil || strings.Count(out.String(), "a check") != 1 {
			t.Errorf("%v, printed:\n%s", err, out.String())
		}
		k.fail("another", "is not well")
		if err := k.print(&out, asJSON); err != nil || strings.Count(out.String(), "a check") != 1 || strings.Count(out.String(), "another") != 1 {
			t.Errorf("%v, printed:\n%s", err, out.String())
		}
		if !asJSON && !strings.Contains(out.String(), "1 checks failed of 2 lines") {
			t.Errorf("printed:\n%s", out.String())
		}
	}
}

// TestStuck: what was found is printed also if the rest does not come.
func TestStuck(t *testing.T) {
	k := &checker{c: &config{}, section: "fragments"}
	k.pass("a check", "is well")
	var out bytes.Buffer
	k.stuck(&out)
	if got := out.String(); !strings.Contains(got, "a check") || !strings.Contains(got, "fragments does not end") {
		t.Errorf("printed:\n%s", got)
	}
}

// TestGolden holds the simulated card against another engine's logits, and finds out a
// folder without any.
func TestGolden(t *testing.T) {
	from := filepath.Join(golden.Dir(t), "quants")
	if race.Enabled {
		return
	}
	dir := t.TempDir()
	for _, name := range []string{"Q8_0.gguf", "Q8_0.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ folder, check, result string }{
		{dir, "golden Q8_0.gguf", pass}, {t.TempDir(), "golden models", fail}, {filepath.Join(dir, "none"), "golden models", fail},
	} {
		k := simulated(t)
		k.c.golden = c.folder
		d, err := k.device()
		if err != nil {
			t.Fatal(err)
		}
		k.goldens(d)
		if len(k.rows) != 1 || k.rows[0].Check != c.check || k.rows[0].Result != c.result {
			t.Errorf("%s: %+v", c.folder, k.rows)
		}
		if err := k.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestKernels: every module of the backend is compiled, and its kernels asked about.
func TestKernels(t *testing.T) {
	if race.Enabled {
		return
	}
	var out, errs bytes.Buffer
	if status := run([]string{"-simulate", "-only", "kernels"}, &out, &errs); status != 0 {
		t.Errorf("the status is %d: %s", status, errs.String())
	}
	texts, err := ptx.Read(ptx.Files)
	if err != nil {
		t.Fatal(err)
	}
	for name := range texts {
		if !strings.Contains(out.String(), " "+strings.TrimSuffix(name, ".ptx")+" ") {
			t.Errorf("nothing is said of %s", name)
		}
	}
	if strings.Contains(out.String(), "fragments") || !strings.Contains(out.String(), "registers") {
		t.Errorf("printed:\n%s", out.String())
	}
}
