// Command faults shows that the tests which hold paddock's numbers right can
// fail: it puts one known fault at a time into the code, by the go command's
// overlay and never into a file of the checkout, and demands that the code still
// compiles and that the test which names the fault turns red.
//
//	go run ./internal/faults                 every fault
//	go run ./internal/faults -run VLLM31503  those whose name matches
//
// It exits with 1 if a fault goes unnoticed. The table is in mutants*.go; an
// ordinary test holds it against the code, so that no entry rots between runs.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"sync"
	"time"
)

func main() {
	only := flag.String("run", "", "put in only the faults whose name matches this regular expression")
	jobs := flag.Int("j", runtime.NumCPU(), "faults at a time")
	verbose := flag.Bool("v", false, "print what the red tests print")
	flag.Parse()
	if err := run(*only, *jobs, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(only string, jobs int, verbose bool) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	var picked []mutant
	for _, m := range mutants() {
		if match.MatchString(m.name) {
			picked = append(picked, m)
		}
	}
	if len(picked) == 0 {
		return fmt.Errorf("no fault's name matches %q", only)
	}

	verdicts, start := make([]verdict, len(picked)), time.Now()
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(1, jobs) {
		wg.Go(func() {
			for i := range next {
				verdicts[i] = put(root, picked[i])
			}
		})
	}
	for i := range picked {
		next <- i
	}
	close(next)
	wg.Wait()

	unnoticed := 0
	for i, m := range picked {
		v := verdicts[i]
		fmt.Printf("%-34s %-15s %-62s %v\n", m.name, m.pkg, m.test, v)
		if v.err != nil {
			unnoticed++
		}
		if v.err != nil || verbose {
			fmt.Printf("    %s: %s\n%s\n", m.file, m.what, indent(v.output))
		}
	}
	fmt.Printf("%d faults put in, %d shown red, in %d s\n", len(picked), len(picked)-unnoticed, int(time.Since(start).Seconds()))
	if unnoticed > 0 {
		return fmt.Errorf("%d of %d faults were not shown", unnoticed, len(picked))
	}
	return nil
}
