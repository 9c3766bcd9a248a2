package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one fault: an edit of one place in one file, and the test that must
// turn red from it.
type mutant struct {
	name string // of the fault, as it is known or as what is broken
	what string // what the engine does wrong then
	file string // from the module's root
	old  string // stands in the file exactly once
	new  string
	pkg  string // of the test
	test string // its name, alone
}

// mutants is the whole table.
func mutants() []mutant {
	return slices.Concat(engineMutants, metricsMutants, apiMutants, nvmlMutants)
}

// apply returns the file's text with the fault in it.
func (m mutant) apply(root string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	if n := strings.Count(text, m.old); n != 1 {
		return nil, fmt.Errorf("%s: the text that the fault replaces stands there %d times, must be once: %q", m.file, n, m.old)
	}
	if m.old == m.new {
		return nil, errors.New("the fault changes nothing")
	}
	return []byte(strings.Replace(text, m.old, m.new, 1)), nil
}

// moduleRoot is the nearest folder upwards that holds a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working directory; run this inside the module")
		}
		dir = parent
	}
}

// indent sets the end of a command's output apart.
func indent(s string) string {
	const most = 3000
	s = s[max(0, len(s)-most):]
	return "        " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n        ")
}
