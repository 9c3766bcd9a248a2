package metrics

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
)

// httpStats are the requests that InstrumentHTTP has seen: a ledger for each route, and one for all together. They share a gate, so
// that a request is in all families of a page or in none. Finding a route that was seen before takes no lock; only the first
// request of a new one does, and no scrape.
//
// What a router calls its pattern may be request text. So there are at most maxHTTPRoutes of them, 4 KiB each, and the rest is one.
type httpStats struct {
	gate   gate
	all    *ledger
	routes atomic.Pointer[httpRoutes] // nil: InstrumentHTTP wraps nothing
	adding sync.Mutex
}

// maxHTTPRoutes is how many patterns have series of their own, maxPattern how long they may be.
const maxHTTPRoutes, maxPattern = 256, 256

// Where requests without a pattern, and those with one too many, are counted.
const noPattern, otherPattern = "none", other

// httpRoutes is never changed: a new route makes a new one.
type httpRoutes struct {
	byPattern map[string]*httpRoute
	sorted    []*httpRoute // by pattern: the order of the page
}

// httpRoute is the requests of one route.
type httpRoute struct {
	pattern string
	label   *dto.LabelPair
	ledger  *ledger
}

// httpMethods are the values of the label method; the last takes all that aren't listed. HTTP's methods have a fixed case.
var httpMethods = [...]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", other}

// httpStatuses are the values of the label status; the first takes what is no HTTP status.
var httpStatuses = [...]string{other, "1xx", "2xx", "3xx", "4xx", "5xx"}

const numHTTPMethods, numHTTPStatuses = len(httpMethods), len(httpStatuses)

// The histograms of a route.
const (
	hHTTPDuration     histID = 0 // and one for each further method
	hHTTPRequestSize  histID = histID(numHTTPMethods)
	hHTTPResponseSize histID = hHTTPRequestSize + 1
	numHTTPHists             = int(hHTTPResponseSize) + 1
)

// httpLayout is where a route's numbers lie, httpAllLayout those of all routes together. Requests are counted from the word success
// on, by method and status.
var httpLayout, httpAllLayout = func() (route, all *layout) {
	sizes := &ladder{unit: 1} // 256 B · 4^i up to 16 MiB
	for i := range 9 {
		sizes.limits = append(sizes.limits, 256<<(2*i))
		sizes.bounds = append(sizes.bounds, float64(sizes.limits[i]))
	}
	route = &layout{ladders: make([]*ladder, numHTTPHists), at: make([]int, numHTTPHists)}
	for i := range numHTTPMethods {
		route.ladders[i] = mustSeconds(0.1, 0.5, 1)
	}
	route.ladders[hHTTPRequestSize], route.ladders[hHTTPResponseSize] = sizes, sizes
	for i, l := range route.ladders {
		route.at[i] = route.size
		route.size += l.cells()
	}
	route.success = route.size
	route.size += numHTTPMethods * numHTTPStatuses
	fine := mustSeconds(0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10, 30, 60)
	return route, &layout{ladders: []*ladder{fine}, at: []int{0}, size: fine.cells()}
}()

// mustSeconds is for bounds that stand in the code.
func mustSeconds(bounds ...float64) *ladder {
	l, err := seconds(bounds)
	if err != nil {
		panic(err)
	}
	return l
}

// open makes the families appear.
func (s *httpStats) open() {
	s.adding.Lock()
	defer s.adding.Unlock()
	if s.routes.Load() != nil {
		return
	}
	s.all = newLedger(httpAllLayout, &s.gate)
	routes := &httpRoutes{byPattern: map[string]*httpRoute{}}
	s.routes.Store(routes.with(s.newRoute(noPattern)).with(s.newRoute(otherPattern)))
}

// route returns where requests of a pattern are counted. It keeps no text of a request.
func (s *httpStats) route(pattern string) *httpRoute {
	if pattern == "" {
		pattern = noPattern
	}
	routes := s.routes.Load()
	if r := routes.byPattern[pattern]; r != nil {
		return r
	}
	if len(pattern) > maxPattern || len(routes.sorted) >= maxHTTPRoutes+2 || !utf8.ValidString(pattern) {
		return routes.byPattern[otherPattern]
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	routes = s.routes.Load()
	if r := routes.byPattern[pattern]; r != nil {
		return r
	}
	if len(routes.sorted) >= maxHTTPRoutes+2 { // the two that aren't patterns are there from the start
		return routes.byPattern[otherPattern]
	}
	r := s.newRoute(strings.Clone(pattern))
	s.routes.Store(routes.with(r))
	return r
}

func (s *httpStats) newRoute(pattern string) *httpRoute {
	return &httpRoute{pattern: pattern, label: pair("handler", pattern), ledger: newLedger(httpLayout, &s.gate)}
}

// with returns the routes and r.
func (h *httpRoutes) with(r *httpRoute) *httpRoutes {
	out := &httpRoutes{byPattern: make(map[string]*httpRoute, len(h.byPattern)+1)}
	at, _ := slices.BinarySearchFunc(h.sorted, r, func(a, b *httpRoute) int { return strings.Compare(a.pattern, b.pattern) })
	out.sorted = slices.Insert(slices.Clone(h.sorted), at, r)
	for _, r := range out.sorted {
		out.byPattern[r.pattern] = r
	}
	return out
}

// observe counts a request that was answered. It takes no lock and allocates nothing.
func (s *httpStats) observe(route *httpRoute, method string, status int, took time.Duration, read, written int64) {
	m := 0
	for m < numHTTPMethods-1 && httpMethods[m] != method {
		m++
	}
	class := status / 100
	if class < 1 || class >= numHTTPStatuses {
		class = 0
	}
	half := s.gate.enter()
	defer s.gate.leave(half)
	e := route.ledger.in(half)
	e.cells[e.success+m*numHTTPStatuses+class].Add(1)
	e.observe1(0, hHTTPDuration+histID(m), nanos(took))
	e.observe1(0, hHTTPRequestSize, uint64(max(0, read)))
	e.observe1(0, hHTTPResponseSize, uint64(max(0, written)))
	s.all.in(half).observe1(0, 0, nanos(took))
}

// drain moves what was pushed since the last drain into the totals. The caller holds the scrape lock.
func (s *httpStats) drain() {
	if s.routes.Load() == nil {
		return
	}
	cold := s.gate.flip()
	for _, r := range s.routes.Load().sorted { // after the flip: whoever wrote into the cold half had its route there before
		r.ledger.take(cold)
	}
	s.all.take(cold)
}

var (
	methodPairs = pairsOf("method", httpMethods[:])
	statusPairs = pairsOf("status", httpStatuses[:])
)

// perRoute is a family of the routes that have been asked for.
func perRoute(write func(*scrape, *httpRoute)) func(*scrape) {
	return func(s *scrape) {
		if routes := s.rec.http.routes.Load(); routes != nil {
			for _, r := range routes.sorted {
				write(s, r)
			}
		}
	}
}

func writeHTTPRequests(s *scrape, r *httpRoute) {
	for m := range numHTTPMethods {
		for class := range numHTTPStatuses {
			if n := r.ledger.total(httpLayout.success + m*numHTTPStatuses + class); n > 0 {
				s.value(n, r.label, methodPairs[m], statusPairs[class])
			}
		}
	}
}

func writeHTTPDuration(s *scrape, r *httpRoute) {
	for m := range numHTTPMethods {
		s.histogramOf(r.ledger, 0, hHTTPDuration+histID(m), false, []*dto.LabelPair{r.label, methodPairs[m]})
	}
}

func writeHTTPSize(id histID) func(*scrape, *httpRoute) {
	return func(s *scrape, r *httpRoute) { s.histogramOf(r.ledger, 0, id, false, []*dto.LabelPair{r.label}) }
}

func writeHTTPDurationOfAll(s *scrape) {
	if s.rec.http.routes.Load() != nil {
		s.histogramOf(s.rec.http.all, 0, 0, true, nil)
	}
}
