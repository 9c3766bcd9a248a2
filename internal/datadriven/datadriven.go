// Package datadriven runs tests that are written as text: commands, and below each what it must print.
//
//	# A comment, up to the first command or between two of them.
//	add 1 prompt=40 tenant=a
//	more lines of input, if the command takes any
//	----
//	what the command printed last time
//	(up to an empty line, or the end of the file)
//
// An expectation with an empty line inside is written between two lines of "----" and a third and fourth one at its end,
// by -rewrite itself (so two lines of "----" in a row can't follow an empty line). Run the test with -rewrite to record what is printed now; commit only differences that you
// understand. Tests of one file run in order; it is meant for one goroutine.
package datadriven

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "record what the commands of data-driven tests print now")

const separator = "----"

// Command is one command of a file.
type Command struct {
	Pos   string   // file and line, for messages
	Name  string   // the first word
	Args  []string // the words after it that have no "="
	Keys  map[string]string
	Input string // the lines between the command and its separator
	Want  string // the lines below it

	comment string // the lines above it, as they are
	head    string // the command line, as it is
	used    map[string]bool
}

// Int is the number given as key=number, or otherwise if the key is absent. It ends the test if it is no number.
func (c *Command) Int(t testing.TB, key string, otherwise int) int {
	t.Helper()
	v, ok := c.Keys[key]
	c.used[key] = true
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s: %s=%s is not a number", c.Pos, key, v)
	}
	return n
}

// String is the text given as key=text, or otherwise if the key is absent.
func (c *Command) String(key, otherwise string) string {
	v, ok := c.Keys[key]
	c.used[key] = true
	if !ok {
		return otherwise
	}
	return v
}

// Has reports whether key=… was given.
func (c *Command) Has(key string) bool {
	_, ok := c.Keys[key]
	c.used[key] = true
	return ok
}

// Arg is argument number i. It ends the test if there are fewer.
func (c *Command) Arg(t testing.TB, i int) string {
	t.Helper()
	if i >= len(c.Args) {
		t.Fatalf("%s: %s needs an argument number %d", c.Pos, c.Name, i+1)
	}
	return c.Args[i]
}

// Walk runs every file of dir as a subtest named after it.
func Walk(t *testing.T, dir string, run func(t *testing.T, path string)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.txt in %s (%v)", dir, err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) { run(t, f) })
	}
}

// Run executes the commands of a file in order and compares what do returns with what is written below each. A key that
// do never asked for ends the test: it is a spelling mistake.
func Run(t *testing.T, path string, do func(t *testing.T, c *Command) string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	commands, tail, err := parse(filepath.Base(path), string(data))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, c := range commands {
		got := do(t, c)
		if got != "" && !strings.HasSuffix(got, "\n") {
			got += "\n"
		}
		for k := range c.Keys {
			if !c.used[k] {
				t.Fatalf("%s: %s does not know %s=", c.Pos, c.Name, k)
			}
		}
		if got != c.Want && !*rewrite {
			t.Errorf("%s: %s\nprinted:\n%s\nexpected:\n%s", c.Pos, c.head, got, c.Want)
		}
		c.write(&out, got)
	}
	out.WriteString(tail)
	if *rewrite && out.String() != string(data) {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *Command) write(b *strings.Builder, got string) {
	fmt.Fprintf(b, "%s%s\n%s%s\n", c.comment, c.head, c.Input, separator)
	if needsEnd(got) {
		fmt.Fprintf(b, "%s\n%s%s\n%s\n", separator, got, separator, separator)
	} else {
		b.WriteString(got)
	}
	b.WriteString("\n")
}

// needsEnd reports whether an expectation can't be ended by an empty line.
func needsEnd(text string) bool {
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		line = strings.TrimSpace(line)
		if text != "" && line == "" || i == 0 && line == separator {
			return true
		}
	}
	return false
}

// parse splits a file into its commands; tail is what follows the last one.
func parse(name, data string) (commands []*Command, tail string, err error) {
	lines := strings.SplitAfter(data, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i := 0; i < len(lines); {
		start := i
		for i < len(lines) && (strings.TrimSpace(lines[i]) == "" || strings.TrimSpace(lines[i])[0] == '#') {
			i++
		}
		comment := strings.Join(lines[start:i], "")
		if i == len(lines) {
			return commands, comment, nil
		}
		c := &Command{Pos: fmt.Sprintf("%s:%d", name, i+1), comment: comment, head: strings.TrimSpace(lines[i]), used: map[string]bool{}}
		if err := c.words(); err != nil {
			return nil, "", err
		}
		if i++; i < len(lines) {
			start = i
		}
		for i < len(lines) && strings.TrimSpace(lines[i]) != separator {
			i++
		}
		if i == len(lines) {
			return nil, "", fmt.Errorf("%s: %s has no line of %s below it", c.Pos, c.head, separator)
		}
		c.Input = strings.Join(lines[start:i], "")
		i++
		end := func(i int) bool { return strings.TrimSpace(lines[i]) == "" }
		long := i < len(lines) && strings.TrimSpace(lines[i]) == separator
		if long {
			i++
			end = func(i int) bool {
				return strings.TrimSpace(lines[i]) == separator && i+1 < len(lines) && strings.TrimSpace(lines[i+1]) == separator
			}
		}
		start = i
		for i < len(lines) && !end(i) {
			i++
		}
		c.Want = strings.Join(lines[start:i], "")
		if long {
			if i == len(lines) {
				return nil, "", fmt.Errorf("%s: what %s prints has no end", c.Pos, c.head)
			}
			i += 2
		}
		if i < len(lines) && strings.TrimSpace(lines[i]) == "" {
			i++ // the empty line that write adds
		}
		commands = append(commands, c)
	}
	return commands, "", nil
}

// words splits the command line. A value may be quoted as in Go to hold spaces.
func (c *Command) words() error {
	c.Keys = map[string]string{}
	for rest := c.head; rest != ""; rest = strings.TrimLeft(rest, " \t") {
		word := rest
		if i := strings.IndexAny(rest, " \t"); i >= 0 {
			word = rest[:i]
		}
		key, value, isKey := strings.Cut(word, "=")
		if isKey && strings.HasPrefix(value, `"`) {
			q, err := strconv.QuotedPrefix(rest[len(key)+1:])
			if err != nil {
				return fmt.Errorf("%s: %s has an unfinished quote", c.Pos, key)
			}
			word = key + "=" + q
			value, _ = strconv.Unquote(q)
		}
		rest = rest[len(word):]
		switch {
		case c.Name == "":
			c.Name = word
		case isKey:
			if _, twice := c.Keys[key]; twice {
				return fmt.Errorf("%s: %s= is given twice", c.Pos, key)
			}
			c.Keys[key] = value
		default:
			c.Args = append(c.Args, word)
		}
	}
	return nil
}
