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
// Beside the page, a [StatLogger] is told what the engines do: [LogStats] writes a line for each every 10 s, HandlerOptions.VLLM shows
// vLLM's families beside our own, and a caller may bring others.
//
// A recorder remembers, too. Each ended request is an [Event] in a ring ([Recorder.Events]), and what models did over time lies in slots
// of 10 s, 1 min and 1 h ([Recorder.Rollups]); [APIHandler] serves both, and the numbers now ([Recorder.Stats]), as JSON. Both are bounded
// however long a process runs:
//
//	events    4,096 by default: 1.3 MB, and at most 6.6 MB with the texts that they show
//	rollups   a series (operation, origin, model) in which each slot of 90 days is used: 1.75 MB; a model of which all 15 series are: 26.5 MB.
//	          With 64 bounds for each histogram: 6.5 MB and 98 MB. Idle slots take nothing. The newest 8 closed models stay until they age out.
//
// The smallest use is one line on the caller's mux:
//
//	mux.Handle("/metrics", metrics.Handler())
//
// A Recorder is also a [prometheus.Collector], for programs that have a registry of their own. All families are listed in
// METRICS.md beside this file, which is generated from the table in table.go.
package metrics
