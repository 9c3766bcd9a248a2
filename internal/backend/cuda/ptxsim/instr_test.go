package ptxsim

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
)

// one is an instruction with its operands' values and the result, worked out by hand
// from the manual.
type one struct {
	text string // uses %d, %a, %b, %c; predicates %p and %q
	regs string // types of d, a, b, c
	in   []uint64
	want uint64
}

// snippet is a kernel that runs text once in each thread: thread t reads its inputs at
// 32 t, and writes %d at 8 t.
func snippet(text, regs string) string {
	var b strings.Builder
	b.WriteString(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n")
	b.WriteString(".reg .pred %p, %q;\n.reg .b64 %i, %o, %t;\n.reg .b32 %x;\n")
	names := []string{"%d", "%a", "%b", "%c"}
	kinds := strings.Fields(regs)
	for i, k := range kinds {
		fmt.Fprintf(&b, ".reg .%s %s;\n", k, names[i])
	}
	b.WriteString("mov.u32 %x, %tid.x;\ncvt.u64.u32 %t, %x;\nld.param.u64 %i, [in];\nld.param.u64 %o, [out];\n")
	b.WriteString("shl.b64 %t, %t, 3;\nadd.s64 %o, %o, %t;\nshl.b64 %t, %t, 2;\nadd.s64 %i, %i, %t;\n")
	for i, k := range kinds[1:] {
		fmt.Fprintf(&b, "ld.global.%s %s, [%%i+%d];\n", k, names[i+1], 8*i)
	}
	fmt.Fprintf(&b, "%s\nst.global.%s [%%o], %%d;\nret;\n}\n", text, kinds[0])
	return b.String()
}

// evaluate runs text in n threads on the same inputs and returns what each wrote.
func evaluate(t testing.TB, text, regs string, in []uint64, n int) []uint64 {
	t.Helper()
	m, err := Parse(snippet(text, regs))
	if err != nil {
		t.Fatal(err)
	}
	x := NewMachine(Options{Seed: 1})
	params := make([]byte, 16)
	src, dst := alloc2(t, x, int64(32*n), int64(8*n))
	binary.LittleEndian.PutUint64(params, src)
	binary.LittleEndian.PutUint64(params[8:], dst)
	buf := make([]byte, 32*n)
	for l := range n {
		for i, v := range in {
			binary.LittleEndian.PutUint64(buf[32*l+8*i:], v)
		}
	}
	must(t, x.Write(src, buf))
	must(t, x.Fill(dst, 0, int64(8*n)))
	if err := x.Launch(m.Kernel("k"), [3]uint32{1, 1, 1}, [3]uint32{uint32(n), 1, 1}, 0, params); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 8*n)
	must(t, x.Read(dst, out))
	res := make([]uint64, n)
	for l := range n {
		res[l] = binary.LittleEndian.Uint64(out[8*l:])
	}
	return res
}

func alloc2(t testing.TB, x *Machine, a, b int64) (uint64, uint64) {
	t.Helper()
	p, err := x.Alloc(a)
	must(t, err)
	q, err := x.Alloc(b)
	must(t, err)
	return p, q
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fb(f float32) uint64 { return uint64(math.Float32bits(f)) }
func db(f float64) uint64 { return math.Float64bits(f) }

// TestInstructions runs each case in a whole warp, and in five lanes of one.
func TestInstructions(t *testing.T) {
	for _, table := range [][]one{integerCases, bitCases, floatCases, halfCases, convertCases, moveCases, compareCases} {
		for _, c := range table {
			t.Run(strings.Fields(c.text)[0], func(t *testing.T) {
				for _, n := range []int{32, 5} {
					for l, got := range evaluate(t, c.text, c.regs, c.in, n) {
						if got != c.want {
							t.Errorf("%s of %x in lane %d of %d: %#x, must be %#x", c.text, c.in, l, n, got, c.want)
							break
						}
					}
				}
			})
		}
	}
}
