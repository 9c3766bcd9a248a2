package repo

import (
	"slices"
	"strings"
	"testing"
)

// layers are the packages by what they may import: only packages of lines above
// their own, and siblings that are named. The test fails for a package that is not
// listed, so that every new one gets a place.
var layers = [][]string{
	0: {"internal/access", "internal/backend/cuda/fragment", "internal/bounded", "internal/cpuid", "internal/datadriven", "internal/dl", "internal/filemap", "internal/golden", "internal/half", "internal/invariant", "internal/num", "internal/race", "internal/repo"},
	1: {"internal/chat", "internal/draft", "internal/gguf", "internal/gguf/ggufwrite", "internal/quant", "internal/safetensors", "internal/sample", "internal/tokenizer", "kvcache", "metrics", "nvml"},
	2: {"internal/prog", "internal/scripted", "internal/toolcall", "internal/vocab", "sched"},
	3: {"internal/backend", "internal/hf", "internal/model", "internal/model/synth"},
	4: {"internal/backend/cpu/kern", "internal/backend/ref", "internal/backend/cuda/driver", "internal/backend/cuda/ptx", "internal/backend/cuda/ptxsim"},
	5: {"internal/backend/backendtest", "internal/backend/cpu", "internal/backend/cuda", "internal/backend/cuda/fakedriver"},
	6: {"engine", "internal/session"},
	7: {"engine/cuda", "internal/api"},
	8: {"."},
	9: {"examples/*", "internal/cmd/*", "internal/faults"},
}

// siblings are imports between packages of one line.
var siblings = map[string][]string{
	"internal/gguf/ggufwrite": {"internal/gguf"},
	"internal/model":          {"internal/backend"}, // a file's tensors as backends read them
	"internal/model/synth":    {"internal/model"},
	"internal/hf":             {"internal/model"}, // its error of an architecture that is not known
	"internal/backend/cpu":    {"internal/backend/backendtest"},
	"examples/chat":           {"examples/demo"},
	"examples/embed":          {"examples/demo"},
	"examples/frontend":       {"examples/demo"},
	"examples/hello":          {"examples/demo"},
	"examples/manager":        {"examples/studio"},
	"examples/server":         {"examples/demo", "examples/studio"},
	"internal/cmd/gpucheck":   {"internal/cmd/gpucheck/kernels"},
}

// rule forbids packages that begin with one of from to import any that begins with
// one of to; but are the few of those that they may.
type rule struct {
	from, to, except, but []string
	reason                string
}

var rules = []rule{
	{from: []string{"sched", "kvcache", "metrics"}, to: []string{"internal/model", "internal/backend", "internal/prog", "engine", "internal/api", "."},
		reason: "scheduler, cache and metrics know nothing of models, devices or the API: they are used without them"},
	{from: []string{"metrics"}, to: []string{"sched", "kvcache", "internal/", "engine", "nvml"}, but: []string{"internal/access"},
		reason: "metrics must work for a service that uses nothing else of this module; internal/access is a leaf of the standard library alone, so that page and API have one rule of access"},
	{from: []string{"internal/access"}, to: []string{"internal/", "metrics", "github.com/", "golang.org/"},
		reason: "the rule of access stays a leaf of the standard library: metrics imports it"},
	{from: []string{"sched"}, to: []string{"internal/", "metrics"},
		reason: "the scheduler is pure: sequences and pages, nothing else"},
	{from: []string{"kvcache"}, to: []string{"internal/", "sched", "metrics"},
		reason: "the cache is integers only"},
	{from: []string{"internal/model"}, to: []string{"internal/backend/"}, except: []string{"internal/model/synth"},
		reason: "an architecture names no device"},
	{from: []string{"internal/backend"}, to: []string{"sched", "kvcache", "metrics", "engine", "internal/model", "internal/tokenizer", "internal/sample"}, except: []string{"internal/backend/backendtest"},
		reason: "a backend knows nothing of requests, files or text"},
	{from: []string{"engine", ".", "internal/api"}, to: []string{"internal/dl", "nvml", "internal/backend/cuda", "engine/cuda"}, except: []string{"engine/cuda"},
		reason: "purego needs the C library's loader: an importer without a GPU stays static"},
	{from: []string{"examples/"}, to: []string{"internal/"},
		reason: "an example shows what any importer can write"},
	{from: []string{"examples/demo"}, to: []string{"."},
		reason: "the embedded model is a leaf: only its importers carry the bytes"},
}

// owners are the packages that alone may import a dependency.
var owners = map[string]struct {
	allowed []string
	reason  string
}{
	"github.com/ebitengine/purego":     {[]string{"internal/dl"}, "one place knows how libraries are loaded"},
	"github.com/prometheus/":           {[]string{"metrics", "nvml", "examples/manager"}, "only metrics and nvml speak Prometheus; the manager's page has a collector of its own, as a caller's may"},
	"go.opentelemetry.io/":             {[]string{"metrics"}, "spans belong to the request's record"},
	"go.etcd.io/bbolt":                 {[]string{"examples/manager"}, "only the manager keeps a history"},
	"golang.org/x/sys":                 {[]string{"internal/gguf", "internal/backend/cpu", "internal/cpuid", "internal/dl", "engine", "nvml", "examples/manager"}, "system calls stay at the edges"},
	"golang.org/x/text":                {[]string{"internal/tokenizer"}, "only tokenizers normalise text"},
	"internal/backend/cuda/ptxsim":     {[]string{"internal/backend/cuda/fakedriver", "internal/cmd/gpucheck"}, "the PTX interpreter serves tests, and the program that checks a card against it"},
	"C":                                {nil, "no cgo"},
	"internal/backend/cuda/fakedriver": {[]string{"internal/cmd/gpucheck"}, "the fake driver serves tests, and the program that checks a card"},
	"unsafe":                           {[]string{"internal/gguf", "internal/filemap", "internal/half", "internal/quant", "internal/cpuid", "internal/race", "internal/backend/cpu", "internal/backend/cpu/kern", "internal/dl", "internal/backend/cuda", "internal/backend/cuda/driver", "internal/backend/cuda/fakedriver", "internal/cmd/gpucheck", "nvml", "internal/tokenizer"}, "unsafe code stays where it is tested for it"},
	"os/exec":                          {[]string{"examples/manager", "internal/cmd/bench", "internal/faults"}, "no child process; internal/faults runs the go command, in no program that serves"},
	"github.com/google/go-cmp":         {nil, "tests only"},
	"go.uber.org/goleak":               {nil, "tests only"},
	"pgregory.net/rapid":               {nil, "tests only"},
}

func (r *rule) forbids(from, to string) bool {
	return matches(from, r.from) && !matches(from, r.except) && matches(to, r.to) && !matches(to, r.but)
}

func TestImportDirections(t *testing.T) {
	for _, s := range sources(t) {
		at, ok := layerOf(s.dir)
		if !ok {
			t.Errorf("%s: package %s has no place in the layers: list it in imports_test.go", s.path, s.dir)
			continue
		}
		for _, imp := range s.imports(t) {
			if to, own := layerOf(imp); own && imp != s.dir {
				if to > at || to == at && !slices.Contains(siblings[s.dir], imp) {
					t.Errorf("%s: %s (layer %d) imports %s (layer %d): a package imports only from layers above its own, or siblings that are named",
						s.path, s.dir, at, imp, to)
				}
			}
			for _, r := range rules {
				if r.forbids(s.dir, imp) && !matches(imp, r.from) {
					t.Errorf("%s: %s must not import %s: %s", s.path, s.dir, imp, r.reason)
				}
			}
			for dep, o := range owners {
				if (imp == dep || strings.HasSuffix(dep, "/") && strings.HasPrefix(imp, dep) || strings.HasPrefix(imp, dep+"/")) && !slices.Contains(o.allowed, s.dir) {
					t.Errorf("%s: %s must not import %s: %s", s.path, s.dir, imp, o.reason)
				}
			}
		}
	}
}

// layerOf is the line of a package, by its name or its folder's pattern.
func layerOf(pkg string) (int, bool) {
	for i, line := range layers {
		for _, p := range line {
			if p == pkg || strings.HasSuffix(p, "/*") && strings.HasPrefix(pkg, p[:len(p)-1]) {
				return i, true
			}
		}
	}
	return 0, false
}

// matches tells whether pkg is one of the patterns, or below one that ends in a
// slash; "internal/model" also covers what lies in its folder.
func matches(pkg string, patterns []string) bool {
	for _, p := range patterns {
		if pkg == p || p != "." && (strings.HasSuffix(p, "/") && strings.HasPrefix(pkg, p) || strings.HasPrefix(pkg, p+"/")) {
			return true
		}
	}
	return false
}

// TestRulesCatch holds the test itself against edges that it must refuse.
func TestRulesCatch(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"sched", "internal/prog"}, {"metrics", "sched"}, {"internal/model", "internal/backend/cpu"},
		{"metrics", "internal/prog"}, {"internal/access", "github.com/prometheus/common/expfmt"},
		{"engine", "internal/dl"}, {"examples/hello", "internal/api"}, {"internal/backend/cpu", "sched"},
	} {
		caught := false
		for _, r := range rules {
			caught = caught || r.forbids(c.from, c.to)
		}
		if !caught {
			t.Errorf("no rule forbids %s to import %s", c.from, c.to)
		}
	}
}
