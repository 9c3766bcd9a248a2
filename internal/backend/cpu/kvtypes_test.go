package cpu_test

import (
	"testing"

	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/backend/ref"
)

// kvModels are golden models that keep what others don't: grouped heads, one head of
// keys for all, windows, latents whose values are in the keys, sinks, and states.
var kvModels = []string{"qwen3", "llama_mqa_headdim", "gemma3", "deepseek2", "gptoss", "lfm2"}

func TestKVTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes without the kernels, and with the race detector")
	}
	backendtest.RunKVTypes(t, ref.New(ref.Options{}), cpu.New(cpu.Options{Threads: 2}), cpu.Poison, kvModels...)
}

func TestKVDistance(t *testing.T) { backendtest.RunKVDistance(t, cpu.New(cpu.Options{})) }
