// Package ptx holds the kernels: CUDA C++ beside the PTX that clang makes of it, with
// nothing of a toolkit (Debian's clang-16 is what .ci/run installs). The driver compiles the PTX for the card
// that is there.
//
// Each .cu becomes one .ptx, which is one module. A kernel is extern "C", takes
// pointers and counts, and reads what changes from step to step from Step
// (paddock.cuh).
package ptx

import (
	"embed"
	"io/fs"
)

//go:generate go run ./_compile

// Files are the modules, NAME.ptx.
//
//go:embed *.ptx
var Files embed.FS

// Read is the text of each module of a folder, Files or one like it, by its file's name.
func Read(files fs.FS) (map[string][]byte, error) {
	names, err := fs.Glob(files, "*.ptx")
	if err != nil {
		return nil, err
	}
	texts := make(map[string][]byte, len(names))
	for _, name := range names {
		if texts[name], err = fs.ReadFile(files, name); err != nil {
			return nil, err
		}
	}
	return texts, nil
}
