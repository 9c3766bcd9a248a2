package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
)

// row is one line of the table.
type row struct {
	Section string  `json:"section"`
	Check   string  `json:"check"`
	Result  string  `json:"result"` // pass, fail, WARN, skip or measured
	Value   float64 `json:"value,omitempty"`
	Unit    string  `json:"unit,omitempty"`
	Share   float64 `json:"share_percent,omitempty"` // of what it is measured against
	Of      string  `json:"share_of,omitempty"`
	Text    string  `json:"text,omitempty"`
}

const (
	pass     = "pass"
	fail     = "FAIL"
	warn     = "WARN" // right, but slower than it should be
	skip     = "skip"
	measured = "measured"
)

func (k *checker) add(r row) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r.Section = k.section
	k.rows = append(k.rows, r)
}

// enter begins a section.
func (k *checker) enter(section string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.section = section
}

// stuck prints what there is when a section does not come to its end: a kernel that
// hangs can't be stopped, and would take what was found with it.
func (k *checker) stuck(w io.Writer) {
	k.mu.Lock()
	section := k.section
	k.mu.Unlock()
	k.fail(section+" does not end", "a kernel or the driver hangs, or the machine is far too slow")
	if err := k.print(w, k.c.json); err != nil {
		fmt.Fprintln(os.Stderr, "gpucheck:", err)
	}
}

func (k *checker) pass(check, text string) { k.add(row{Check: check, Result: pass, Text: text}) }
func (k *checker) fail(check, text string) { k.add(row{Check: check, Result: fail, Text: text}) }
func (k *checker) warn(check, text string) { k.add(row{Check: check, Result: warn, Text: text}) }
func (k *checker) skip(check, text string) { k.add(row{Check: check, Result: skip, Text: text}) }

// judge passes a check whose complaint is empty.
func (k *checker) judge(check, complaint, text string) {
	if complaint != "" {
		k.fail(check, complaint)
		return
	}
	k.pass(check, text)
}

func (k *checker) measure(check string, value float64, unit string) {
	k.add(row{Check: check, Result: measured, Value: value, Unit: unit})
}

// share measures what is a part of something else that was measured.
func (k *checker) share(check string, value float64, unit string, part, whole float64, of string) {
	r := row{Check: check, Result: measured, Value: value, Unit: unit}
	if whole > 0 {
		r.Share, r.Of = 100*part/whole, of
	}
	k.add(r)
}

func (k *checker) failed() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, r := range k.rows {
		if r.Result == fail {
			n++
		}
	}
	return n
}

// print shows what was not shown yet, and how it went.
func (k *checker) print(w io.Writer, asJSON bool) error {
	if err := k.show(w, asJSON); err != nil || asJSON {
		return err
	}
	k.mu.Lock()
	lines := len(k.rows)
	k.mu.Unlock()
	_, err := fmt.Fprintf(w, "\n%d checks failed of %d lines, %.0f s\n", k.failed(), lines, k.since().Seconds())
	return err
}

// show prints the rows that came since it was called last. It is called after each
// section: a driver that takes the process down then takes no more than its own section
// along.
func (k *checker) show(w io.Writer, asJSON bool) error {
	k.mu.Lock()
	rows := slices.Clone(k.rows[k.shown:])
	k.shown = len(k.rows)
	k.mu.Unlock()
	if asJSON {
		e := json.NewEncoder(w)
		for _, r := range rows {
			if err := e.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	last := ""
	for _, r := range rows {
		section := r.Section
		if section == last {
			section = ""
		}
		last = r.Section
		fmt.Fprintf(t, "%-11s\t%-8s\t%s\t%s\n", section, r.Result, r.Check, r.text())
	}
	return t.Flush()
}

func (r row) text() string {
	if r.Result != measured {
		return r.Text
	}
	s := fmt.Sprintf("%.4g %s", r.Value, r.Unit)
	if r.Of != "" {
		s += fmt.Sprintf(", %.0f %% of %s", r.Share, r.Of)
	}
	return s
}
