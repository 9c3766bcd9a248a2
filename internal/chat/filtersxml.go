package chat

import "strings"

// doXMLAttr writes a dict as attributes of a tag.
func doXMLAttr(r *run, v Value, a args) (Value, error) {
	m, ok := v.(*Map)
	if !ok {
		if err := firstUndefined(v); err != nil {
			return nil, err
		}
		return nil, failf("'%s' object has no attribute 'items'", v.pyType())
	}
	var b strings.Builder
	for _, e := range m.entries {
		if err := r.step(); err != nil {
			return nil, err
		}
		if isUndefined(e.val) || e.val == None {
			continue
		}
		key, ok := strOf(e.key)
		if !ok {
			return nil, failf("expected string or bytes-like object, got '%s'", e.key.pyType())
		}
		if err := r.scanText(key); err != nil {
			return nil, err
		}
		if strings.ContainsAny(key, "/>=") || strings.IndexFunc(key, isSpace) >= 0 {
			return nil, failf("Invalid character in attribute name: %s", quoted(key))
		}
		var parts [2]string
		for i, x := range []Value{e.key, e.val} {
			s, err := doEscape(r, x, args{})
			if err != nil {
				return nil, err
			}
			parts[i], _ = strOf(s)
		}
		if err := r.built(len(parts[0]) + len(parts[1]) + 4); err != nil {
			return nil, err
		}
		if b.Len() > 0 || truth(a.v[0]) {
			b.WriteByte(' ')
		}
		b.WriteString(parts[0] + `="` + parts[1] + `"`)
	}
	return text(b.String()), nil
}
