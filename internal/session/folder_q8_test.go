package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/hf"
	"github.com/paddock-go/paddock/internal/quant"
)

// TestFoldersDenseQ8: a folder opened as Q8_0 is the golden file whose matrices were
// quantised, all but small tables and those whose rows are not whole blocks.
func TestFoldersDenseQ8(t *testing.T) {
	done := map[string]bool{}
	for _, c := range denseFolders {
		if done[c.name] {
			continue
		}
		done[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			f, _, tokens := openGolden(t, c.name)
			r := newRefolder(t, f)
			config := c.folder(r)
			m, err := hf.Open(writeFolder(t, r.done(), config, 1), hf.Options{Q8_0: true})
			if err != nil {
				t.Fatal(err)
			}
			defer m.File.Close()
			made := 0
			want := ggufWith(t, f, func(name string, values []float32) (quant.Type, []byte) {
				x, _ := f.Tensor(name)
				if x.Dims[0]%32 != 0 || strings.Contains(name, "position_embd") {
					return encoded(quant.Type(x.Type))(name, values)
				}
				made++
				return encoded(quant.Q8_0)(name, values)
			})
			if made == 0 {
				t.Fatal("nothing became Q8_0")
			}
			tokens = tokens[:33]
			sameBits(t, fmt.Sprint(made, " matrices of Q8_0"), logitsOf(t, m.File, tokens), logitsOf(t, want, tokens))
		})
	}
}
