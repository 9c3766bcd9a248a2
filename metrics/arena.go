package metrics

import dto "github.com/prometheus/client_model/go"

// arena is the memory that one reading's families are made of: a page has thousands of small parts. A handler lends the same arena
// to page after page, since nothing of it outlives the page; whoever calls Gather or Collect keeps what it gets, in an arena of
// its own.
type arena struct {
	families   bump[dto.MetricFamily]
	metrics    bump[dto.Metric]
	refs       bump[*dto.Metric]
	counters   bump[dto.Counter]
	gauges     bump[dto.Gauge]
	histograms bump[dto.Histogram]
	buckets    bump[dto.Bucket]
	bucketRefs bump[*dto.Bucket]
	counts     bump[uint64]
	sums       bump[float64]
}

// reset takes all parts back. They keep their values until they are made anew.
func (a *arena) reset() {
	a.families.used, a.metrics.used, a.refs.used, a.counters.used, a.gauges.used = 0, 0, 0, 0, 0
	a.histograms.used, a.buckets.used, a.bucketRefs.used, a.counts.used, a.sums.used = 0, 0, 0, 0, 0
}

// bump hands out parts of a chunk one behind the other. A chunk that is too short is left to those who have its parts.
type bump[T any] struct {
	chunk []T
	used  int
}

func (b *bump[T]) take(n int) []T {
	if b.used+n > len(b.chunk) {
		b.chunk, b.used = make([]T, max(n, 2*len(b.chunk))), 0
	}
	b.used += n
	return b.chunk[b.used-n : b.used : b.used]
}

func (b *bump[T]) one() *T { return &b.take(1)[0] }

// histogram makes a histogram of the observations of each bucket, the one without a bound last.
func (a *arena) histogram(bounds []float64, each []uint64, sum float64) *dto.Histogram {
	n := len(bounds)
	h, upTo := a.histograms.one(), a.counts.take(n+1)
	h.Reset()
	buckets, refs := a.buckets.take(n), a.bucketRefs.take(n+1)
	var total uint64 // counts fit 64 bits; only sums carry
	for i := range n {
		total += each[i]
		upTo[i] = total
		b := &buckets[i]
		b.UpperBound, b.CumulativeCount, b.Exemplar = &bounds[i], &upTo[i], nil
		refs[i] = b
	}
	upTo[n] = total + each[n]
	h.Bucket = refs[:n] // with room for a bucket without a bound
	h.SampleCount, h.SampleSum = &upTo[n], a.sums.one()
	*h.SampleSum = sum
	return h
}

// metric makes a sample's metric.
func (a *arena) metric(s *sample) *dto.Metric {
	m := a.metrics.one()
	m.Reset()
	s.fill(m, a.counters.one(), a.gauges.one())
	return m
}
