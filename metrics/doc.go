// Package metrics says what an engine did: it takes observations from serving loops and HTTP edges, and shows them as a
// Prometheus page.
//
// Two streams meet in a [Recorder]. Counters and gauges are pulled: once a scrape, every loaded model's [Source] hands out
// one consistent [Snapshot], so the books balance on every page. Histograms and the outcome of requests are pushed: the loop
// calls [Model.Step] after each step and whoever made a request's [Record] calls [Model.Finish] at its end. Pushing
// allocates nothing and waits for nobody:
//
//	loop ──Step──┐                        ┌── Source.Snapshot   (counters, gauges)
//	             ├─► hot half │ cold half ┤
//	edge ─Finish─┘     swapped by a scrape└── Recorder.Collect ─► page
//
// Labels come from closed enums and from the names of loaded models, by type: nothing in the recording API takes text that a
// request could bring.
//
// The smallest use is one line on the caller's mux:
//
//	mux.Handle("/metrics", metrics.Handler())
//
// A Recorder is also a [prometheus.Collector], for programs that have a registry of their own. All families are listed in
// METRICS.md beside this file, which is generated from the table in table.go.
package metrics
