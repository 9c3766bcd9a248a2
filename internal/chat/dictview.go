package chat

type viewKind byte

const (
	viewKeys viewKind = iota
	viewValues
	viewItems
)

// dictView is what keys(), values() and items() of a dict return: iterable and
// with a length, but no list.
type dictView struct {
	m    *Map
	kind viewKind
}

func (v *dictView) pyType() string {
	return [...]string{"dict_keys", "dict_values", "dict_items"}[v.kind]
}

func (v *dictView) at(i int) Value {
	e := v.m.entries[i]
	switch v.kind {
	case viewKeys:
		return e.key
	case viewValues:
		return e.val
	}
	return &tuple{items: []Value{e.key, e.val}}
}

func (v *dictView) iter() iterator {
	i := 0
	return iterFunc(func(r *run) (Value, bool, error) {
		if i >= v.m.Len() {
			return nil, false, nil
		}
		i++
		return v.at(i - 1), true, r.step()
	})
}

func (v *dictView) list(r *run) ([]Value, error) { return r.drain(v.iter()) }
