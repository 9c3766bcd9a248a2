package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// goalRow is a measured goal, as it is kept in the folder's results.
type goalRow struct {
	ID         string      `json:"id"`
	At         time.Time   `json:"at"`
	Machine    string      `json:"machine"`
	Commit     string      `json:"commit,omitempty"`
	Comparison *comparison `json:"comparison,omitempty"`
	Fault      string      `json:"fault,omitempty"` // why there is none
	Took       float64     `json:"took_s"`
}

// goalRun measures the table of goals.
type goalRun struct {
	c     *config
	ctx   context.Context
	bins  map[string]string // folders of the peer's programs, by level; "": the best
	table []goal
	rows  map[string]goalRow
	saved string // the file of results
	say   io.Writer
	srv   string             // examples/server, once it is built
	make  func(g goal) error // what takes no part in the time
	run   func(g goal, limit time.Duration) ([]comparison, error)
}

// measureGoals measures what the folder's results lack, or what -goals-only names, and
// prints the table of all results.
func measureGoals(ctx context.Context, c *config, out, say io.Writer) error {
	bins, err := peerFolders(c.peerBin)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.goals, 0o777); err != nil {
		return err
	}
	r := &goalRun{c: c, ctx: ctx, bins: bins, table: goals(c.clients), saved: filepath.Join(c.goals, "goals.jsonl"), say: say}
	r.make, r.run = r.ensure, r.measure
	if err := r.load(); err != nil {
		return err
	}
	if err := r.all(); err != nil {
		return err
	}
	return r.print(out)
}

// peerFolders reads -peer-bin: the folder of the peer's programs, and after commas of
// those built for one level alone, as LEVEL=FOLDER.
func peerFolders(list string) (map[string]string, error) {
	bins := map[string]string{}
	for _, s := range strings.Split(list, ",") {
		level, folder, ok := strings.Cut(s, "=")
		if !ok {
			level, folder = "", s
		}
		if folder == "" {
			return nil, fmt.Errorf("-peer-bin is %q, must be FOLDER, and then LEVEL=FOLDER for those built for one level", list)
		}
		bins[level] = folder
	}
	return bins, nil
}

// load reads the results of earlier runs: of one goal the last counts.
func (r *goalRun) load() error {
	r.rows = map[string]goalRow{}
	b, err := os.ReadFile(r.saved)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		var row goalRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return fmt.Errorf("%s: %w", r.saved, err)
		}
		r.rows[row.ID] = row
	}
	return nil
}

// all measures the goals that are to be, in the order of the table. Each may take its
// share of the time that is left.
func (r *goalRun) all() error {
	var wanted []goal
	for _, g := range r.table {
		done := r.rows[g.id].Comparison != nil
		if r.c.goalsOnly != "" && g.chosen(r.c.goalsOnly) || r.c.goalsOnly == "" && !done {
			wanted = append(wanted, g)
		}
	}
	if len(wanted) == 0 && r.c.goalsOnly != "" {
		return fmt.Errorf("-goals-only is %q, which is none of: %s", r.c.goalsOnly, strings.Join(r.ids(), " "))
	}
	for _, g := range wanted {
		if err := r.make(g); err != nil {
			return err
		}
	}
	end, made := time.Now().Add(r.c.goalsTime), map[string]bool{}
	for i, g := range wanted {
		if made[g.id] {
			continue
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		var rest float64
		for _, o := range wanted[i:] {
			rest += o.weight
		}
		limit := max(time.Nanosecond, time.Duration(float64(time.Until(end))*g.weight/rest))
		fmt.Fprintf(r.say, "%s  %s (%d of %d, at most %v)\n", time.Now().Format("15:04:05"), g.id, i+1, len(wanted), limit.Round(time.Second))
		start := time.Now()
		list, fault := r.run(g, limit)
		if err := r.ctx.Err(); err != nil {
			return err
		}
		for _, same := range wanted[i:] {
			if same.key() != g.key() {
				continue
			}
			made[same.id] = true
			if err := r.keep(same, list, fault, time.Since(start)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *goalRun) ids() (ids []string) {
	for _, g := range r.table {
		ids = append(ids, g.id)
	}
	return ids
}

// keep adds a goal's result to the folder's.
func (r *goalRun) keep(g goal, list []comparison, fault error, took time.Duration) error {
	row := goalRow{ID: g.id, At: time.Now().UTC().Truncate(time.Second), Machine: machine(), Commit: commit(), Took: took.Seconds()}
	for i := range list {
		if g.figure == "" || list[i].Test == g.figure {
			row.Comparison = &list[i]
			break
		}
	}
	switch {
	case fault != nil:
		row.Fault = fault.Error()
	case row.Comparison == nil:
		row.Fault = "the runs have no figure of " + g.figure
	}
	if row.Comparison != nil {
		fmt.Fprintf(r.say, "          %v\n", row.Comparison)
	} else {
		fmt.Fprintf(r.say, "          %s\n", row.Fault)
	}
	r.rows[g.id] = row
	f, err := os.OpenFile(r.saved, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(row), f.Close())
}

// measure runs a goal's pairs.
func (r *goalRun) measure(g goal, limit time.Duration) ([]comparison, error) {
	bin, ok := r.bins[g.level]
	if !ok {
		return nil, fmt.Errorf("-peer-bin has no %s=FOLDER", g.level)
	}
	if _, err := findLevel(g.level); err != nil {
		return nil, err
	}
	c := *r.c
	c.model, c.level, c.kv = r.path(g), g.level, r.c.kv
	c.repeat, c.peerKind, c.peer, c.peerBatched, c.peerFlash = 1, "llama-bench", filepath.Join(bin, "llama-bench"), "", g.flash
	if err := warmFile(c.model); err != nil {
		return nil, err
	}
	if g.serve != nil {
		hosts, err := r.servers(&c, g, bin)
		if err != nil {
			return nil, err
		}
		return compareServe(r.ctx, &c, *g.serve, hosts, limit)
	}
	ours, err := c.ours()
	if err != nil {
		return nil, err
	}
	theirs, err := c.peers()
	if err != nil {
		return nil, err
	}
	return compareTask(r.ctx, &c, g.task, ours, theirs, limit)
}

// path is where a goal's file lies.
func (r *goalRun) path(g goal) string {
	return filepath.Join(r.c.goals, g.shape+"-"+g.typ+".gguf")
}

// ensure makes a goal's file where there is none, whole or not at all.
func (r *goalRun) ensure(g goal) error {
	path := r.path(g)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fmt.Fprintf(r.say, "making %s\n", path)
	if err := writeSynth(path+".part", g.shape, g.typ); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// warmFile has a file in the page cache.
func warmFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// servers are examples/server, which is built once, and llama-server with each setting.
func (r *goalRun) servers(c *config, g goal, bin string) ([]*host, error) {
	if r.srv == "" {
		r.srv = c.serverBin
		if r.srv == "" {
			r.srv = filepath.Join(c.goals, "server")
			if out, err := exec.CommandContext(r.ctx, "go", "build", "-o", r.srv, "github.com/paddock-go/paddock/examples/server").CombinedOutput(); err != nil {
				r.srv = ""
				return nil, fmt.Errorf("examples/server can't be built here (-server names one that is): %w: %s", err, out)
			}
		}
	}
	// The context of a sequence, as both pad it: to 256.
	context := (g.serve.prefix + g.serve.in + g.serve.out + 255) / 256 * 256
	threads, seqs := strconv.Itoa(c.workers()), strconv.Itoa(g.serve.clients)
	ours := &host{name: "ours", command: []string{r.srv, "--addr", "127.0.0.1:{port}", "--model", c.model, "--threads", threads,
		"--max-batch", seqs, "--max-ctx", strconv.Itoa(context), "--log-level", "warn"}}
	if c.kv != "" {
		ours.command = append(ours.command, "--kv-cache-dtype", c.kv)
	}
	hosts := []*host{ours}
	for _, flash := range []string{"off", "on"} {
		h := &host{name: "fa " + flash, command: []string{filepath.Join(bin, "llama-server"), "--host", "127.0.0.1", "--port", "{port}", "-m", c.model, "-t", threads,
			"-np", seqs, "-c", strconv.Itoa(context * g.serve.clients), "-fa", flash}}
		if c.kv != "" {
			h.command = append(h.command, "-ctk", c.kv, "-ctv", c.kv)
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

// print writes the table of all results.
func (r *goalRun) print(out io.Writer) error {
	_, err := io.WriteString(out, goalTable(slices.Values(r.table), r.rows))
	return err
}
