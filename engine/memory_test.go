package engine

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/model/synth"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/metrics"
)

// stages is the CPU with a fault put into one call, and a count of what is open.
type stages struct {
	*cpu.Device
	fail         string // "plan", "load", "runner", "" for none
	loads        int
	models, runs int // open ones
	givenUp      int // models that were told not to write their panels, while open
}

var errStage = errors.New("the fault that the test put in")

func (s *stages) Plan(p *prog.Program, src backend.Source) (backend.Plan, error) {
	if s.fail == "plan" {
		return nil, errStage
	}
	return s.Device.Plan(p, src)
}

func (s *stages) Load(p *prog.Program, src backend.Source, progress func(done, total int64)) (backend.Model, error) {
	s.loads++
	if s.fail == "load" {
		return nil, errStage
	}
	m, err := s.Device.Load(p, src, progress)
	if err != nil {
		return nil, err
	}
	s.models++
	return stagedModel{m, s}, nil
}

type stagedModel struct {
	backend.Model
	s *stages
}

func (m stagedModel) MappedBytes() int64 { return 0 }

func (m stagedModel) PanelCache() (choice, why string) { return "", "" }

func (m stagedModel) GiveUpPanels() { m.s.givenUp += m.s.models }

func (m stagedModel) Close() error {
	m.s.models--
	return m.Model.Close()
}

func (m stagedModel) NewRunner(l backend.Limits) (backend.Runner, error) {
	if m.s.fail == "runner" {
		return nil, errStage
	}
	r, err := m.Model.NewRunner(l)
	if err != nil {
		return nil, err
	}
	m.s.runs++
	return stagedRunner{r, m.s}, nil
}

type stagedRunner struct {
	backend.Runner
	s *stages
}

func (r stagedRunner) Close() error {
	r.s.runs--
	return r.Runner.Close()
}

// synthFile is a made-up model in a file system.
func synthFile(t *testing.T, shape string) fstest.MapFS {
	t.Helper()
	var b bytes.Buffer
	if err := synth.Write(&b, shape, "Q8_0", 1); err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{"m.gguf": {Data: b.Bytes()}}
}

// have are options on a machine with so much memory.
func have(bytes int64, d *stages, o Options) Options {
	o.available = func() (int64, bool) { return bytes, true }
	o.Metrics = metrics.NewRecorder(metrics.RecorderOptions{})
	if d != nil {
		d.Device = cpu.New(cpu.Options{Threads: 1})
		o.Devices = []Device{d}
	}
	return o
}

// needs is what a model takes, as its card says.
func needs(t *testing.T, files fs.FS, name string, o Options) Card {
	t.Helper()
	e, err := OpenFS(files, name, have(1<<40, nil, o))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.Model()
}

// TestMemory opens models with a byte less than they take and with what they take:
// the first is refused before anything is loaded, with the arithmetic.
func TestMemory(t *testing.T) {
	folder := smallFolder(t)
	for _, c := range []struct {
		what  string
		files fs.FS
		name  string
		o     Options
	}{
		{"a file", synthFile(t, "tiny-qwen3"), "m.gguf", Options{KVPages: 100}},
		{"a longer cache", synthFile(t, "tiny-llama"), "m.gguf", Options{KVPages: 5000}},
		{"a folder", folder, "m", Options{KVPages: 9}},
		{"a folder, quantised", folder, "m", Options{KVPages: 9, Weights: WeightsQ8_0}},
	} {
		c.o.Threads = 1
		m := needs(t, c.files, c.name, c.o).Memory
		if m.Weights <= 0 || m.KV <= 0 || m.Scratch <= 0 {
			t.Fatalf("%s: %+v", c.what, m)
		}
		total := m.Weights + max(m.Load, m.KV+m.Scratch)
		d := &stages{}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := OpenFS(c.files, c.name, have(total-1, d, c.o))
		runtime.ReadMemStats(&after)
		var memory *MemoryError
		if !errors.As(err, &memory) {
			t.Errorf("%s, a byte short: %v", c.what, err)
			continue
		}
		if memory.Weights != m.Weights || memory.KV != m.KV || memory.Scratch != m.Scratch || memory.Load != m.Load || memory.Available != total-1 || memory.Needed() != total {
			t.Errorf("%s: %+v, the card says %+v", c.what, memory, m)
		}
		if d.loads != 0 || d.models != 0 || d.runs != 0 {
			t.Errorf("%s: it was loaded before it was refused", c.what)
		}
		if n := int64(after.TotalAlloc - before.TotalAlloc); n > 8*fsBytes(c.files, c.name)+(1<<20) { // the file itself is read, and its head
			t.Errorf("%s: %d bytes were allocated", c.what, n)
		}
		d = &stages{}
		e, err := OpenFS(c.files, c.name, have(total, d, c.o))
		if err != nil {
			t.Errorf("%s, exactly enough: %v", c.what, err)
			continue
		}
		s := e.Stats()
		if s.Memory[metrics.MemoryWeights] != m.Weights || s.Memory[metrics.MemoryKV] != m.KV || s.Memory[metrics.MemoryScratch] != m.Scratch {
			t.Errorf("%s: metrics say %v, the card %+v", c.what, s.Memory, m)
		}
		if err := e.Close(); err != nil || d.models != 0 || d.runs != 0 {
			t.Errorf("%s: closed with %v, %d models and %d runners are open", c.what, err, d.models, d.runs)
		}
	}
}

// TestMemoryAdvice does what an error advises: with that it opens, and with one more
// it does not.
func TestMemoryAdvice(t *testing.T) {
	files := synthFile(t, "tiny-llama")
	fixed := Options{Threads: 1}
	card := needs(t, files, "m.gguf", fixed)
	page := card.KV.PerToken*pageSize + recordBytes
	some := card.Memory.Weights + card.Memory.Scratch + 10*page + 5
	var memory *MemoryError
	try := func(o Options) error {
		e, err := OpenFS(files, "m.gguf", have(some, nil, o))
		if err == nil {
			err = e.Close()
		}
		return err
	}
	for _, asked := range []int{0, 500} {
		o := fixed
		o.KVPages = asked
		if err := try(o); !errors.As(err, &memory) || memory.Biggest() == "" || !strings.Contains(err.Error(), "at most") {
			t.Fatalf("%d pages: %v", asked, err)
		}
		if memory.FitPages != 10 {
			t.Errorf("%d pages: advises %d", asked, memory.FitPages)
		}
		o.KVPages = memory.FitPages
		if err := try(o); err != nil {
			t.Errorf("as advised: %v", err)
		}
		if o.KVPages++; try(o) == nil {
			t.Error("beyond what was advised it fits, too")
		}
		if asked > 0 {
			if memory.FitContext != 0 {
				t.Errorf("advises a context of %d where the pages were asked for", memory.FitContext)
			}
			continue
		}
		o = fixed
		if o.MaxContext = memory.FitContext; o.MaxContext != 160 || try(o) != nil {
			t.Errorf("advises a context of %d: %v", memory.FitContext, try(o))
		}
		if o.MaxContext++; try(o) == nil {
			t.Error("a longer context than was advised fits, too")
		}
	}
	some = card.Memory.Weights - 1
	path := filepath.Join(t.TempDir(), "m.gguf") // which is mapped
	if err := os.WriteFile(path, files["m.gguf"].Data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, have(some, nil, fixed)); !errors.As(err, &memory) || memory.FitPages != 0 || memory.FitContext != 0 || !strings.Contains(err.Error(), "no option makes it fit") {
		t.Errorf("less than the weights: %v", err)
	}
	some = 1000
	if err := try(fixed); !errors.As(err, &memory) || !strings.Contains(err.Error(), "would be read into memory") {
		t.Errorf("less than the file: %v", err)
	}
}

// huge is a plan of a model whose sizes are beyond all numbers.
type huge struct{ weights, perToken, scratch int64 }

func (h huge) WeightBytes() int64 { return h.weights }
func (h huge) RunnerBytes(l backend.Limits) (kv, scratch int64) {
	return backend.Product(h.perToken, int64(l.Pages), int64(l.PageSize)), backend.Product(h.scratch, int64(l.Rows))
}

// TestMemoryOverflow asks that sizes that do not fit an int64 are refused, not
// wrapped around.
func TestMemoryOverflow(t *testing.T) {
	for _, h := range []huge{{1, math.MaxInt64, 1}, {math.MaxInt64, 1, 1}, {1, 1 << 40, math.MaxInt64}, {math.MaxInt64, math.MaxInt64, math.MaxInt64}} {
		for _, context := range []int{1, math.MaxInt32, math.MaxInt64} {
			for _, atomic := range []bool{false, true} {
				e := &Engine{context: context, vocab: 32, pooled: pooled{atomic: atomic}}
				o, err := have(1<<40, nil, Options{}).withDefaults()
				if err != nil {
					t.Fatal(err)
				}
				_, err = e.plan(o, h, math.MaxInt64/2)
				var memory *MemoryError
				if !errors.As(err, &memory) || memory.Needed() < 1<<40 || memory.KV < 0 || memory.Scratch < 0 || len(err.Error()) > 500 {
					t.Errorf("%+v with a context of %d: %v", h, context, err)
				}
			}
		}
	}
}

// TestOpenFreesAfterFaults puts a fault into each stage of Open: what was made until
// then is given back, and the recorder's name is free again.
func TestOpenFreesAfterFaults(t *testing.T) {
	files := synthFile(t, "tiny-qwen2")
	for _, stage := range []string{"plan", "load", "runner", "recorder", "text", ""} {
		d := &stages{fail: stage}
		o := have(1<<40, d, Options{KVPages: 80, Name: "one"})
		at, givenUp := files, 0
		switch stage {
		case "runner":
			givenUp = 1
		case "recorder": // the last stage: its name is taken
			givenUp = 1
			m, err := o.Metrics.OpenModel("one", []metrics.Operation{metrics.Chat}, noSource{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
		case "text":
			spoilt := bytes.Replace(files["m.gguf"].Data, []byte("gpt2"), []byte("gptX"), 1)
			at = fstest.MapFS{"m.gguf": {Data: spoilt}}
		}
		e, err := OpenFS(at, "m.gguf", o)
		if stage == "" {
			if err != nil {
				t.Fatal(err)
			}
			if d.models != 1 || d.runs != 1 {
				t.Errorf("%d models, %d runners are open", d.models, d.runs)
			}
			err = e.Close()
		} else if err == nil {
			t.Fatalf("%s: no error", stage)
		}
		if d.fail == stage && (stage == "plan" || stage == "load" || stage == "runner") != errors.Is(err, errStage) {
			t.Errorf("%s: %v", stage, err)
		}
		if d.models != 0 || d.runs != 0 {
			t.Errorf("%s: %d models and %d runners are still open", stage, d.models, d.runs)
		}
		if d.givenUp != givenUp {
			t.Errorf("%s: %d models were told to give up their panels, want %d", stage, d.givenUp, givenUp)
		}
	}
}

type noSource struct{}

func (noSource) Snapshot(*metrics.Snapshot) {}

// TestMemoryOfParts asks that all parts of a split file count, and no other file.
func TestMemoryOfParts(t *testing.T) {
	files := fstest.MapFS{}
	for name, n := range map[string]int{"d/a-00001-of-00002.gguf": 10, "d/a-00002-of-00002.gguf": 20, "d/b-00001-of-00002.gguf": 40, "d/a.gguf": 80, "d/x.safetensors": 160, "d/y.safetensors": 320, "d/config.json": 640} {
		files[name] = &fstest.MapFile{Data: make([]byte, n)}
	}
	for name, want := range map[string]int64{"d/a-00001-of-00002.gguf": 30, "d/a.gguf": 80, "d": 480, "none": 0} {
		if got := fsBytes(files, name); got != want {
			t.Errorf("%s: %d bytes, want %d", name, got, want)
		}
	}
}
