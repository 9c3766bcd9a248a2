// Command _compile compiles every .cu of this folder to PTX.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	sources, err := filepath.Glob("*.cu")
	if err != nil {
		fail(err)
	}
	for _, src := range sources {
		cmd := exec.Command("clang-16", "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "--cuda-feature=+ptx70",
			"-nocudainc", "-nocudalib", "-std=c++17", "-O3", "-Wall", "-Wextra", "-Werror", "-S", "-o", "-", src)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			fail(fmt.Errorf("%s: %w", src, err))
		}
		// A function of the outside, expf say, would be missing on every machine.
		if bytes.Contains(out, []byte(".extern .func")) {
			fail(fmt.Errorf("%s: its PTX asks for functions of the outside: %s", src, externs(out)))
		}
		name := strings.TrimSuffix(src, ".cu") + ".ptx"
		if err := os.WriteFile(name, out, 0o644); err != nil {
			fail(err)
		}
	}
}

func externs(ptx []byte) string {
	var names []string
	for _, line := range strings.Split(string(ptx), "\n") {
		if strings.Contains(line, ".extern .func") {
			names = append(names, strings.TrimSpace(line))
		}
	}
	return strings.Join(names, "; ")
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "ptx:", err)
	os.Exit(1)
}
