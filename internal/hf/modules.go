package hf

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// modules is what the sentence-transformers library writes beside a model: how a
// sequence's rows become one, and what comes behind.
//
//	modules.json ─► Transformer ─► Pooling ─► Dense, Dense ─► Normalize
//	                the model      1_Pooling  2_Dense  …
type modules struct {
	pooling uint32   // as GGUF files number it
	dense   []string // the folders of products, in order
}

const modulesName = "modules.json"

// The kinds of pooling by their names in older and in newer files.
var poolings = map[string]uint32{"mean_tokens": 1, "cls_token": 2, "lasttoken": 3, "mean": 1, "cls": 2}

const poolRank = 4 // a reranker's, which no file says

// maxDense is the number of products that may follow.
const maxDense = 2

var folderName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// readModules reads a folder's modules.json and the files of its modules; nil: there is
// none.
func readModules(load loader) (*modules, error) {
	var list []struct{ Path, Type string }
	if found, err := readJSON(load, modulesName, &list); !found || err != nil {
		return nil, err
	}
	m := &modules{}
	fail := func(i int, what string, err error) (*modules, error) {
		return nil, &Error{File: modulesName, Key: fmt.Sprintf("[%d]", i), What: what, Err: err}
	}
	last := ""
	for i, x := range list {
		kind := x.Type[strings.LastIndexByte(x.Type, '.')+1:]
		if i > 0 && kind != "Normalize" && !folderName.MatchString(x.Path) {
			return fail(i, fmt.Sprintf("the path %q is no plain name of a folder", clip(x.Path)), nil)
		}
		var err error
		switch order := last + " " + kind; order {
		case " Transformer":
			if x.Path != "" {
				return fail(i, fmt.Sprintf("the model is in %q, must be in the folder itself", clip(x.Path)), ErrUnsupported)
			}
		case "Transformer Pooling":
			m.pooling, err = readPooling(load, x.Path+"/"+configName)
		case "Pooling Dense", "Dense Dense":
			if len(m.dense) == maxDense {
				return fail(i, fmt.Sprintf("more than %d of type Dense", maxDense), ErrUnsupported)
			}
			m.dense = append(m.dense, x.Path)
			err = readDense(load, x.Path+"/"+configName)
		case "Pooling Normalize", "Dense Normalize": // the caller's wish
		default:
			return fail(i, fmt.Sprintf("type %q behind %q; Transformer, Pooling, Dense and Normalize are known, in this order", clip(kind), last), ErrUnsupported)
		}
		if err != nil {
			return nil, err
		}
		last = kind
	}
	if m.pooling == 0 {
		return nil, &Error{File: modulesName, What: "has no module of type Pooling"}
	}
	return m, nil
}

// readPooling reads the kind of pooling: one of several flags, or one word.
func readPooling(load loader, file string) (uint32, error) {
	var said map[string]json.RawMessage
	if found, err := readJSON(load, file, &said); err != nil {
		return 0, err
	} else if !found {
		return 0, &Error{File: file, What: "not there, and " + modulesName + " names it"}
	}
	var kinds []string
	for key, v := range said {
		kind, ok := strings.CutPrefix(key, "pooling_mode_")
		if on := false; ok && json.Unmarshal(v, &on) == nil && on {
			kinds = append(kinds, kind)
		}
	}
	var word string
	if v, ok := said["pooling_mode"]; ok {
		if json.Unmarshal(v, &word) != nil {
			return 0, &Error{File: file, Key: "pooling_mode", What: "is " + clip(string(v)) + ", one word"}
		}
		kinds = append(kinds, word)
	}
	if len(kinds) != 1 {
		return 0, &Error{File: file, Key: "pooling_mode", What: fmt.Sprintf("%d kinds of pooling, must be one", len(kinds)), Err: ErrUnsupported}
	}
	n, ok := poolings[kinds[0]]
	if !ok {
		return 0, &Error{File: file, Key: "pooling_mode", What: fmt.Sprintf("is %q; mean, cls and lasttoken are known", clip(kinds[0])), Err: ErrUnsupported}
	}
	return n, nil
}

// readDense refuses products with something behind them.
func readDense(load loader, file string) error {
	var said struct {
		Act *string `json:"activation_function"`
	}
	found, err := readJSON(load, file, &said)
	switch {
	case err != nil:
		return err
	case !found:
		return &Error{File: file, What: "not there, and " + modulesName + " names it"}
	case said.Act == nil:
		return &Error{File: file, Key: "activation_function", What: "not there; the library takes tanh then", Err: ErrUnsupported}
	case !strings.HasSuffix(*said.Act, ".Identity"):
		return &Error{File: file, Key: "activation_function", What: fmt.Sprintf("is %q; Identity is known", clip(*said.Act)), Err: ErrUnsupported}
	}
	return nil
}

// readJSON reads one of the small files; false: it is not there.
func readJSON(load loader, file string, v any) (bool, error) {
	data, err := read(load, file)
	if err != nil || data == nil {
		return false, err
	}
	if err := unJSON(data, v); err != nil {
		return false, &Error{File: file, What: "can't be read", Err: err}
	}
	return true, nil
}

// products are the folders of what follows the pooling.
func (m *modules) products() []string {
	if m == nil {
		return nil
	}
	return m.dense
}

// pool says how a sequence's rows become one, of models that embed.
func (c *config) pool(h *header) {
	if !h.has("attention.causal") { // a decoder; some were made to see both ways, and keep their class
		c.hold(must{"is_causal", []string{"true"}})
		c.hold(must{"use_bidirectional_attention", []string{"false"}})
	}
	switch {
	case c.family.ranks:
		c.pooled = poolRank
	case c.modules != nil:
		c.pooled = c.modules.pooling
	case c.family.embeds:
		if c.err == nil {
			c.err = &Error{File: modulesName, What: "not there; it says how the rows of " + c.family.class + " are pooled", Err: fs.ErrNotExist}
		}
		return
	default:
		return
	}
	h.set("pooling_type", c.pooled)
}
