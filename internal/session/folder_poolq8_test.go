package session_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/hf"
	"github.com/paddock-go/paddock/internal/quant"
)

// quantised is the file as a folder that is opened as Q8_0 comes out: all matrices but
// small tables, routers, biases, and those whose rows are not whole blocks.
func quantised(t *testing.T, f *gguf.File) *gguf.File {
	t.Helper()
	made := 0
	g := ggufWith(t, f, func(name string, values []float32) (quant.Type, []byte) {
		x, _ := f.Tensor(name)
		if x.Dims[0]%32 != 0 || slices.ContainsFunc([]string{"position_embd", "token_types", "ffn_gate_inp", ".bias"}, func(s string) bool { return strings.Contains(name, s) }) {
			return encoded(quant.Type(x.Type))(name, values)
		}
		made++
		return encoded(quant.Q8_0)(name, values)
	})
	if made == 0 {
		t.Fatal("nothing became Q8_0")
	}
	return g
}

func openQ8(t *testing.T, dir string) *gguf.File {
	t.Helper()
	m, err := hf.Open(dir, hf.Options{Q8_0: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.File.Close() })
	return m.File
}

// TestFoldersQ8: folders of experts and of models that embed, opened as Q8_0, have the
// bits of the golden file whose matrices were quantised.
func TestFoldersQ8(t *testing.T) {
	for _, c := range expertFolders {
		if c.q8 {
			continue // the golden file has it
		}
		t.Run(c.name, func(t *testing.T) {
			f, _, tokens := openGolden(t, c.name)
			tensors, config := c.folder(newRefolder(t, f), c.class)
			sameBits(t, "as Q8_0", logitsOf(t, openQ8(t, writeFolder(t, tensors, config, 1)), tokens), logitsOf(t, quantised(t, f), tokens))
		})
	}
	for _, c := range encoderFolders {
		t.Run(c.name, func(t *testing.T) {
			f, _, tokens := openGolden(t, c.name)
			if c.exact != nil {
				f = c.exact(t, f)
			}
			r := newRefolder(t, f)
			tensors, config := c.make(r)
			dir := writeFolder(t, tensors, config, 1)
			writePooling(t, dir, r.count("pooling_type"))
			sameBits(t, "as Q8_0", pooledOf(t, openQ8(t, dir), tokens), pooledOf(t, quantised(t, f), tokens))
		})
	}
}
