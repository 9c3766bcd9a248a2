package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/session"
)

// reference is a prompt and what another engine's logits after it are.
type reference struct {
	Tokens []int32
	Logits []float64
}

// goldens holds the card and the CPU against the references of every golden model
// below the folder: the card may be a little further off, since it sums in another
// order, but not more.
func (k *checker) goldens(d backend.Device) {
	host := cpu.New(cpu.Options{})
	defer host.Close()
	found := 0
	err := filepath.WalkDir(k.c.golden, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".gguf" {
			return err
		}
		text, err := os.ReadFile(strings.TrimSuffix(path, ".gguf") + ".json")
		if err != nil {
			return nil // a file of another kind of test
		}
		var file struct{ Prompts []reference }
		if err := json.Unmarshal(text, &file); err != nil || len(file.Prompts) == 0 || len(file.Prompts[0].Logits) == 0 {
			return nil
		}
		found++
		k.golden(path, file.Prompts, host, d)
		return nil
	})
	if err != nil {
		k.fail("golden models", err.Error())
	} else if found == 0 {
		k.fail("golden models", "there are none in "+k.c.golden)
	}
}

// golden compares one file.
func (k *checker) golden(path string, refs []reference, host, d backend.Device) {
	name := "golden " + filepath.Base(path)
	var off [2]float64
	for i, dev := range []backend.Device{host, d} {
		var err error
		if off[i], err = distance(path, refs, dev); err != nil {
			if refusal(err) {
				k.skip(name, err.Error())
			} else {
				k.fail(name, k.why(err))
			}
			return
		}
	}
	text := fmt.Sprintf("off by at most %.2g of the largest logit, the CPU by %.2g", off[1], off[0])
	if off[1] > 1.5*off[0]+1e-3 {
		k.fail(name, text)
		return
	}
	k.pass(name, text)
}

// distance is how far a device is from the references at most, as a share of the
// largest logit.
func distance(path string, refs []reference, d backend.Device) (worst float64, err error) {
	longest := 1
	for _, r := range refs {
		longest = max(longest, len(r.Tokens))
	}
	s, err := session.Open(path, d, session.Limits{Seqs: 1, Context: longest, Rows: longest, Logits: 1}, nil)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	for _, r := range refs {
		out, err := s.Step(session.Span{Tokens: r.Tokens})
		if err != nil {
			return 0, err
		}
		if len(out) != len(r.Logits) {
			return 0, fmt.Errorf("%d logits, the reference has %d", len(out), len(r.Logits))
		}
		size, off := 0.0, 0.0
		for i, want := range r.Logits {
			size, off = max(size, math.Abs(want)), max(off, math.Abs(float64(out[i])-want))
		}
		worst = max(worst, off/size)
	}
	return worst, nil
}
