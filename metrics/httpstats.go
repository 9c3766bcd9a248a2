package metrics

// httpStats are the requests that InstrumentHTTP has seen.
type httpStats struct{}
