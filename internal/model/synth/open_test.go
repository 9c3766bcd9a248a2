package synth

import (
	"bytes"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
)

// TestOpen: a model of no file has the keys and tensors of the written one, with as many
// bytes, and is lowered alike.
func TestOpen(t *testing.T) {
	for _, typ := range []string{"Q8_0", "Q4_K_M", "F32"} {
		var b bytes.Buffer
		if err := Write(&b, "tiny-llama", typ, 1); err != nil {
			t.Fatal(err)
		}
		want, err := gguf.Parse(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		got, err := Open("tiny-llama", typ, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got.Size() != want.Size() || len(got.Tensors) != len(want.Tensors) || len(got.Keys()) != len(want.Keys()) {
			t.Fatalf("%s: %d bytes, %d tensors, %d keys", typ, got.Size(), len(got.Tensors), len(got.Keys()))
		}
		for i, x := range want.Tensors {
			if y := got.Tensors[i]; y.Name != x.Name || y.Type != x.Type || y.Offset != x.Offset || y.Size != x.Size {
				t.Errorf("%s: %+v, want %+v", typ, y, x)
			}
			data, err := got.Data(x)
			if err != nil || uint64(len(data)) != x.Size || bytes.Count(data, []byte{0}) == len(data) {
				t.Errorf("%s: %s has %d bytes of something, want %d: %v", typ, x.Name, len(data), x.Size, err)
			}
		}
		if _, err := model.Lower(got, model.Options{}); err != nil {
			t.Error(err)
		}
		if err := got.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Open("none", "Q8_0", 1); err == nil {
		t.Error("a shape that is not there was opened")
	}
	if _, err := Open("tiny-llama", "none", 1); err == nil {
		t.Error("a type that is not there was opened")
	}
}
