package gateway

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/interface/datalayer"
	extractor "sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/datalayer/extractor/metrics"
	source "sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/datalayer/source/metrics"
)

// The shape of the server under test: less room in the batch than there are
// requests, so that some wait, and a pool of a size that nothing else has.
const (
	batch, requests = 4, 12
	pages, pageSize = 777, 16
)

// startServer builds examples/server, starts it and returns its address.
func startServer(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "server")
	build := exec.Command("go", "build", "-o", bin, "./examples/server")
	build.Dir = filepath.Join("..", "..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := exec.Command(bin, "--addr", "127.0.0.1:0", "--served-model-name", "demo", "--log-level", "warn", "--metrics-vllm",
		"--max-batch", strconv.Itoa(batch), "--kv-pages", strconv.Itoa(pages))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt) // it may have ended
		_ = c.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), " on http://"); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return at
		}
	}
	t.Fatalf("the server printed no address: %v", lines.Err())
	return ""
}

// relay passes the server's page on and keeps what it passed: the extractor and the
// test then read the same bytes, while the server works on.
type relay struct {
	*httptest.Server
	mu   sync.Mutex
	page []byte
}

func newRelay(t *testing.T, target string) *relay {
	r := &relay{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		out, err := http.NewRequest(q.Method, "http://"+target+q.URL.Path, nil)
		if err != nil {
			t.Error(err)
			return
		}
		out.Header = q.Header.Clone() // as the picker asks, so the server answers
		res, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		page, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
			return
		}
		text := page
		if res.Header.Get("Content-Encoding") == "gzip" { // what Go's client asks for by itself
			z, err := gzip.NewReader(bytes.NewReader(page))
			if err != nil {
				t.Error(err)
				return
			}
			if text, err = io.ReadAll(z); err != nil {
				t.Error(err)
				return
			}
		}
		r.mu.Lock()
		r.page = text
		r.mu.Unlock()
		for name, values := range res.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(res.StatusCode)
		_, _ = w.Write(page)
	}))
	t.Cleanup(r.Close)
	return r
}

// sample is the value of the first series of a name on the page, and its line.
func (r *relay) sample(t *testing.T, name string) (float64, string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range bytes.Lines(r.page) {
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if !ok || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		fields := strings.Fields(string(line))
		v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return v, string(line)
	}
	t.Fatalf("%s is not on the page", name)
	return 0, ""
}

// load keeps more requests in the server than its batch takes, until stop is called.
func load(t *testing.T, target string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			for ctx.Err() == nil {
				body := fmt.Sprintf(`{"model":"demo","prompt":"Request %d: a prompt that takes more than one page of the cache","ignore_eos":true,"max_tokens":200}`, i)
				q, err := http.NewRequestWithContext(ctx, "POST", "http://"+target+"/v1/completions", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				res, err := http.DefaultClient.Do(q)
				if err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if res.StatusCode != 200 {
					t.Errorf("status %d", res.StatusCode)
					return
				}
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); all.Wait() })
}

// names are the families that a mapping of the picker reads.
type names struct{ queue, running, usage, lora, cache string }

var views = map[string]names{
	"native": {"paddock_num_requests_waiting", "paddock_num_requests_running", "paddock_kv_cache_usage_perc", "", "paddock_cache_config_info"},
	"vllm":   {"vllm:num_requests_waiting", "vllm:num_requests_running", "vllm:kv_cache_usage_perc", "", "vllm:cache_config_info"},
	// One model of several: the picker takes a selector with equalities.
	"selected": {`paddock_num_requests_waiting{model="demo"}`, `paddock_num_requests_running{model="demo"}`, `paddock_kv_cache_usage_perc{model="demo"}`, "", `paddock_cache_config_info{model="demo"}`},
}

// reader polls the page for one view and extracts.
type reader struct {
	poll    datalayer.PollingDataSource
	extract *extractor.Extractor
	end     *datalayer.ModelServer
}

// newReader is the picker's data source and an extractor, on a registry that maps
// the engine's label to a view, as a pool of mixed engines has it.
func newReader(t *testing.T, r *relay, extract *extractor.Extractor, engine string) *reader {
	t.Helper()
	poll, err := source.NewHTTPMetricsDataSource("http", "/metrics", "page")
	if err != nil {
		t.Fatal(err)
	}
	return &reader{poll, extract, datalayer.NewEndpoint(&datalayer.EndpointMetadata{
		NamespacedName: types.NamespacedName{Namespace: "default", Name: "paddock-0"},
		MetricsHost:    strings.TrimPrefix(r.URL, "http://"),
		Labels:         map[string]string{extractor.DefaultEngineTypeLabelKey: engine},
	}, nil)}
}

func (r *reader) read(t *testing.T) (*datalayer.Metrics, error) {
	t.Helper()
	families, err := r.poll.Poll(t.Context(), r.end)
	if err != nil {
		t.Fatalf("the data source: %v", err)
	}
	err = r.extract.Extract(t.Context(), families, r.end)
	return r.end.GetMetrics(), err
}

// registryOf maps each view's name to it.
func registryOf(t *testing.T) *extractor.MappingRegistry {
	t.Helper()
	registry := extractor.NewMappingRegistry()
	for engine, n := range views {
		m, err := extractor.NewMapping(n.queue, n.running, n.usage, n.lora, n.cache)
		if err != nil {
			t.Fatal(err)
		}
		if err := registry.Register(engine, m); err != nil {
			t.Fatal(err)
		}
	}
	return registry
}

// TestEndpointPicker: the picker's own code reads the load and the pool's shape from
// the page of a real server under load, from the native names and from vLLM's.
func TestEndpointPicker(t *testing.T) {
	target := startServer(t)
	page := newRelay(t, target)
	extract, err := extractor.NewCoreMetricsExtractor(registryOf(t), "")
	if err != nil {
		t.Fatal(err)
	}
	stop := load(t, target)
	defer stop()
	for engine, n := range views {
		r := newReader(t, page, extract, engine)
		busy, limit := 0, time.Now().Add(time.Minute)
		for busy < 10 {
			m, err := r.read(t)
			if err != nil {
				t.Fatalf("%s: %v", engine, err)
			}
			waiting, _ := page.sample(t, baseName(n.queue))
			running, _ := page.sample(t, baseName(n.running))
			usage, _ := page.sample(t, baseName(n.usage))
			_, cache := page.sample(t, baseName(n.cache))
			if float64(m.WaitingQueueSize) != waiting || float64(m.RunningRequestsSize) != running || m.KVCacheUsagePercent != usage {
				t.Errorf("%s: the picker reads %v; the page says waiting %v, running %v, usage %v", engine, m, waiting, running, usage)
			}
			if m.CacheBlockSize != pageSize || m.CacheNumBlocks != pages || !strings.Contains(cache, fmt.Sprintf(`num_gpu_blocks="%d"`, pages)) {
				t.Errorf("%s: the picker reads pages of %d tokens, %d of them, from %s", engine, m.CacheBlockSize, m.CacheNumBlocks, cache)
			}
			if m.WaitingQueueSize > 0 && m.RunningRequestsSize > 0 && m.KVCacheUsagePercent > 0 && m.KVCacheUsagePercent <= 1 {
				busy++
			}
			if t.Failed() || time.Now().After(limit) {
				t.Fatalf("%s: of the readings %d showed the load", engine, busy)
			}
		}
		t.Logf("%s: 10 readings under load agree with the page; the last: %v", engine, r.end.GetMetrics())
	}
	stop()
	for engine := range views { // a picker that saw a load sees it go, without a step after the last request
		r := newReader(t, page, extract, engine)
		for m, err := r.read(t); m.RunningRequestsSize+m.WaitingQueueSize > 0 || m.KVCacheUsagePercent != 0; m, err = r.read(t) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond) // its clients have hung up: the engine learns of it
		}
	}
}

// baseName is a selector's name.
func baseName(selector string) string {
	name, _, _ := strings.Cut(selector, "{")
	return name
}

// TestDefaultConfiguration: with the picker's built-in mapping for vLLM all is read
// that there is; only adapters, which paddock has none of, are reported missing, as
// with a vLLM that serves none.
func TestDefaultConfiguration(t *testing.T) {
	page := newRelay(t, startServer(t))
	plugin, err := extractor.CoreMetricsExtractorFactory("core", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newReader(t, page, plugin.(*extractor.Extractor), "vllm").read(t)
	if m.CacheBlockSize != pageSize || m.CacheNumBlocks != pages || m.UpdateTime.IsZero() {
		t.Errorf("%v", m)
	}
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "vllm:lora_requests_info") {
		t.Errorf("the picker says %v; want that there are no adapters, and no more", err)
	}
}
