package model

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/gguf"
)

// keys reads an architecture's metadata under bounds; the first fault sticks.
type keys struct {
	file file
	arch string
	err  error
}

func (k *keys) fail(key string, value any, bound string, err error) {
	if k.err == nil {
		k.err = &KeyError{Key: key, Value: value, Bound: bound, Err: err}
	}
}

// name is the full name of one of the architecture's keys.
func (k *keys) name(key string) string { return k.arch + "." + key }

func (k *keys) has(key string) bool { return k.file.Has(k.name(key)) }

// count reads an integer of at least low and at most high; a fault names both.
func (k *keys) count(key string, low, high int64) int {
	name := k.name(key)
	v, err := k.file.Uint32(name)
	if err != nil {
		if k.err == nil {
			k.err = fmt.Errorf("model: %w", err)
		}
		return 0
	}
	if int64(v) < low || int64(v) > high {
		k.fail(name, v, fmt.Sprintf("%d to %d", low, high), nil)
		return 0
	}
	return int(v)
}

// countOr is count with a value for files without the key.
func (k *keys) countOr(key string, absent int, low, high int64) int {
	if !k.has(key) {
		return absent
	}
	return k.count(key, low, high)
}

// same is count for a key that may have an entry a layer. Layers of different sizes
// are not supported.
func (k *keys) same(key string, layers int, low, high int64) int {
	name := k.name(key)
	if kind, _, _, ok := k.file.KindOf(name); !ok || kind != gguf.KindArray {
		return k.count(key, low, high)
	}
	list, err := k.file.Ints(name)
	switch {
	case err != nil && k.err == nil:
		k.err = fmt.Errorf("model: %w", err)
	case k.err != nil:
	case len(list) != layers:
		k.fail(name, fmt.Sprintf("an array of %d", len(list)), fmt.Sprintf("one number, or one for each of %d layers", layers), nil)
	}
	for l := 0; k.err == nil && l < layers; l++ {
		if v := list[l]; int64(v) < low || int64(v) > high {
			k.fail(fmt.Sprintf("%s[%d]", name, l), v, fmt.Sprintf("%d to %d", low, high), nil)
		} else if v != list[0] {
			k.fail(fmt.Sprintf("%s[%d]", name, l), v, fmt.Sprintf("%d, as in layer 0: layers of different sizes are not supported", list[0]), ErrUnsupported)
		}
	}
	if k.err != nil {
		return int(low)
	}
	return int(list[0])
}

// positive reads a finite float above zero.
func (k *keys) positive(key string) float32 {
	name := k.name(key)
	v, err := k.file.Float32(name)
	if err != nil {
		if k.err == nil {
			k.err = fmt.Errorf("model: %w", err)
		}
		return 1
	}
	if !(v > 0) || v > math.MaxFloat32 {
		k.fail(name, v, "a positive number", nil)
		return 1
	}
	return v
}

func (k *keys) positiveOr(key string, absent float32) float32 {
	if !k.has(key) {
		return absent
	}
	return k.positive(key)
}

// scaleOr is positiveOr for a factor that files leave at 0 where there is none.
func (k *keys) scaleOr(key string, absent float32) float32 {
	if v, err := k.file.Float32(k.name(key)); err == nil && v == 0 {
		return absent
	}
	return k.positiveOr(key, absent)
}

// numberOr reads a finite float, zero and below included.
func (k *keys) numberOr(key string, absent float32) float32 {
	name := k.name(key)
	v, err := k.file.Float32Or(name, absent)
	if err != nil {
		if k.err == nil {
			k.err = fmt.Errorf("model: %w", err)
		}
		return absent
	}
	if v-v != 0 {
		k.fail(name, v, "a finite number", nil)
		return absent
	}
	return v
}

// base reads the base of a rotation.
func (k *keys) base(key string, absent float32) float32 {
	v := k.positiveOr(key, absent)
	if k.err == nil && v <= 1 {
		k.fail(k.name(key), v, "above 1", nil)
	}
	return v
}

// flagOr reads a bool.
func (k *keys) flagOr(key string, absent bool) bool {
	v, err := k.file.BoolOr(k.name(key), absent)
	if err != nil && k.err == nil {
		k.err = fmt.Errorf("model: %w", err)
	}
	return v
}

// text reads a string, empty where the key is not there.
func (k *keys) text(name string) string {
	v, err := k.file.StringOr(name, "")
	if err != nil && k.err == nil {
		k.err = fmt.Errorf("model: %w", err)
	}
	return v
}

// refuse fails on a feature that would change results if it were left out.
func (k *keys) refuse(key, bound string) {
	if k.has(key) {
		if v, err := k.file.Uint32(k.name(key)); err != nil || v != 0 {
			k.fail(k.name(key), v, bound, ErrUnsupported)
		}
	}
}

// file adds to a GGUF file how a model sees tensors, rows of columns, and the
// context that it is opened for.
type file struct {
	*gguf.File
	context int // tokens
}

// shape returns outputs and inputs: all dimensions but the first multiplied,
// and the first. The reader has checked the product against the file's size.
func (f file) shape(name string) (rows, cols int64, ok bool) {
	t, ok := f.Tensor(name)
	if !ok {
		return 0, 0, false
	}
	rows, cols = shapeOf(t)
	return rows, cols, true
}

func shapeOf(t gguf.TensorInfo) (rows, cols int64) {
	n := int64(1)
	for _, d := range t.Dims[1:] {
		n *= int64(d)
	}
	return n, int64(t.Dims[0])
}
