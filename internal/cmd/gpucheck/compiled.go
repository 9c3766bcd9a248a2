package main

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

var entryPoint = regexp.MustCompile(`\.entry\s+(\w+)`)

// compiled says what the driver makes of the backend's kernels: how long that takes,
// and which keep values of a thread in memory for want of registers. Each module that
// the driver refuses is a failure, with the compiler's words, and the next one is tried.
func (k *checker) compiled() error {
	names, err := fs.Glob(k.serving, "*.ptx")
	if err != nil {
		return err
	}
	return k.bare(func(b *bare) error {
		for _, name := range names {
			if err := k.compileModule(b, name); err != nil {
				k.fail(strings.TrimSuffix(name, ".ptx"), k.why(err))
			}
		}
		return nil
	})
}

func (k *checker) compileModule(b *bare, name string) (err error) {
	text, err := fs.ReadFile(k.serving, name)
	if err != nil {
		return err
	}
	began := time.Now()
	m, _, err := b.driver.LoadModule(text)
	if err != nil {
		return err
	}
	took := time.Since(began)
	defer func() { err = errors.Join(err, b.driver.UnloadModule(m)) }()
	entries := entryPoint.FindAllSubmatch(text, -1)
	most, by := 0, ""
	var spilt []string
	for _, e := range entries {
		kernel := string(e[1])
		f, err := b.driver.Function(m, kernel)
		if err != nil {
			return fmt.Errorf("kernel %s: %w", kernel, err)
		}
		var registers, local int
		for attribute, to := range map[driver.FuncAttribute]*int{driver.FuncRegisters: &registers, driver.FuncLocal: &local} {
			if *to, err = b.driver.FuncAttribute(f, attribute); err != nil {
				return fmt.Errorf("kernel %s: %w", kernel, err)
			}
		}
		if registers > most {
			most, by = registers, kernel
		}
		if local > 0 {
			spilt = append(spilt, fmt.Sprintf("%s %d bytes beside %d registers", kernel, local, registers))
		}
	}
	module := strings.TrimSuffix(name, ".ptx")
	k.pass(module, fmt.Sprintf("%d kernels in %.2f s, at most %d registers (%s)", len(entries), took.Seconds(), most, by))
	if len(spilt) > 0 {
		k.warn(module+" spills", "a thread's values lie in memory, for want of registers: "+strings.Join(spilt, ", "))
	}
	return nil
}
