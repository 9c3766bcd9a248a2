// Package model turns the metadata of a model file into a program: one file per
// architecture, one row each in the table of this file. It knows no weight
// format's arithmetic and no device.
package model

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/prog"
)

// archs lists the architectures by the name that files give them.
var archs = []struct {
	name  string
	lower func(f file, arch string) (*Model, error)
}{
	{"cohere2", lowerCohere2},
	{"deepseek2", lowerDeepSeek2},
	{"gemma", lowerGemma},
	{"gemma2", lowerGemma2},
	{"gemma3", lowerGemma3},
	{"glm4", lowerGLM4},
	{"gpt2", lowerGPT2},
	{"granite", lowerGranite},
	{"gpt-oss", lowerGPTOSS},
	{"granitemoe", lowerGraniteMoE},
	{"llama", lowerLlama},
	{"mistral3", lowerMistral3},
	{"olmo2", lowerOLMo2},
	{"phi2", lowerPhi2},
	{"phi3", lowerPhi3},
	{"qwen2", lowerQwen2},
	{"qwen2moe", lowerQwen2MoE},
	{"qwen3", lowerQwen3},
	{"qwen3moe", lowerQwen3MoE},
	{"bert", lowerBert},
	{"nomic-bert", lowerNomicBert},
	{"modern-bert", lowerModernBert},
	{"gemma-embedding", lowerGemmaEmbedding},
	{"lfm2", lowerLFM2},
	{"smollm3", lowerSmolLM3},
	{"starcoder2", lowerStarCoder2},
}

// Model is a file's model, lowered: immutable and safe for concurrent use.
type Model struct {
	Spec    Spec
	Program *prog.Program
}

// Archs returns the names of the supported architectures. Safe for concurrent
// use.
func Archs() []string {
	names := make([]string, len(archs))
	for i, a := range archs {
		names[i] = a.name
	}
	return names
}

// Options say for what a file is lowered. The zero value is for what the file
// itself states.
type Options struct {
	// Context is the longest sequence in tokens that will be run; 0: the longest
	// that the file states. Models that rotate by other tables beyond the length of
	// their training choose by it, once.
	Context int
}

// Lower checks the metadata and tensor shapes of a file against its
// architecture and returns the program. Errors are *ArchError, *KeyError and
// *TensorError, or wrap what the file's reader found. Nothing larger than the
// file is allocated. Safe for concurrent use.
func Lower(f *gguf.File, o Options) (*Model, error) {
	name, err := f.String("general.architecture")
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	for _, a := range archs {
		if a.name == name {
			return a.lower(file{f, o.Context}, name)
		}
	}
	return nil, &ArchError{Arch: name, Known: Archs()}
}
