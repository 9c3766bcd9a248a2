// Package hf reads a model's folder as the transformers library writes it:
// config.json, safetensors, tokenizer.json and the small files beside them. What it
// hands on is a GGUF file that lies in no file: the same keys and tensors under the
// same names, so that architectures are written once.
//
//	config.json ──────────────► keys ┐
//	*.safetensors ─► names, rows ────┼─► gguf.File ─► model.Lower
//	                 (and Q8_0)      ┘
//	modules.json, 1_Pooling, 2_Dense … ─► pooling_type, dense_2, dense_3
//	tokenizer.json, tokenizer_config.json, generation_config.json ─► tokenizer.Vocab
//	chat_template.jinja, or tokenizer_config.json's ───────────────► the template
package hf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/paddock-go/paddock/internal/filemap"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/safetensors"
	"github.com/paddock-go/paddock/internal/tokenizer"
)

// ErrUnsupported says that a part of a folder is known and not supported here.
var ErrUnsupported = errors.New("not supported")

// Error is what a folder is refused for, beside faults of its safetensors, its
// tokenizer and its tensors' shapes.
type Error struct {
	File string // its name in the folder
	Key  string // the key or tensor, at most 64 bytes of it; "" if it is not one's
	What string // what was found and what was allowed
	Err  error  // what it wraps: ErrUnsupported, of the file system, or nil
}

// Error says which, what and why.
func (e *Error) Error() string {
	s := "hf: " + e.File + ": "
	if e.Key != "" {
		s += e.Key + ": "
	}
	s += e.What
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns what it wraps.
func (e *Error) Unwrap() error { return e.Err }

// Options say how weights are loaded.
type Options struct {
	Q8_0 bool // matrices are quantised but for MXFP4; else they are kept, FP8 as F32
}

// Model is an open folder. Its File reads tensors from the folder until it is closed.
type Model struct {
	File     *gguf.File
	Text     bool            // there is a tokenizer.json
	Vocab    tokenizer.Vocab // only with Text
	Template string          // of chats; "": none
	Notes    []string        // what of the folder is left out or cut, a sentence each
}

// loader opens a file of the folder by its name.
type loader func(name string) (*filemap.Map, error)

// Open reads the folder at path. Errors are *Error, *safetensors.Error, or the
// tokenizer's. Safe for concurrent use.
func Open(folder string, o Options) (*Model, error) {
	return open(func(name string) (*filemap.Map, error) { return filemap.Open(filepath.Join(folder, name)) }, filepath.Base(folder), o)
}

// OpenFS is Open with a folder of fsys, whose files are read into memory.
func OpenFS(fsys fs.FS, folder string, o Options) (*Model, error) {
	return open(func(name string) (*filemap.Map, error) { return filemap.OpenFS(fsys, path.Join(folder, name)) }, path.Base(folder), o)
}

func open(load loader, name string, o Options) (*Model, error) {
	c, err := readConfig(load)
	if err != nil {
		return nil, err
	}
	m := &Model{}
	if err := m.readText(load, c); err != nil {
		return nil, err
	}
	var sets []*safetensors.Set
	for _, folder := range append([]string{""}, c.modules.products()...) {
		var set *safetensors.Set
		if set, err = safetensors.OpenSet(func(name string) (*filemap.Map, error) { return load(path.Join(folder, name)) }); err != nil {
			break
		}
		sets = append(sets, set)
	}
	if err == nil {
		m.File, err = assemble(sets, c, name, o)
	}
	if err != nil {
		for _, s := range sets {
			err = errors.Join(err, s.Close())
		}
		return nil, err
	}
	m.Notes = c.notes
	return m, nil
}

// assemble makes the file whose tensors the sets hold.
func assemble(sets []*safetensors.Set, c *config, name string, o Options) (*gguf.File, error) {
	h, err := c.header()
	if err != nil {
		return nil, err
	}
	w, err := plan(sets, c, h, o)
	if err != nil {
		return nil, err
	}
	kvs := append(h.kvs, ggufwrite.KV{Key: "general.name", Value: name})
	var head bytes.Buffer
	total, err := ggufwrite.Header(&head, kvs, w.list())
	if err != nil {
		return nil, fmt.Errorf("hf: %w", err)
	}
	return gguf.Assemble(head.Bytes(), total, w)
}

// Bounds of the files that are no weights, in bytes. The largest tokenizer.json has 35
// MB, the largest of the others not 2.
const (
	maxTokenizer = 256 << 20
	maxSmall     = 16 << 20
)

const tokenizerName = "tokenizer.json"

// read returns a copy of a file; nil and no error where it is not there.
func read(load loader, name string) (data []byte, err error) {
	m, err := load(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{File: name, What: "can't be opened", Err: err}
	}
	defer m.Close()
	most := uint64(maxSmall)
	if name == tokenizerName {
		most = maxTokenizer
	}
	if m.Size() > most {
		return nil, &Error{File: name, What: fmt.Sprintf("%d bytes, at most %d", m.Size(), most)}
	}
	err = m.Read(func(off uint64) error {
		return &Error{File: name, What: fmt.Sprintf("byte %d of %d can't be read any more", off, m.Size())}
	}, func(b []byte) error {
		data = append([]byte{}, b...)
		return nil
	})
	return data, err
}
