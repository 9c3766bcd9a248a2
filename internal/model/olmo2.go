package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerOLMo2 lowers OLMo 2 and OLMo 3: norms after each half and over all heads of
// queries and of keys. OLMo 3 has windows in three layers of four, which rotate
// unstretched.
func lowerOLMo2(f file, arch string) (*Model, error) {
	return decoder{order: prog.Halves, norms: after, qkNorm: allHeads, read: readOLMo2}.lower(f, arch)
}

func readOLMo2(k *keys, t *traits) {
	t.readWindow(k, t.Layers, 0, 4, false)
	t.local = t.rope.plain()
	t.local.attnFactor = 1
}
