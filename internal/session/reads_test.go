package session

import (
	"bytes"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/model/synth"
)

// TestStepBytes adds up by hand what a step of small shapes reads: Q8_0 has 34 bytes
// for 32 values.
func TestStepBytes(t *testing.T) {
	const q8 = 34.0 / 32
	attention := 256*(256+2*128) + 256*256
	dense := 3 * (attention + 3*256*512)
	head := 512 * 256
	kv := 4 * 3 * 2 * (64 + 64) // bytes of a token
	for _, c := range []struct {
		shape         string
		seqs, context int
		want          float64
	}{
		{"tiny-llama", 1, 0, q8 * float64(dense+head)}, // the embedding is looked up in
		{"tiny-llama", 1, 100, q8*float64(dense+head) + float64(100*kv)},
		{"tiny-llama", 4, 100, q8*float64(dense+head) + float64(400*kv)},
		{"tiny-qwen3", 1, 0, q8 * float64(dense+head)}, // the embedding is the output too
	} {
		s := readsOf(t, c.shape)
		if got := s.step(c.seqs, c.context); got != int64(c.want) {
			t.Errorf("%s: %d sequences of %d tokens read %d bytes, want %v", c.shape, c.seqs, c.context, got, c.want)
		}
	}
}

// TestStepBytesExperts asks for a part of the experts for one row, and for all of
// them, once, for many; and for no more of a window's keys than it shows.
func TestStepBytesExperts(t *testing.T) {
	s := readsOf(t, "qwen3moe")
	one, all, many := s.step(1, 0), s.step(6, 0), s.step(60, 0)
	experts := int64(8*24*3*256*512) / 32 * 34
	if all-one != experts*20/24 || many != all {
		t.Errorf("1, 6 and 60 rows with 4 of 24 experts each read %d, %d and %d bytes; all experts have %d", one, all, many, experts)
	}
	s = readsOf(t, "gptoss")
	perToken := s.step(1, 1) - s.step(1, 0)
	if got, want := s.step(1, 1000)-s.step(1, 0), perToken/2*(1000+128); got != want {
		t.Errorf("with a window of 128 in half of the layers, 1000 tokens are %d bytes, want %d", got, want)
	}
}

func readsOf(t *testing.T, shape string) *reads {
	t.Helper()
	var b bytes.Buffer
	if err := synth.Write(&b, shape, "Q8_0", 1); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Lower(f, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return newReads(f, m.Program, backend.KVF32)
}
