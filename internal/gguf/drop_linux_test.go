package gguf_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
)

// resident returns the resident bytes of this process's mapping of path.
func resident(t *testing.T, path string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skipf("no memory map to read: %v", err)
	}
	_, rest, ok := strings.Cut(string(maps), path+"\n")
	if !ok {
		t.Fatalf("%s is not mapped", path)
	}
	_, rest, _ = strings.Cut(rest, "Rss:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// TestDropFreesPages: a tensor that was read counts as memory until it is
// dropped; dropped, it can still be read.
func TestDropFreesPages(t *testing.T) {
	const n = 8 << 20
	path := bigFile(t, n)
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	big, _ := f.Tensor("big")
	total := 0
	if err := f.ReadTensor(big, sum(&total)); err != nil {
		t.Fatal(err)
	}
	if got := resident(t, path); got < n {
		t.Fatalf("%d bytes are resident after reading %d", got, n)
	}
	f.Drop(big)
	if got := resident(t, path); got > n/64 {
		t.Errorf("%d bytes are still resident after dropping %d", got, n)
	}
	if err := f.ReadTensor(big, sum(&total)); err != nil || total != 2*7*n {
		t.Errorf("read again: sum %d, %v", total, err)
	}
}
