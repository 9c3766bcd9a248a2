package engine

import (
	"io/fs"
	"path"
	"strings"
)

// refuseFS refuses a model of a file system, whose files are read into memory, if
// they alone do not fit. A file that is not there is left to its reader.
func refuseFS(fsys fs.FS, name string, o *Options) error {
	available, known := o.memory()
	if !known {
		return nil
	}
	if n := fsBytes(fsys, name); n > available {
		return &MemoryError{Weights: n, Available: available, file: true}
	}
	return nil
}

// fsBytes is the size of a model's files: of a folder its safetensors, of a split file
// all parts.
func fsBytes(fsys fs.FS, name string) (n int64) {
	st, err := fs.Stat(fsys, name)
	if err != nil {
		return 0
	}
	folder, own := path.Split(name)
	stem := strings.TrimSuffix(own, ".gguf")
	var member func(file string) bool
	switch {
	case st.IsDir():
		folder, member = name, func(file string) bool { return strings.HasSuffix(file, ".safetensors") }
	case partEnding.MatchString(stem):
		set := partEnding.ReplaceAllString(stem, "")
		member = func(file string) bool {
			file = strings.TrimSuffix(file, ".gguf")
			return partEnding.MatchString(file) && partEnding.ReplaceAllString(file, "") == set
		}
	default:
		return st.Size()
	}
	entries, err := fs.ReadDir(fsys, path.Clean(folder))
	if err != nil {
		return st.Size()
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && member(e.Name()) {
			n += info.Size()
		}
	}
	return n
}
