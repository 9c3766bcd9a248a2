package cuda_test

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptx"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// batch is a step of one sequence of n tokens from a position on, on the first pages.
func batch(l backend.Limits, from, n int) *prog.Batch {
	b := &prog.Batch{SeqStart: []int32{0, int32(n)}, CtxLen: []int32{int32(from + n)}, Logits: []int32{int32(n - 1)}}
	for b.Stride = 0; b.Stride*l.PageSize < l.Context; b.Stride++ {
		b.Tables = append(b.Tables, int32(b.Stride))
	}
	for i := range n {
		b.Tokens, b.Pos, b.Slots = append(b.Tokens, int32(i)), append(b.Pos, int32(from+i)), append(b.Slots, int32(from+i))
	}
	return b
}

// session opens, loads, runs some steps and closes, whatever fails. It returns the
// error of the first that failed, and what closing said.
type session struct {
	fake    *fakedriver.Driver
	modules fs.FS
	closers []func() error
	runner  backend.Runner
}

func (s *session) use(m *backendtest.Random, l backend.Limits) error {
	d, err := driver.New(s.fake.Library())
	if err != nil {
		return err
	}
	s.closers = append(s.closers, d.Close)
	dev, err := cuda.Open(cuda.Options{Driver: d, Modules: s.modules})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, dev.Close)
	loaded, err := dev.Load(m.Prog, m, nil)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, loaded.Close)
	if s.runner, err = loaded.NewRunner(l); err != nil {
		return err
	}
	s.closers = append(s.closers, s.runner.Close)
	logits := make([]float32, m.Prog.OutWidth())
	for i, n := range []int{5, 1, 1, 7} {
		if err := s.runner.Run(batch(l, 5*i, n), logits); err != nil {
			return err
		}
		s.runner.CopyPages([]backend.PageCopy{{From: 1, To: 2}})
	}
	return nil
}

// close closes all, the last first.
func (s *session) close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}

// gives are the functions that give something back: where one fails, that is lost.
var gives = map[string]bool{"cuMemFree_v2": true, "cuMemFreeHost": true, "cuStreamDestroy_v2": true, "cuEventDestroy_v2": true,
	"cuModuleUnload": true, "cuGraphDestroy": true, "cuGraphExecDestroy": true, "cuDevicePrimaryCtxRelease_v2": true, "cuCtxSetCurrent": true}

// TestEveryCallMayFail lets each call of a session fail in turn, alone or with all
// that follow, as when the card is lost: the error names the call, nothing hangs,
// nothing is left.
func TestEveryCallMayFail(t *testing.T) {
	m, modules := small(t)
	l := limits(backend.KVF16)
	whole := &session{fake: fakedriver.New(fakedriver.Options{NoExecute: true}), modules: modules}
	if err := errors.Join(whole.use(m, l), whole.close()); err != nil {
		t.Fatal(err)
	}
	calls := int(whole.fake.CallCount())
	step := 1
	if testing.Short() {
		step = 7
	}
	t.Logf("a session of %d calls", calls)
	for _, sticky := range []bool{false, true} {
		for n := 1; n <= calls; n += step {
			s := &session{fake: fakedriver.New(fakedriver.Options{NoExecute: true}), modules: modules}
			s.fake.Fail(fakedriver.Failure{Nth: n, Code: driver.LaunchFailure, Sticky: sticky})
			err := s.use(m, l)
			if err != nil && s.runner != nil {
				logits := make([]float32, m.Prog.OutWidth())
				if again := s.runner.Run(batch(l, 0, 1), logits); again == nil || again.Error() != err.Error() {
					t.Errorf("call %d fails: Run says %v, and then %v", n, err, again)
				}
			}
			closing := s.close()
			what := fmt.Sprintf("call %d fails (for good: %v): %v; closing: %v", n, sticky, err, closing)
			var e *driver.Error
			if !errors.As(errors.Join(err, closing), &e) || e.Code != driver.LaunchFailure {
				// An error of giving back behind one that was told of is not told again.
				if err == nil && closing == nil {
					t.Errorf("%s: nobody was told", what)
				}
			}
			live := s.fake.Live()
			if sticky { // what else there was ends with the context
				live = slices.DeleteFunc(live, func(s string) bool { return !strings.Contains(s, "context") })
			}
			if len(live) > 0 && (e == nil || !gives[e.Call]) {
				t.Errorf("%s: not given back: %v", what, live)
			}
		}
	}
}

// TestWorkMayFail: what fails only when the device gets there ends the step that waits
// for it, or calls after it, and the runner.
func TestWorkMayFail(t *testing.T) {
	m, modules := small(t)
	for _, pace := range []fakedriver.Pace{fakedriver.Late, fakedriver.Early, fakedriver.Whenever} {
		workMayFail(t, m, modules, pace)
	}
}

func workMayFail(t *testing.T, m *backendtest.Random, modules fs.FS, pace fakedriver.Pace) {
	l := limits(backend.KVF16)
	for _, call := range []string{"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuGraphLaunch"} {
		for n := 1; n < 40; n += 1 + 4*int(pace) { // the first pace tries each
			s := &session{fake: fakedriver.New(fakedriver.Options{NoExecute: true, Pace: pace, Seed: uint64(n)}), modules: modules}
			s.fake.Fail(fakedriver.Failure{Call: call, Nth: n, Code: driver.LaunchFailure, Late: true})
			err := s.use(m, l)
			if err != nil && s.runner != nil {
				if again := s.runner.Run(batch(l, 0, 1), make([]float32, m.Prog.OutWidth())); again != err {
					t.Errorf("%s %d fails late: Run says %v, and then %v", call, n, err, again)
				}
			}
			var e *driver.Error
			if err != nil && (!errors.As(err, &e) || e.Code != driver.LaunchFailure) {
				t.Fatalf("%s %d fails late: %v", call, n, err)
			}
			closing := s.close()
			if n == 1 && err == nil && closing == nil {
				t.Errorf("%s %d fails late: nobody was told", call, n)
			}
			if live := s.fake.Live(); slices.ContainsFunc(live, func(s string) bool { return strings.Contains(s, "context") }) {
				t.Errorf("%s %d fails late: not given back: %v", call, n, live)
			}
			if err == nil && closing == nil {
				break // there are no more calls of it
			}
		}
	}
}

// small is a model for sessions whose kernels do not run, and modules of all kernels:
// their names and parameters, and nothing in them.
func small(t *testing.T) (*backendtest.Random, fs.FS) {
	d, _ := simulated(t, fakedriver.Options{NoExecute: true}, cuda.Options{Modules: fstest.MapFS{}})
	return model(t, d, 1, quant.Q8_0), stubs(t)
}

// stubs are the modules without what their kernels do.
func stubs(t *testing.T) fstest.MapFS {
	t.Helper()
	entry := regexp.MustCompile(`(?s)\.visible \.entry \w+\([^)]*\)`)
	texts, err := ptx.Read(ptx.Files)
	if err != nil {
		t.Fatal(err)
	}
	all := fstest.MapFS{}
	for name, text := range texts {
		stub := []byte(".version 7.0\n.target sm_80\n.address_size 64\n")
		for _, head := range entry.FindAll(text, -1) {
			stub = append(append(stub, head...), "\n{\n\tret;\n}\n"...)
		}
		all[name] = &fstest.MapFile{Data: stub}
	}
	return all
}

// TestCloseInAnyOrder: what was made is given back when the last is closed, and each
// may be closed twice. A runner works on while its model and device are closed.
func TestCloseInAnyOrder(t *testing.T) {
	m, modules := small(t)
	l := limits(backend.KVF16)
	for _, order := range [][]int{{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}} {
		s := &session{fake: fakedriver.New(fakedriver.Options{NoExecute: true}), modules: modules}
		if err := s.use(m, l); err != nil {
			t.Fatal(err)
		}
		open := true
		for _, i := range order {
			if err := errors.Join(s.closers[i](), s.closers[i]()); err != nil {
				t.Errorf("order %v: closing %d: %v", order, i, err)
			}
			if open = open && i != 3; open {
				if err := s.runner.Run(batch(l, 0, 3), make([]float32, m.Prog.OutWidth())); err != nil {
					t.Errorf("order %v: the runner, after %d was closed: %v", order, i, err)
				}
			}
		}
		if s.runner.Run(batch(l, 0, 3), make([]float32, m.Prog.OutWidth())) == nil {
			t.Errorf("order %v: a closed runner runs", order)
		}
		if live := s.fake.Live(); len(live) > 0 {
			t.Errorf("order %v: not given back: %v", order, live)
		}
		if err := s.closers[0](); err != nil {
			t.Error(err)
		}
	}
}

// TestRefusals: what the device can't do is an error of its own type, with what, which
// and what to do.
func TestRefusals(t *testing.T) {
	open := func(fo fakedriver.Options, o cuda.Options) (*cuda.Device, error) {
		d, err := driver.New(fakedriver.New(fo).Library())
		if err != nil {
			t.Fatal(err)
		}
		o.Driver = d
		return cuda.Open(o)
	}
	var unsupported *cuda.UnsupportedError
	if _, err := open(fakedriver.Options{Card: fakedriver.Card{Major: 7, Minor: 5}}, cuda.Options{}); !errors.As(err, &unsupported) || unsupported.What != "a GPU of compute capability" {
		t.Errorf("an old card: %v", err)
	}
	var limit *backend.LimitError
	if _, err := open(fakedriver.Options{}, cuda.Options{Ordinal: 1}); !errors.As(err, &limit) {
		t.Errorf("a card that is not there: %v", err)
	}
	d, _ := simulated(t, fakedriver.Options{NoExecute: true}, cuda.Options{})
	m := backendtest.NewRandom(1, quant.Q5K)
	if _, err := d.Plan(m.Prog, m); !errors.As(err, &unsupported) || unsupported.What != "format of weights" {
		t.Errorf("a format that is not there: %v", err)
	}
	if _, err := d.Load(m.Prog, m, nil); !errors.As(err, &unsupported) {
		t.Errorf("loading it: %v", err)
	}
	tiny, _ := simulated(t, fakedriver.Options{NoExecute: true, Card: fakedriver.Card{Memory: 1 << 20}}, cuda.Options{})
	m = model(t, tiny, 1, quant.Q8_0)
	l := limits(backend.KVF32)
	l.Pages = 1 << 16
	loaded := load(t, tiny, m)
	var memory *cuda.MemoryError
	if _, err := loaded.NewRunner(l); !errors.As(err, &memory) || !driver.IsOutOfMemory(err) || memory.Available <= 0 {
		t.Errorf("more than there is: %v", err)
	}
	broken := stubs(t)
	for name, f := range broken {
		broken[name] = &fstest.MapFile{Data: append(f.Data, "nonsense\n"...)}
	}
	bad, _ := simulated(t, fakedriver.Options{}, cuda.Options{Modules: broken})
	var e *driver.Error
	if _, err := bad.Load(m.Prog, m, nil); !errors.As(err, &e) || e.Call != "cuModuleLoadDataEx" || e.Log == "" {
		t.Errorf("a module that does not compile: %v", err)
	}
}
