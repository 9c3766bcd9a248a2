package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// side is a program under test, run as a child process for each figure so that
// memory and time are measured alike whoever it is.
type side struct {
	name string
	// command is what to run for a task.
	command func(t task) []string
	// parse finds the task's row in what it printed.
	parse func(t task, printed []byte) (row, error)
}

// run is one run of a task.
func (s side) run(ctx context.Context, t task) (outcome, error) {
	c, err := runChild(ctx, s.command(t))
	if err != nil {
		return outcome{}, err
	}
	r, err := s.parse(t, c.printed)
	if err != nil {
		return outcome{}, fmt.Errorf("%s: %w", s.name, err)
	}
	o := outcome{row: r}
	if t.kind == opening {
		o.figures = append(o.figures, figure{"open", seconds, c.took.Seconds()})
	} else {
		o.figures = append(o.figures, figure{t.String(), tokensPerSecond, r.Rate})
	}
	if c.peak > 0 {
		o.figures = append(o.figures, figure{"peak memory", megabytes, float64(c.peak) / 1e6})
	}
	return o, nil
}

// child is a process that has ended.
type child struct {
	printed []byte
	took    time.Duration // from its start to its end
	peak    int64         // bytes resident at most; 0: unknown
}

func runChild(ctx context.Context, command []string) (child, error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	start := time.Now()
	err := cmd.Run()
	c := child{printed: out.Bytes(), took: time.Since(start), peak: peakMemory(cmd.ProcessState)}
	if err == nil {
		return c, nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return c, fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, lastLines(complaint.String()))
}

// lastLines is the end of what a program complained of, where its reason is.
func lastLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], "; ")
}

// ours is this program again, with the settings of the flags.
func (c *config) ours() (side, error) {
	self, err := os.Executable()
	if err != nil {
		return side{}, err
	}
	s := benchSide("ours", []string{self}, c)
	plain := s.command
	s.command = func(t task) []string {
		command := plain(t)
		if c.level != "" {
			command = append(command, "-level", c.level)
		}
		return command
	}
	return s, nil
}

// benchSide is a program that takes this one's flags and prints its rows: another
// build of it, say.
func benchSide(name string, program []string, c *config) side {
	return side{name: name, parse: parseBench, command: func(t task) []string {
		command := slices.Concat(program, []string{"-model", c.model, "-threads", strconv.Itoa(c.workers()), "-r", strconv.Itoa(c.repeat), "-json"})
		if c.kv != "" {
			command = append(command, "-kv", c.kv)
		}
		switch t.kind {
		case opening:
			command = append(command, "-open")
		case prompting:
			command = append(command, "-p", strconv.Itoa(t.tokens), "-n", "0", "-depth", strconv.Itoa(t.depth))
		case generating:
			command = append(command, "-p", "0", "-n", strconv.Itoa(t.tokens), "-depth", strconv.Itoa(t.depth), "-batch", strconv.Itoa(t.batch))
		}
		return command
	}}
}

// parseBench finds a task's row among those that this program prints with -json.
func parseBench(t task, printed []byte) (row, error) {
	return findRow(t, printed, func(line []byte) (row, bool, error) {
		var r row
		err := json.Unmarshal(line, &r)
		return r, r.Test == t.String(), err
	})
}

// findRow goes through printed lines of JSON. Others are passed over: programs tell
// of what they load.
func findRow(t task, printed []byte, read func(line []byte) (row, bool, error)) (row, error) {
	for line := range bytes.Lines(printed) {
		line = bytes.TrimSpace(line)
		if !bytes.HasPrefix(line, []byte("{")) {
			continue
		}
		r, found, err := read(line)
		if err != nil {
			return row{}, fmt.Errorf("%q: %w", line, err)
		}
		if !found {
			continue
		}
		if !(r.Rate > 0) {
			return row{}, fmt.Errorf("%q has no rate above 0", line)
		}
		return r, nil
	}
	return row{}, errors.New("printed no row of " + t.String())
}
