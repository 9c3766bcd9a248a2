package cuda_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend/cuda/ptx"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptxsim"
)

var rewrite = flag.Bool("rewrite", false, "rewrite ptx/KERNELS.md from the committed PTX")

const tableHead = `<!-- Generated: go test ./internal/backend/cuda -run TestKernelTable -rewrite -->

# What each kernel takes, by its PTX

The driver's compiler assigns the registers that a card really has, so this is an expectation: "live" is the most
32-bit virtual registers that hold something at once, "virtual" all that are named, by type. Shared memory is what
the kernel declares; "+" where its launch adds dynamic memory. Blocks are those that fit on a multiprocessor of
compute capability 8.0 or 9.0 (65,536 registers in units of 8 a thread, 164 KiB of shared memory, 2,048 threads) by registers and
declared shared memory. Not measured: no card was at hand.

| module | kernel | threads | shared bytes | live | virtual (f32 b32 b64 b16 pred) | instructions | blocks a multiprocessor |
| --- | --- | --- | --- | --- | --- | --- | --- |
`

// mostLive bounds the registers that hold something at once in the order of the PTX. A
// thread has 255; the card's compiler puts instructions into an order that holds fewer.
const mostLive = 224

// TestKernelTable holds ptx/KERNELS.md against the committed PTX, and the kernels to what
// a thread and a block may have.
func TestKernelTable(t *testing.T) {
	names, err := fs.Glob(ptx.Files, "*.ptx")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	var table strings.Builder
	table.WriteString(tableHead)
	for _, name := range names {
		text, err := ptx.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := ptxsim.Parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, kernel := range m.Kernels() {
			k := m.Kernel(kernel)
			if k.LocalBytes > 0 {
				t.Errorf("%s of %s keeps %d bytes of a thread in memory", kernel, name, k.LocalBytes)
			}
			if k.Live > mostLive {
				t.Errorf("%s of %s holds %d registers at once, the most is %d", kernel, name, k.Live, mostLive)
			}
			if k.SharedBytes > 99<<10 {
				t.Errorf("%s of %s declares %d bytes of shared memory, the most is %d", kernel, name, k.SharedBytes, 99<<10)
			}
			if k.MaxThreads == 0 || k.MaxThreads > 1024 {
				t.Errorf("%s of %s is for %d threads", kernel, name, k.MaxThreads)
				continue
			}
			shared := fmt.Sprint(k.SharedBytes)
			if k.Dynamic {
				shared += "+"
			}
			r := k.Registers
			fmt.Fprintf(&table, "| %s | %s | %d | %s | %d | %d %d %d %d %d | %d | %d |\n", strings.TrimSuffix(name, ".ptx"), kernel, k.MaxThreads, shared, k.Live,
				r["f32"], r["b32"], r["b64"], r["b16"], r["pred"], k.Instructions(), blocks(k))
		}
	}
	const path = "ptx/KERNELS.md"
	if *rewrite {
		if err := os.WriteFile(path, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != table.String() {
		t.Errorf("%s is not what the PTX says; go test ./internal/backend/cuda -run TestKernelTable -rewrite", path)
	}
}

// blocks are those that fit on a multiprocessor at once.
func blocks(k *ptxsim.Kernel) int {
	perThread := (k.Live + 16 + 7) / 8 * 8 // some more than the text holds: addresses, constants, the compiler's own
	n := min(65536/(min(perThread, 256)*k.MaxThreads), 2048/k.MaxThreads, 32)
	if k.SharedBytes > 0 {
		n = min(n, 164<<10/(k.SharedBytes+1<<10))
	}
	return n
}
