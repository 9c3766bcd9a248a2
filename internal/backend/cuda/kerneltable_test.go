package cuda_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptx"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptxsim"
)

var rewrite = flag.Bool("rewrite", false, "rewrite ptx/KERNELS.md from the committed PTX")

const tableHead = `<!-- Generated: go test ./internal/backend/cuda -run TestKernelTable -rewrite -->

# What each kernel takes, by its PTX

The driver's compiler assigns the registers that a card really has, so this is an expectation: "live" is the most
32-bit virtual registers that hold something at once, "virtual" all that are named, by type. "Most" is what the
compiler may give a thread: 255, or less where as many blocks as the kernel asks for (.minnctapersm) must find
registers; a kernel that holds more is marked, it likely keeps values in memory. Shared memory is what the kernel declares,
then "+" and what its launch adds at most. Blocks are those that fit on a multiprocessor of compute capability 8.0
(65,536 registers in units of 8 a thread, 164 KiB of shared memory, 1 KiB of it the driver's in each block, 2,048 threads).
Not measured: no card was at hand; gpucheck's section "kernels" asks the driver.

| module | kernel | threads | shared bytes | live | most | virtual (f32 b32 b64 b16 pred) | instructions | blocks a multiprocessor |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
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
			dynamic := cuda.DynamicOf(kernel)
			if k.Dynamic != (dynamic > 0) {
				t.Errorf("%s of %s has dynamic shared memory: %v, its launches add %d bytes", kernel, name, k.Dynamic, dynamic)
			}
			if all := k.SharedBytes + dynamic; all > 99<<10 {
				t.Errorf("%s of %s has %d bytes of shared memory, the most is %d", kernel, name, all, 99<<10)
			}
			if k.MaxThreads == 0 || k.MaxThreads > 1024 {
				t.Errorf("%s of %s is for %d threads", kernel, name, k.MaxThreads)
				continue
			}
			mark := ""
			if most := mostRegisters(k); k.Live > most {
				mark = ", likely spills"
				if why, known := overMost[kernel]; !known {
					t.Errorf("%s of %s holds %d registers at once, and may have %d where %d blocks of %d threads must fit", kernel, name, k.Live, most, k.MinBlocks, k.MaxThreads)
				} else {
					t.Logf("%s holds %d registers at once, of %d: %s", kernel, k.Live, most, why)
				}
			} else if _, known := overMost[kernel]; known {
				t.Errorf("%s of %s no longer holds more registers than it may have: take it from the list", kernel, name)
			}
			shared := fmt.Sprint(k.SharedBytes)
			if dynamic > 0 {
				shared += fmt.Sprint("+", dynamic)
			}
			r := k.Registers
			fmt.Fprintf(&table, "| %s | %s | %d | %s | %d | %d%s | %d %d %d %d %d | %d | %d |\n", strings.TrimSuffix(name, ".ptx"), kernel, k.MaxThreads, shared, k.Live, mostRegisters(k), mark,
				r["f32"], r["b32"], r["b64"], r["b16"], r["pred"], k.Instructions(), blocks(k, dynamic))
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

// overMost are kernels that hold more at once, in the order of the PTX, than a thread may
// have, and why they are left so.
var overMost = map[string]string{}

// mostRegisters is what the driver's compiler may give a thread.
func mostRegisters(k *ptxsim.Kernel) int {
	return min(255, 65536/(max(k.MinBlocks, 1)*k.MaxThreads)/8*8)
}

// blocks are those that fit on a multiprocessor at once.
func blocks(k *ptxsim.Kernel, dynamic int) int {
	perThread := (k.Live + 16 + 7) / 8 * 8 // some more than the text holds: addresses, constants, the compiler's own
	perThread = min(perThread, (mostRegisters(k)+7)/8*8)
	n := min(65536/(perThread*k.MaxThreads), 2048/k.MaxThreads, 32)
	if shared := k.SharedBytes + dynamic; shared > 0 {
		n = min(n, 164<<10/(shared+(1<<10)))
	}
	return n
}

// TestMostRegisters holds the bounds against the numbers of a card.
func TestMostRegisters(t *testing.T) {
	for _, c := range []struct{ minBlocks, threads, live, dynamic, most, blocks int }{
		{0, 128, 100, 0, 255, 4},
		{1, 256, 240, 0, 255, 1},
		{2, 256, 148, 0, 128, 2}, // it spills, but both fit
		{3, 128, 158, 0, 168, 3},
		{4, 128, 102, 0, 128, 4},
		{0, 1024, 20, 0, 64, 1},
		{2, 128, 90, 80 << 10, 255, 2},
		{2, 128, 90, 99 << 10, 255, 1},
	} {
		k := &ptxsim.Kernel{MinBlocks: c.minBlocks, MaxThreads: c.threads, Live: c.live}
		if most, n := mostRegisters(k), blocks(k, c.dynamic); most != c.most || n != c.blocks {
			t.Errorf("%+v: a thread may have %d, %d blocks fit", c, most, n)
		}
	}
}
