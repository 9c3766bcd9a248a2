package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// scrape is one reading of a recorder: it walks the table, and within each family the models, and gathers samples.
type scrape struct {
	rec     *Recorder
	row     *family
	desc    *prometheus.Desc
	next    int    // the model after this one
	model   *Model // current
	samples []sample
	arena   arena
}

// sample is one line of the page, or the lines of one histogram. It is a prometheus.Metric.
type sample struct {
	row    *family
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	value  float64
	hist   *dto.Histogram
}

var _ prometheus.Metric = (*sample)(nil)

// read takes a whole reading: first every model's numbers, each at one instant, then the table in order, then more of the same
// instant.
func (r *Recorder) read(page bool, more ...func(*scrape)) []sample {
	s := new(scrape)
	r.readInto(s, page, more...)
	return s.samples
}

// readInto is read into the memory of a scrape before, whose samples are gone then.
func (r *Recorder) readInto(s *scrape, page bool, more ...func(*scrape)) {
	r.scrape.Lock()
	defer r.scrape.Unlock()
	r.collect()
	s.rec, s.samples = r, s.samples[:0]
	s.arena.reset()
	for i := range table {
		if table[i].page && !page {
			continue
		}
		s.row, s.desc, s.next = &table[i], r.descs[i], 0
		table[i].write(s)
	}
	for _, write := range more {
		write(s)
	}
}

// collect brings every open model's numbers up to now. The caller holds the scrape lock.
func (r *Recorder) collect() {
	for _, m := range r.models {
		m.drain()
		m.pull()
	}
	r.http.drain()
}

// drain moves what was pushed since the last drain into the totals of every ledger of the model.
func (m *Model) drain() {
	cold := m.ledger.gate.flip()
	m.ledger.take(cold)
	if v := m.vllm.Load(); v != nil {
		v.ledger.take(cold)
	}
}

// pull renews m.last. A source that panics leaves the numbers of the scrape before, so that no counter goes down.
func (m *Model) pull() {
	if m.source == nil {
		return
	}
	defer m.rec.guard("snapshot of model " + m.name)
	var s Snapshot
	m.source.Snapshot(&s)
	m.last = s
	m.rollup.peak(&s)
}

// nextModel makes the next model current.
func (s *scrape) nextModel() bool {
	if s.next >= len(s.rec.models) {
		return false
	}
	s.model = s.rec.models[s.next]
	s.next++
	return true
}

// nextSource makes the next model that has an engine current.
func (s *scrape) nextSource() bool {
	for s.nextModel() {
		if s.model.source != nil {
			return true
		}
	}
	return false
}

// combinations calls f for each operation and origin with the first word of their cells.
func (s *scrape) combinations(f func(op, or, base int)) {
	for op := range NumOperations {
		for or := range NumOrigins {
			f(op, or, s.rec.layout.base(Operation(op), Origin(or)))
		}
	}
}

// value adds a sample. labels isn't changed; a caller may append to a shared slice, since those are full.
func (s *scrape) value(v float64, labels ...*dto.LabelPair) {
	s.samples = append(s.samples, sample{row: s.row, desc: s.desc, labels: labels, value: v})
}

// histogram adds the histogram id whose cells begin at base; one without observations only if zero says so.
func (s *scrape) histogram(base int, id histID, zero bool, labels ...*dto.LabelPair) {
	s.histogramOf(s.model.ledger, base, id, zero, labels)
}

// histogramOf is histogram for any ledger of the model.
func (s *scrape) histogramOf(ledger *ledger, base int, id histID, zero bool, labels []*dto.LabelPair) {
	if !zero && !ledger.observed(base, id) {
		return
	}
	ladder, at := ledger.ladders[id], base+ledger.at[id]
	n := len(ladder.limits)
	h := s.arena.histogram(ladder.bounds, ledger.lo[at:at+n+1], ledger.total(at+n+1)/ladder.unit)
	ledger.showTraced(h, base, id)
	s.samples = append(s.samples, sample{row: s.row, desc: s.desc, labels: labels, hist: h})
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(out *dto.Metric) error {
	s.fill(out, new(dto.Counter), new(dto.Gauge))
	return nil
}

// fill makes out the sample's metric, with the counter or the gauge, whichever it is.
func (s *sample) fill(out *dto.Metric, c *dto.Counter, g *dto.Gauge) {
	out.Label = s.labels[:len(s.labels):len(s.labels)] // full: a wrapping registry appends
	switch s.row.kind {
	case counter:
		c.Value, out.Counter = &s.value, c
	case gauge:
		g.Value, out.Gauge = &s.value, g
	case histogram:
		out.Histogram = s.hist
	}
}

var _ interface {
	prometheus.Collector
	prometheus.Gatherer
} = (*Recorder)(nil)

// Describe implements prometheus.Collector.
func (r *Recorder) Describe(ch chan<- *prometheus.Desc) {
	for i, d := range r.descs { // none on Off
		if !table[i].page || r.opts.Resource {
			ch <- d
		}
	}
}

// Collect implements prometheus.Collector. A pedantic registry takes it too.
func (r *Recorder) Collect(ch chan<- prometheus.Metric) {
	if r.off {
		return
	}
	samples := r.read(r.opts.Resource)
	for i := range samples {
		ch <- &samples[i]
	}
}

// Gather implements prometheus.Gatherer: the recorder's families in the order of the table, target_info and
// process_start_time_seconds among them, labels in the order that METRICS.md gives. A family without samples is left out.
func (r *Recorder) Gather() ([]*dto.MetricFamily, error) { return r.gather() }

// gather is Gather, with what more writes after the table.
func (r *Recorder) gather(more ...func(*scrape)) ([]*dto.MetricFamily, error) {
	return r.gatherInto(new(scrape), more...), nil
}

// gatherInto is gather into the memory of a scrape before, whose families are gone then.
func (r *Recorder) gatherInto(s *scrape, more ...func(*scrape)) (families []*dto.MetricFamily) {
	if r.off {
		return nil
	}
	r.readInto(s, true, more...)
	for rest := s.samples; len(rest) > 0; {
		row, n := rest[0].row, 1
		for n < len(rest) && rest[n].row == row {
			n++
		}
		f := s.arena.families.one()
		f.Reset()
		name := row.sampleName()
		f.Name, f.Help, f.Type, f.Metric = &name, &row.help, familyTypes[row.kind].Enum(), s.arena.refs.take(n)
		for i := range f.Metric {
			f.Metric[i] = s.arena.metric(&rest[i])
		}
		families, rest = append(families, f), rest[n:]
	}
	return families
}

var familyTypes = [...]dto.MetricType{
	counter:   dto.MetricType_COUNTER,
	gauge:     dto.MetricType_GAUGE,
	histogram: dto.MetricType_HISTOGRAM,
}

// newDescs makes the descriptors of the table's rows, and the one of a duration without error_type. A registry that checks labels
// holds each sample against its own descriptor, and tells those of one name not apart.
func newDescs() (descs []*prometheus.Desc, succeeded *prometheus.Desc) {
	descs = make([]*prometheus.Desc, len(table))
	for i := range table {
		f := &table[i]
		names := f.labelNames()
		descs[i] = prometheus.NewDesc(f.sampleName(), f.help, names, nil)
		if n := len(names) - 1; n >= 0 && names[n] == errorTypeLabel {
			succeeded = prometheus.NewDesc(f.sampleName(), f.help, names[:n], nil)
		}
	}
	return descs, succeeded
}

// labelNames are the row's labels, base spelled out.
func (f *family) labelNames() []string {
	if f.labels == "" {
		return nil
	}
	var names []string
	for name := range strings.SplitSeq(f.labels, ",") {
		if name == "base" {
			names = append(names, strings.Split(baseLabels, ",")...)
		} else {
			names = append(names, name)
		}
	}
	return names
}
