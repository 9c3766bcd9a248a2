package metrics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// HandlerOptions configure a MetricsHandler; the zero value shows the default recorder.
type HandlerOptions struct {
	Recorder *Recorder // nil: Default()

	// Gatherers put the caller's own families on the page, after the recorder's. A family whose name, or whose samples' names, are on
	// the page already is left out. What OpenMetrics can't carry, it carries as far as it can: a counter without _total, or below 0,
	// as of unknown type; a family that breaks its rules (a histogram whose buckets shrink, one that counts in fractions, a name
	// that clashes by _created), not at all. Names that are no classic ones have underscores. See Recorder.Faults.
	Gatherers []prometheus.Gatherer

	// ProcessOnly leaves the recorder's families out, but for target_info, paddock_build_info and process_start_time_seconds: the page
	// of a process that serves no model.
	ProcessOnly bool

	// Runtime adds the families of client_golang's Go and process collectors.
	Runtime bool

	// VLLM adds vLLM's families, under its names, labels and buckets. Their histograms count from the first handler that has it set.
	VLLM bool

	// Auth says who may read; see Auth. Key is what others than this machine bring as "Authorization: Bearer …"; without one, the zero
	// value opens the page to this machine only. See Validate.
	Auth Auth
	Key  string

	// BehindProxy says that a proxy is trusted, so that no peer counts as this machine.
	BehindProxy bool
}

// Auth is a row of the access table: who may read the page.
//
//	              from loopback   from the network
//	AuthDefault   open            key
//	AuthOn        key             key
//	AuthOff       open            open
//
// From loopback is a request whose socket's peer is this machine (127.0.0.0/8, ::1) and that has no header of a proxy: Forwarded,
// X-Forwarded-anything, X-Real-IP, X-Client-IP, True-Client-IP, CF-Connecting-IP, Via. With HandlerOptions.BehindProxy none is.
type Auth uint8

// The rows.
const (
	AuthDefault Auth = iota
	AuthOn
	AuthOff
)

// MetricsHandler serves the page. It may be mounted under any path, and be called concurrently.
type MetricsHandler struct {
	o      HandlerOptions
	rec    *Recorder
	others []prometheus.Gatherer
	views  []func(*scrape) // beside the table's families, before the others
}

// processFamilies are the families that tell of the process alone.
var processFamilies = [...]string{"target_info", "paddock_build_info", "process_start_time_seconds"}

// Handler shows the default recorder.
func Handler() *MetricsHandler { return HandlerFor(HandlerOptions{}) }

// HandlerFor shows what o says.
func HandlerFor(o HandlerOptions) *MetricsHandler {
	h := &MetricsHandler{o: o, rec: o.Recorder, others: append([]prometheus.Gatherer(nil), o.Gatherers...)}
	if h.rec == nil {
		h.rec = Default()
	}
	if o.VLLM {
		h.rec.showVLLM()
		h.views = append(h.views, writeVLLM)
	}
	if o.Runtime {
		runtime := prometheus.NewRegistry()
		runtime.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		h.others = append(h.others, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			families, err := runtime.Gather()
			for i, f := range families {
				families[i] = withoutSummary(f)
			}
			return families, err
		}))
	}
	return h
}

// ServeHTTP answers GET and HEAD with the page. The page is made whole before its first byte is sent, so that an error is a
// status and never half a page, and a slow reader holds no lock.
func (h *MetricsHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if h.rec.off {
		refuse(w, http.StatusNotFound, "not_found", "metrics are off")
		return
	}
	if !h.o.admit(w, req, h.o.Auth) {
		return
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "use GET or HEAD")
		return
	}
	p := pageWriters.Get().(*pageWriter)
	defer pageWriters.Put(p)
	format, zip := chooseFormat(req.Header, h.rec.opts.NativeHistograms), acceptsGzip(req.Header)
	page, err := h.render(p, format)
	if err != nil {
		h.rec.fault("page", err)
		refuse(w, http.StatusInternalServerError, "internal_error", "the page could not be made")
		return
	}
	if zip {
		page = p.zip(page)
	}
	header := w.Header()
	header.Set("Content-Type", format.contentType)
	header.Set("Content-Length", strconv.Itoa(len(page)))
	header.Add("Vary", "Accept, Accept-Encoding")
	header.Set("Cache-Control", "no-store")
	if zip {
		header.Set("Content-Encoding", "gzip")
	}
	if req.Method == http.MethodGet {
		patience(w)
		w.Write(page) // an error is the reader's having gone
	}
}

// render makes the page, in p's memory. A panic is an error.
func (h *MetricsHandler) render(p *pageWriter, f *format) (page []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	families := h.rec.gatherInto(&p.scrape, h.views...)
	if h.o.ProcessOnly {
		families = slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return !slices.Contains(processFamilies[:], f.GetName()) })
	}
	p.fault = h.rec.fault
	return f.write(p, h.addOthers(families)), nil
}

// addOthers appends the families of the other gatherers, without those whose names are taken: the first one of a name is the page's.
func (h *MetricsHandler) addOthers(families []*dto.MetricFamily) []*dto.MetricFamily {
	if len(h.others) == 0 {
		return families
	}
	taken := make(map[string]bool, 2*len(families))
	for _, f := range families {
		claimNames(taken, f)
	}
	for _, g := range h.others {
		for _, f := range h.gather(g) {
			if claimNames(taken, f) {
				families = append(families, f)
			}
		}
	}
	return families
}

// gather reads a gatherer. Its failure, and a family that no page could show, cost nothing else.
func (h *MetricsHandler) gather(g prometheus.Gatherer) (families []*dto.MetricFamily) {
	defer h.rec.guard("gatherer")
	all, err := g.Gather()
	if err != nil {
		h.rec.fault("gatherer", err)
	}
	_, checked := g.(*prometheus.Registry)
	for _, f := range all {
		f, err := adopt(f, checked)
		if err != nil {
			h.rec.fault("gatherer", fmt.Errorf("left out: %w", err))
		}
		if f != nil {
			families = append(families, f)
		}
	}
	return families
}

// refuse answers with an error as JSON.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	body, _ := json.Marshal(map[string]any{"error": map[string]string{"type": kind, "message": message}}) // strings always marshal
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

// maxPatience is how long a reader may take for an answer. One that stops reading would hold a goroutine and a page's memory for good.
const maxPatience = 30 * time.Second

// patience bounds the time that w's reader may take from now on.
func patience(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(maxPatience)) // a writer that knows no deadlines has no slow readers
}
