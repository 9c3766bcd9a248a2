package synth

import (
	"bytes"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/quant"
)

// TestWrite makes every type in the small shapes, and holds what was written
// against the model's lowering.
func TestWrite(t *testing.T) {
	for _, name := range []string{"tiny-llama", "tiny-qwen2", "tiny-qwen3"} {
		for _, typ := range Types() {
			t.Run(name+":"+typ, func(t *testing.T) {
				var a, b bytes.Buffer
				if err := Write(&a, name, typ, 7); err != nil {
					t.Fatal(err)
				}
				if err := Write(&b, name, typ, 7); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(a.Bytes(), b.Bytes()) {
					t.Error("the same seed made other bytes")
				}
				f, err := gguf.Parse(a.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				m, err := model.Lower(f, model.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if "tiny-"+m.Spec.Arch != name || m.Spec.Vocab != 512 {
					t.Errorf("lowered to %+v", m.Spec)
				}
			})
		}
	}
}

// TestMix pins the formats that llama-quantize gives to the parts of a file.
func TestMix(t *testing.T) {
	for _, c := range []struct {
		shape, typ, tensor string
		want               quant.Type
	}{
		{"135m", "Q8_0", "token_embd.weight", quant.Q8_0},
		{"135m", "Q4_0", "token_embd.weight", quant.Q8_0}, // 576 is no multiple of 256
		{"0.6b", "Q4_0", "token_embd.weight", quant.Q6K},
		{"0.6b", "Q4_0", "blk.0.ffn_down.weight", quant.Q4_0},
		{"135m", "Q4_K_M", "token_embd.weight", quant.Q8_0},
		{"135m", "Q4_K_M", "blk.0.attn_q.weight", quant.Q5_0},
		{"135m", "Q4_K_M", "blk.0.ffn_down.weight", quant.Q6K}, // of 1536 columns
		{"135m", "Q5_K_M", "blk.0.attn_q.weight", quant.Q5_1},
		{"135m", "Q6_K", "blk.0.attn_q.weight", quant.Q8_0},
		{"135m", "Q6_K", "blk.0.ffn_down.weight", quant.Q6K},
		{"1.2b", "Q6_K", "token_embd.weight", quant.Q6K},
		{"8b", "Q4_K_M", "token_embd.weight", quant.Q4K},
		{"8b", "Q4_K_M", "output.weight", quant.Q6K},
		{"8b", "Q4_K_M", "blk.3.attn_v.weight", quant.Q6K}, // the first eighth
		{"8b", "Q4_K_M", "blk.4.attn_v.weight", quant.Q4K},
		{"8b", "Q4_K_M", "blk.6.ffn_down.weight", quant.Q6K}, // each third
		{"8b", "Q4_K_M", "blk.28.ffn_down.weight", quant.Q6K},
		{"8b", "Q4_K_M", "blk.28.ffn_up.weight", quant.Q4K},
		{"8b", "Q4_K_M", "blk.28.ffn_norm.weight", quant.F32},
		{"0.6b", "Q6_K", "blk.0.attn_q.weight", quant.Q6K},
		{"0.6b", "Q6_K", "token_embd.weight", quant.Q6K},
		{"1.2b", "BF16", "blk.0.attn_q.weight", quant.BF16},
	} {
		s, err := findShape(c.shape)
		if err != nil {
			t.Fatal(err)
		}
		m, err := findMix(c.typ)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		s.tensors(func(x tensor, layer int) {
			if x.name != c.tensor {
				return
			}
			found = true
			f, err := m.format(x, layer, s.layers)
			if err != nil || f.Type != c.want {
				t.Errorf("%s of %s:%s is %v (%v), want %v", c.tensor, c.shape, c.typ, f.Type, err, c.want)
			}
		})
		if !found {
			t.Errorf("%s has no %s", c.shape, c.tensor)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, c := range [][3]string{{"9b", "Q8_0", "no shape"}, {"8b", "Q3_X", "no type"}} {
		err := Write(&bytes.Buffer{}, c[0], c[1], 1)
		if err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s:%s: %v, want an error with %q", c[0], c[1], err, c[2])
		}
	}
}
