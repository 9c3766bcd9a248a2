package toolcall

import "encoding/json"

// Offer is what a request offers to call. Nil offers nothing. Immutable.
type Offer struct {
	tools map[string]map[string]bool // by name: parameters, and whether they are strings
}

// NewOffer reads the tools of a request, a JSON array; what is not shaped as the
// official API has it counts as a tool of no known parameters, or not at all.
func NewOffer(tools json.RawMessage) *Offer {
	var list []struct {
		Function struct {
			Name       string `json:"name"`
			Parameters struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"parameters"`
		} `json:"function"`
	}
	o := &Offer{tools: map[string]map[string]bool{}}
	_ = json.Unmarshal(tools, &list) // goes on behind what has another shape
	for _, t := range list {
		strings := map[string]bool{}
		for name, schema := range t.Function.Parameters.Properties {
			strings[name] = isString(schema)
		}
		o.tools[t.Function.Name] = strings
	}
	return o
}

// isString tells whether a schema allows strings alone, or says nothing of types.
func isString(schema json.RawMessage) bool {
	var s struct {
		Type  json.RawMessage   `json:"type"`
		Enum  []json.RawMessage `json:"enum"`
		AnyOf json.RawMessage   `json:"anyOf"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	if len(s.Type) == 0 && s.AnyOf == nil {
		for _, v := range s.Enum {
			if v[0] == '"' {
				return true
			}
		}
		return false
	}
	return string(s.Type) == `"string"`
}

func (o *Offer) has(name string) bool {
	if o == nil {
		return false
	}
	_, ok := o.tools[name]
	return ok
}

func (o *Offer) types(name string) map[string]bool {
	if o == nil {
		return nil
	}
	return o.tools[name]
}
