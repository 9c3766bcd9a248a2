package metrics

import "time"

// StatLogger takes what the engines of a recorder do, beside the page. The vLLM view of the page is one, and LogStats makes another,
// which writes a line every 10 s; a caller's own goes into RecorderOptions.StatLoggers. A panic in it is contained and counted in
// Recorder.Faults.
type StatLogger interface {
	// OpenEngine is called once for each model, while it is being opened. What it returns is pushed that engine's steps and
	// finished requests, from the goroutines that make them, and must obey Observer's rules; nil: nothing is wanted.
	OpenEngine(e EngineInfo) Observer

	// Log is called every RecorderOptions.LogInterval while a model is open, from one goroutine, with the engines in the order of
	// their opening. It must not keep engines.
	Log(engines []EngineStats)
}

// EngineInfo names an engine among those of a recorder.
type EngineInfo struct {
	Index int    // the label engine: the least number that no other open engine of the recorder has
	Model string // the label model_name
}

// EngineStats is what an engine has done up to At.
type EngineStats struct {
	EngineInfo
	At       time.Time
	Snapshot *Snapshot
}

// observe asks l for an observer of m. The caller holds the scrape lock.
func (m *Model) observe(l StatLogger) {
	defer m.rec.guard("stat logger")
	o := l.OpenEngine(EngineInfo{Index: m.index, Model: m.name})
	if o == nil {
		return
	}
	var all []Observer
	if old := m.observers.Load(); old != nil {
		all = append(all, *old...)
	}
	all = append(all, o)
	m.observers.Store(&all)
}
