package main

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptx"
	"github.com/paddock-go/paddock/internal/race"
)

// TestSpillsAreSeen: a kernel with local memory is warned of, by its name and bytes.
func TestSpillsAreSeen(t *testing.T) {
	k := simulated(t)
	k.serving = fstest.MapFS{"slow.ptx": &fstest.MapFile{Data: []byte(".version 7.0\n.target sm_80\n.address_size 64\n" +
		".visible .entry spilling()\n.maxntid 128, 1, 1\n{\n\t.local .align 4 .b8 depot[24];\n\tret;\n}\n")}}
	if err := k.compiled(); err != nil {
		t.Fatal(err)
	}
	if len(k.rows) != 2 || k.rows[0].Result != pass || k.rows[1].Result != warn || !strings.Contains(k.rows[1].Text, "spilling 24 bytes") || k.failed() != 0 {
		t.Errorf("%+v", k.rows)
	}
	if err := k.close(); err != nil {
		t.Error(err)
	}
}

// TestRefusedModules: a module that does not compile is a failure with the compiler's
// words, one whose kernels can't be asked about too, and the others are tried all the same.
func TestRefusedModules(t *testing.T) {
	const head = ".version 7.0\n.target sm_80\n.address_size 64\n"
	k := simulated(t)
	k.serving = fstest.MapFS{
		"a.ptx": &fstest.MapFile{Data: []byte(head + ".visible .entry a()\n{\n\tadd.nothing %r1, %r2;\n\tret;\n}\n")},
		"b.ptx": &fstest.MapFile{Data: []byte(head + "// .entry of_a_comment\n.visible .entry b()\n{\n\tret;\n}\n")},
		"c.ptx": &fstest.MapFile{Data: []byte(head + ".visible .entry c()\n{\n\tret;\n}\n")},
	}
	if err := k.compiled(); err != nil {
		t.Fatal(err)
	}
	if len(k.rows) != 3 || k.failed() != 2 || !strings.Contains(k.rows[0].Text, "line 6") || !strings.Contains(k.rows[1].Text, "of_a_comment") || k.rows[2].Result != pass {
		t.Errorf("%+v", k.rows)
	}
	if err := k.close(); err != nil {
		t.Error(err)
	}
}

// TestWrongPicksAreSeen gives the picking kernels other orders and sums.
func TestWrongPicksAreSeen(t *testing.T) {
	if race.Enabled {
		return
	}
	text, err := fs.ReadFile(ptx.Files, "sample.ptx")
	if err != nil {
		t.Fatal(err)
	}
	rows := pickRows(300)
	for i := range rows {
		k := simulated(t)
		err := k.bare(func(b *bare) error {
			if err := b.load("sample.ptx", text); err != nil {
				return err
			}
			got, err := b.pick(300, rows)
			if err != nil {
				return err
			}
			p := &got[i]
			if c := rows[i].compare(p); c != "" {
				t.Errorf("%s: %s", rows[i].name, c)
			}
			wrong := *p
			switch rows[i].name {
			case "a plain row":
				wrong.Rest *= 1.01
			case "a row with ties":
				wrong.Tokens[2], wrong.Tokens[3] = wrong.Tokens[3], wrong.Tokens[2]
			case "a row with few candidates", "a row without any":
				wrong.Count++
			case "a row with an infinity":
				wrong.Logits[0] = 7
			case "a row with two NaN":
				wrong.NaN++
			}
			if rows[i].compare(&wrong) == "" {
				t.Errorf("%s: a wrong pick passes", rows[i].name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := k.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGraphsThatAreNone: a comparison of two runs without graphs, or with other bits, is no
// pass.
func TestGraphsThatAreNone(t *testing.T) {
	if race.Enabled || testing.Short() {
		return
	}
	k := simulated(t)
	d, err := k.device()
	if err != nil {
		t.Fatal(err)
	}
	k.graph(trial{"tiny-llama", "Q8_0"}, d, d, d)
	if len(k.rows) != 1 || k.rows[0].Result != fail {
		t.Errorf("%+v", k.rows)
	}
	if err := k.close(); err != nil {
		t.Error(err)
	}
}

// TestFusedOtherwiseIsSeen rounds by another factor where roundings are kernels of their
// own.
func TestFusedOtherwiseIsSeen(t *testing.T) {
	if race.Enabled || testing.Short() {
		return
	}
	k := simulated(t)
	modules := edited(t, ptx.Files, "round_q8x32", "0f42FE0000", "0f42FC0000") // 127 to 126
	var devices [3]*cuda.Device
	var err error
	for i := range devices {
		if devices[i], err = cuda.Open(cuda.Options{Driver: k.driver, NoGraphs: i > 0, Unfused: i > 1, Modules: modules}); err != nil {
			t.Fatal(err)
		}
	}
	k.graph(trial{"tiny-llama", "Q8_0"}, devices[0], devices[1], devices[2])
	if len(k.rows) != 1 || k.rows[0].Result != fail || !strings.Contains(k.rows[0].Text, "rounds what it makes") {
		t.Errorf("%+v", k.rows)
	}
	for _, d := range devices {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := k.close(); err != nil {
		t.Error(err)
	}
}

// TestNoTime: a benchmark that would end after its time is not begun, and that is said.
func TestNoTime(t *testing.T) {
	if race.Enabled {
		return
	}
	k := simulated(t)
	k.c.budget = k.since() + time.Millisecond
	if err := k.bench(); err != nil {
		t.Fatal(err)
	}
	last := k.rows[len(k.rows)-1]
	if last.Result != skip || !strings.Contains(last.Text, "it would take about") {
		t.Errorf("%+v", last)
	}
	if err := k.close(); err != nil {
		t.Error(err)
	}
}

// TestWarning: what is slow is said, and no failure.
func TestWarning(t *testing.T) {
	k := &checker{c: &config{}, section: "one"}
	k.warn("a kernel", "is slow")
	var out bytes.Buffer
	if err := k.print(&out, false); err != nil || !strings.Contains(out.String(), "WARN") || k.failed() != 0 {
		t.Errorf("%v, %q", err, out.String())
	}
}
