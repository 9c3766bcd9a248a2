package quant

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/golden"
)

// goldenType is a row of the reference data's list of types.
type goldenType struct {
	id, elems, bytes, total int
	rms                     float64 // error of the peer's quantiser, relative
	name                    string
}

func goldenTypes(t *testing.T) []goldenType {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(golden.Dir(t), "quants", "blocks", "types.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var list []goldenType
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var g goldenType
		var largest float64
		if _, err := fmt.Sscan(lines.Text(), &g.id, &g.name, &g.elems, &g.bytes, &g.total, &g.rms, &largest); err != nil {
			continue // a heading
		}
		list = append(list, g)
	}
	if len(list) < 20 {
		t.Fatalf("only %d types read", len(list))
	}
	return list
}

func floats(t *testing.T, path string) []float32 {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]float32, len(raw)/4)
	decodeF32(list, raw)
	return list
}

// TestGoldenBlocks: every format of the table that the reference data has must
// decode to the reference's bits, and carry its id, name and sizes.
func TestGoldenBlocks(t *testing.T) {
	dir := filepath.Join(golden.Dir(t), "quants", "blocks")
	seen, failed := map[Type]bool{}, 0
	for _, g := range goldenTypes(t) {
		f, ok := Lookup(Type(g.id))
		if !ok {
			t.Errorf("%s (%d) has no row", g.name, g.id)
			continue
		}
		seen[f.Type] = true
		if f.Name != g.name || f.BlockElems != g.elems || f.BlockBytes != g.bytes {
			t.Errorf("row %s has blocks of %d in %d bytes, want %s, %d in %d", f.Name, f.BlockElems, f.BlockBytes, g.name, g.elems, g.bytes)
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, g.name+".raw.bin"))
		if err != nil {
			t.Fatal(err)
		}
		want := floats(t, filepath.Join(dir, g.name+".f32.bin"))
		if len(raw) != g.total || len(want) != 1024 {
			t.Fatalf("%s: %d bytes and %d values", g.name, len(raw), len(want))
		}
		got := make([]float32, len(want))
		f.Decode(got, raw)
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				failed++
				t.Errorf("%s: value %d is %v (%#08x), want %v (%#08x)", g.name, i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
				break
			}
		}
	}
	for _, f := range Formats() {
		if !seen[f.Type] && f.Type != F32 {
			t.Errorf("%s has no reference data", f.Name)
		}
	}
	t.Logf("formats: %d of %d decode to the reference's bits", len(seen)-failed, len(goldenTypes(t)))
}

// TestEncodeError holds our quantisers' errors against the peer's, which
// search for the best scale: ours may be a little worse, never much.
func TestEncodeError(t *testing.T) {
	in := floats(t, filepath.Join(golden.Dir(t), "quants", "blocks", "input.f32.bin"))
	for _, g := range goldenTypes(t) {
		f, ok := Lookup(Type(g.id))
		if !ok {
			continue
		}
		raw, out := make([]byte, g.total), make([]float32, len(in))
		f.Encode(raw, in)
		f.Decode(out, raw)
		var sum, norm float64
		for i := range in {
			sum += math.Pow(float64(out[i])-float64(in[i]), 2)
			norm += math.Pow(float64(in[i]), 2)
		}
		rms := math.Sqrt(sum / norm)
		t.Logf("%s: relative RMS error %.6f, the peer's %.6f", f.Name, rms, g.rms)
		if rms > 1.25*g.rms {
			t.Errorf("%s: relative RMS error %.6f, the peer's is %.6f", f.Name, rms, g.rms)
		}
	}
}

// TestSizesAgreeWithFileFormat: the reader finds a tensor's end by its own
// table; a row here that differs would decode other bytes.
func TestSizesAgreeWithFileFormat(t *testing.T) {
	for _, f := range Formats() {
		l, ok := gguf.LayoutOf(uint32(f.Type))
		if !ok || l.Name != f.Name || int(l.BlockElems) != f.BlockElems || int(l.BlockBytes) != f.BlockBytes {
			t.Errorf("the file format has %+v (found: %v), this table %s, %d values in %d bytes", l, ok, f.Name, f.BlockElems, f.BlockBytes)
		}
	}
	for _, g := range goldenTypes(t) {
		l, ok := gguf.LayoutOf(uint32(g.id))
		if !ok || l.Name != g.name || int(l.BlockElems) != g.elems || int(l.BlockBytes) != g.bytes {
			t.Errorf("the file format has %+v (found: %v), the reference %+v", l, ok, g)
		}
	}
}
