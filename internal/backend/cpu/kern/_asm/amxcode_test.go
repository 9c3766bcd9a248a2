package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// encodings are instructions as the GNU assembler has them, and as GNU as 2.40
// encodes them.
var encodings = []struct {
	gnu  string
	hex  string
	code []byte
}{
	{"ldtilecfg (%rax)", "c4e2784900", ldtilecfg("AX")},
	{"ldtilecfg (%rdi)", "c4e2784907", ldtilecfg("DI")},
	{"tilerelease", "c4e27849c0", tilerelease()},
	{"tilezero %tmm0", "c4e27b49c0", tilezero(0)},
	{"tilezero %tmm7", "c4e27b49f8", tilezero(7)},
	{"tileloadd (%rsi,%rcx,1),%tmm2", "c4e27b4b140e", tileloadd(2, "SI", "CX")},
	{"tileloadd (%r8,%r9,1),%tmm4", "c4827b4b2408", tileloadd(4, "R8", "R9")},
	{"tileloadd (%rdi,%r11,1),%tmm7", "c4a27b4b3c1f", tileloadd(7, "DI", "R11")},
	{"tileloadd (%r10,%rdx,1),%tmm1", "c4c27b4b0c12", tileloadd(1, "R10", "DX")},
	{"tilestored %tmm3,(%rbx,%r12,1)", "c4a27a4b1c23", tilestored(3, "BX", "R12")},
	{"tilestored %tmm0,(%r15,%rcx,1)", "c4c27a4b040f", tilestored(0, "R15", "CX")},
	{"tdpbssd %tmm6,%tmm4,%tmm0", "c4e24b5ec4", tdpbssd.code(0, 4, 6)},
	{"tdpbsud %tmm5,%tmm4,%tmm0", "c4e2525ec4", tdpbsud.code(0, 4, 5)},
	{"tdpbusd %tmm7,%tmm5,%tmm3", "c4e2415edd", tdpbusd.code(3, 5, 7)},
	{"tdpbuud %tmm2,%tmm1,%tmm0", "c4e2685ec1", tdpbuud.code(0, 1, 2)},
	{"tdpbf16ps %tmm7,%tmm5,%tmm3", "c4e2425cdd", tdpbf16ps.code(3, 5, 7)},
}

func TestEncodings(t *testing.T) {
	for _, c := range encodings {
		if got := fmt.Sprintf("%x", c.code); got != c.hex {
			t.Errorf("%s: %s, want %s", c.gnu, got, c.hex)
		}
	}
}

// TestEncodingsAgainstGNU holds the same against the assembler of this machine.
func TestEncodingsAgainstGNU(t *testing.T) {
	as, err := exec.LookPath("as")
	if err != nil {
		t.Skip("no GNU assembler here")
	}
	dir := t.TempDir()
	src, obj := filepath.Join(dir, "t.s"), filepath.Join(dir, "t.o")
	var text strings.Builder
	for _, c := range encodings {
		text.WriteString(c.gnu + "\n")
	}
	if err := os.WriteFile(src, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(as, "--64", "-al="+filepath.Join(dir, "t.lst"), "-o", obj, src).CombinedOutput(); err != nil {
		t.Skipf("this assembler has no tiles: %v\n%s", err, out)
	}
	listing, err := os.ReadFile(filepath.Join(dir, "t.lst"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ +(\d+) [0-9a-f]{4} ([0-9A-F]{8})\s+\S.*\n +\d+ +([0-9A-F]+)`)
	var all [][]byte
	for _, m := range line.FindAllSubmatch(listing, -1) {
		all = append(all, bytes.Join(m[2:4], nil))
	}
	if len(all) != len(encodings) {
		t.Fatalf("%d instructions in the listing, want %d:\n%s", len(all), len(encodings), listing)
	}
	for i, c := range encodings {
		if got := strings.ToLower(string(all[i])); got != c.hex {
			t.Errorf("%s: the assembler has %s, want %s", c.gnu, got, c.hex)
		}
	}
}
