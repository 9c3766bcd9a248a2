package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/paddock-go/paddock/internal/filemap"
)

// The names of a model's files.
const (
	IndexName  = "model.safetensors.index.json"
	SingleName = "model.safetensors"
)

const maxFiles = 1024

// Set is the tensors of all files of a model. All methods but Close may be called
// from many goroutines.
type Set struct {
	files []*File
	of    map[string]*File // by tensor
}

// OpenSet opens the files that the index names or, where there is none, the single
// one. load opens a file by its name within the model's folder. Faults are *Error.
func OpenSet(load func(name string) (*filemap.Map, error)) (_ *Set, err error) {
	s := &Set{of: map[string]*File{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	index, err := load(IndexName)
	if errors.Is(err, fs.ErrNotExist) {
		f, err := s.open(SingleName, load)
		if err != nil {
			return s, err
		}
		for _, t := range f.Tensors {
			s.of[t.Name] = f
		}
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("safetensors: %w", err)
	}
	defer index.Close()
	var where map[string]string
	if err := index.Read(cut(index, ""), func(data []byte) (err error) {
		where, err = readIndex(data)
		return err
	}); err != nil {
		return s, named(err, IndexName)
	}
	return s, s.openAll(where, load)
}

// openAll opens the files that where names by tensor, in the order of their names.
func (s *Set) openAll(where map[string]string, load func(name string) (*filemap.Map, error)) error {
	files := map[string]*File{}
	names := make([]string, 0, len(where))
	for tensor, file := range where {
		files[file] = nil
		names = append(names, tensor)
	}
	slices.Sort(names)
	for _, tensor := range names {
		file := where[tensor]
		f := files[file]
		if f == nil {
			var err error
			if f, err = s.open(file, load); err != nil {
				return err
			}
			files[file] = f
		}
		if _, ok := f.Tensor(tensor); !ok {
			return &Error{file, clip(tensor), "the index says that it is here", ErrMissing}
		}
		s.of[tensor] = f
	}
	return nil
}

func (s *Set) open(name string, load func(name string) (*filemap.Map, error)) (*File, error) {
	if len(s.files) == maxFiles {
		return nil, &Error{name, "", fmt.Sprintf("more than %d files", maxFiles), ErrInvalid}
	}
	m, err := load(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{name, "", "the file is not there", fmt.Errorf("%w: %w", ErrMissing, fs.ErrNotExist)}
	}
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	f, err := New(m)
	if err != nil {
		return nil, named(err, name)
	}
	s.files = append(s.files, f)
	return f, nil
}

// named says of which file an error is.
func named(err error, file string) error {
	var e *Error
	if errors.As(err, &e) && e.File == "" {
		e.File = file
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// readIndex reads the map from tensors to files.
func readIndex(data []byte) (map[string]string, error) {
	if len(data) > maxHeader {
		return nil, fault(ErrInvalid, "", "%d bytes, at most %d", len(data), maxHeader)
	}
	data = bytes.TrimRight(bytes.Clone(data), " \t\r\n")
	if !utf8.Valid(data) {
		return nil, fault(ErrInvalid, "", "not UTF-8")
	}
	r := newReader(data)
	where := map[string]string{}
	found := false
	r.object("", func(key string) {
		switch key {
		case "metadata": // sizes that other programs print
			r.object(key, func(key string) { r.scalar(key) })
		case "weight_map":
			found = true
			r.object(key, func(tensor string) {
				file := r.text(tensor)
				if r.err == nil && !plain(file) {
					r.fail(fault(ErrInvalid, tensor, "the file %q is no plain name that ends in .safetensors", clip(file)))
				}
				where[tensor] = file
			})
		default:
			r.fail(fault(ErrInvalid, "", "the key %q is not known", clip(key)))
		}
	})
	r.end()
	if r.err == nil && !found {
		r.fail(fault(ErrMissing, "", "weight_map"))
	}
	return where, r.err
}

// scalar takes a value that is no object and no array.
func (r *reader) scalar(of string) {
	if _, nests := r.next(of).(json.Delim); nests {
		r.fail(fault(ErrInvalid, of, "header, byte %d: want a number or a string", r.d.InputOffset()))
	}
}

// plain tells whether a name can be no other folder's file.
func plain(name string) bool {
	return strings.HasSuffix(name, ".safetensors") && len(name) <= 255 && name[0] != '.' && !strings.ContainsAny(name, "/\\:") && !strings.ContainsFunc(name, unicode.IsControl)
}

// Names returns the names of all tensors, sorted.
func (s *Set) Names() []string {
	names := make([]string, 0, len(s.of))
	for name := range s.of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Tensor finds a tensor by its name.
func (s *Set) Tensor(name string) (Tensor, bool) {
	f := s.of[name]
	if f == nil {
		return Tensor{}, false
	}
	return f.Tensor(name)
}

// Read is File.Read of the tensor's file.
func (s *Set) Read(name string, fn func(t Tensor, data []byte) error) error {
	t, ok := s.Tensor(name)
	if !ok {
		return fault(ErrMissing, name, "no such tensor")
	}
	f := s.of[name]
	return f.Read(t, func(data []byte) error { return fn(t, data) })
}

// Drop lets go of a tensor's memory until it is read again.
func (s *Set) Drop(name string) {
	if t, ok := s.Tensor(name); ok {
		s.of[name].Drop(t)
	}
}

// Close closes all files.
func (s *Set) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
