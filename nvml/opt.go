package nvml

import "encoding/json"

// Opt is a value that may be absent. As JSON it is the value or null.
type Opt[T any] struct {
	V  T
	OK bool // false: absent, and V is zero
}

func some[T any](v T) Opt[T] { return Opt[T]{v, true} }

// Get is the value and whether there is one.
func (o Opt[T]) Get() (T, bool) { return o.V, o.OK }

// MarshalJSON writes the value, or null.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.OK {
		return []byte("null"), nil
	}
	return json.Marshal(o.V)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	*o = Opt[T]{}
	if string(b) == "null" {
		return nil
	}
	o.OK = true
	return json.Unmarshal(b, &o.V)
}
