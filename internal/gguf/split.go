package gguf

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/paddock-go/paddock/internal/filemap"
)

// The keys of a split file's parts; the first part has those of the model too.
const (
	splitNoKey      = "split.no" // counted from 0
	splitCountKey   = "split.count"
	splitTensorsKey = "split.tensors.count" // of all parts
)

// maxParts bounds how many files one name can make Open map.
const maxParts = 1024

// ErrMixed says that a file is a part of another set.
var ErrMixed = errors.New("part of another set")

// SplitError is a fault of a file that is split into parts NAME-00001-of-0000N.gguf:
// it says which part and what of it.
type SplitError struct {
	Part string // the part's name, as far as it is known
	What string // what was wrong, with what was found and what was wanted
	Err  error  // ErrMissing (also fs.ErrNotExist is in it then), ErrInvalid, ErrDuplicate or ErrMixed
}

// Error says which, what and why.
func (e *SplitError) Error() string {
	return fmt.Sprintf("gguf: split file: %s: %s: %v", e.Part, e.What, e.Err)
}

// Unwrap returns the sentinel.
func (e *SplitError) Unwrap() error { return e.Err }

// partName matches the name of a part: its beginning, number and count.
var partName = regexp.MustCompile(`^(?s)(.*)-([0-9]{5})-of-([0-9]{5})\.gguf$`)

// openParts adds the other parts to the first, which was found under name, where
// it says that it is one of several. open opens a file by its name.
func (f *File) openParts(name string, open func(name string) (*File, error)) (err error) {
	said := partName.FindStringSubmatch(name)
	if !f.Has(splitCountKey) {
		if said != nil && said[3] != "00001" {
			return &SplitError{name, "the name says " + said[3] + " parts and there is no key " + splitCountKey, ErrInvalid}
		}
		return nil
	}
	first, err := f.splitOf(name)
	if err != nil {
		return err
	}
	if first.count == 1 {
		return first.enough(f, name)
	}
	switch {
	case first.no != 0:
		return &SplitError{name, fmt.Sprintf("is part %d of %d; open the first one, -00001-of-%05d.gguf", first.no+1, first.count, first.count), ErrInvalid}
	case first.count > maxParts:
		return &SplitError{name, fmt.Sprintf("%d parts, at most %d", first.count, maxParts), ErrInvalid}
	case said == nil:
		return &SplitError{name, fmt.Sprintf("is the first of %d parts and not named as such, so that the others can't be found: rename it to end in -00001-of-%05d.gguf", first.count, first.count), ErrInvalid}
	case said[2] != "00001" || said[3] != fmt.Sprintf("%05d", first.count):
		return &SplitError{name, fmt.Sprintf("holds part 1 of %d and its name says part %s of %s", first.count, said[2], said[3]), ErrInvalid}
	}
	for no := uint32(1); no < first.count; no++ {
		part := fmt.Sprintf("%s-%05d-of-%05d.gguf", said[1], no+1, first.count)
		p, err := open(part)
		if errors.Is(err, fs.ErrNotExist) {
			return &SplitError{part, "not there; all parts must lie in one folder", fmt.Errorf("%w: %w", ErrMissing, fs.ErrNotExist)}
		}
		if err != nil {
			return err
		}
		err = first.check(f, p, part, no)
		f.add(p) // closed with f from here on, also if it does not fit
		if err != nil {
			return err
		}
	}
	f.sortTensors()
	for i := 1; i < len(f.tensors); i++ {
		a, b := f.Tensors[f.tensors[i-1]], f.Tensors[f.tensors[i]]
		if a.Name == b.Name {
			return &SplitError{name, "tensor " + strconv.Quote(clip([]byte(a.Name))) + " comes in two parts", ErrDuplicate}
		}
	}
	return first.enough(f, name)
}

// split is what a part says of its set.
type split struct {
	no, count, tensors uint32
}

// splitOf reads the keys of a part named name.
func (f *File) splitOf(name string) (s split, err error) {
	for _, k := range []struct {
		key string
		to  *uint32
	}{{splitNoKey, &s.no}, {splitCountKey, &s.count}, {splitTensorsKey, &s.tensors}} {
		if *k.to, err = f.Uint32(k.key); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
	}
	if s.count == 0 || s.no >= s.count {
		return s, &SplitError{name, fmt.Sprintf("%s %d of %s %d", splitNoKey, s.no, splitCountKey, s.count), ErrInvalid}
	}
	return s, nil
}

// check holds part p, found as the no-th, against the first one.
func (s split) check(first, p *File, name string, no uint32) error {
	if !p.Has(splitCountKey) {
		return &SplitError{name, "has no key " + splitCountKey, ErrMixed}
	}
	got, err := p.splitOf(name)
	if err != nil {
		return err
	}
	if want := (split{no, s.count, s.tensors}); got != want {
		return &SplitError{name, fmt.Sprintf("is part %d of %d with %d tensors in all, the first part asks for %d of %d with %d",
			got.no+1, got.count, got.tensors, no+1, want.count, want.tensors), ErrMixed}
	}
	// Some writers repeat the model's keys in each part; then they must be the same.
	for _, key := range []string{"general.architecture", "general.name"} {
		if !p.Has(key) {
			continue
		}
		a, aerr := first.String(key)
		if b, err := p.String(key); aerr != nil || err != nil || a != b {
			return &SplitError{name, fmt.Sprintf("%s is %q, of the first part %q", key, clip([]byte(b)), clip([]byte(a))), ErrMixed}
		}
	}
	return nil
}

// enough checks that all parts together hold the tensors that were promised.
func (s split) enough(f *File, name string) error {
	if uint64(len(f.Tensors)) != uint64(s.tensors) {
		return &SplitError{name, fmt.Sprintf("its parts hold %d tensors, %s says %d", len(f.Tensors), splitTensorsKey, s.tensors), ErrInvalid}
	}
	return nil
}

// add appends the tensors and bytes of part p.
func (f *File) add(p *File) {
	for _, s := range p.segments {
		s.base += f.size
		f.segments = append(f.segments, s)
	}
	for _, t := range p.Tensors {
		t.Offset += f.size
		f.Tensors = append(f.Tensors, t)
	}
	f.size += p.size
}

// sortTensors lists the tensors by name.
func (f *File) sortTensors() {
	f.tensors = slices.Grow(f.tensors[:0], len(f.Tensors))
	for i := range f.Tensors {
		f.tensors = append(f.tensors, uint64(i))
	}
	slices.SortFunc(f.tensors, func(a, b uint64) int { return strings.Compare(f.Tensors[a].Name, f.Tensors[b].Name) })
}

// fromMap checks the file that m holds, which it closes if there is a fault.
func fromMap(m *filemap.Map, name string) (f *File, err error) {
	err = m.Read(faultOf("", m), func(data []byte) error {
		f, err = parse(data)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), m.Close())
	}
	f.segments[0].bytes = m
	return f, nil
}
