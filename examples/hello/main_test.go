package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHello runs the program with its output in a file.
func TestHello(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = out
	main()
	os.Stdout = stdout
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "paddock_generation_tokens") || text[len(text)-1] != '\n' {
		t.Errorf("it says %q", text)
	}
}
