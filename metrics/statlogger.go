package metrics

import "time"

// StatLogger takes what the engines of a recorder do, beside the page. The vLLM view of the page is one, and LogStats makes another,
// which writes a line every 10 s; a caller's own goes into RecorderOptions.StatLoggers. A panic in it is contained and counted in
// Recorder.Faults.
type StatLogger interface {
	// OpenEngine is called once for each model, while it is being opened. What it returns is pushed that engine's steps and
	// finished requests, from the goroutines that make them, and must obey Observer's rules; nil: nothing is wanted. A request is
	// pushed after it has been counted: a scrape that the observer begins includes it. It must not use the recorder.
	OpenEngine(e EngineInfo) Observer

	// Log is called every RecorderOptions.LogInterval while a model is open, from one goroutine, with the engines in the order of
	// their opening; models without a Source are none. It must not keep engines.
	Log(engines []EngineStats)
}

// EngineInfo names an engine among those of a recorder.
type EngineInfo struct {
	Index      int       // the label engine: the least number that no other open engine of the recorder has
	Model      string    // the label model_name
	MaxContext int       // tokens of the longest sequence that it takes; 0: it doesn't say
	Opened     time.Time // tells an engine from an earlier one of the same index and name

	model *Model // for the view that the package builds in
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
	info := m.info()
	info.model = m
	o := l.OpenEngine(info)
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

// info is what StatLoggers are told of the engine. The caller holds the scrape lock.
func (m *Model) info() EngineInfo {
	return EngineInfo{Index: m.index, Model: m.name, MaxContext: m.last.MaxContext, Opened: m.opened}
}

// tellStep pushes a step to the observers, each by itself: one that panics keeps nothing from the others.
func (m *Model) tellStep(s *StepStats) {
	all := m.observers.Load()
	if all == nil || m.closed.Load() {
		return
	}
	for _, o := range *all {
		m.tell(o, s, nil)
	}
}

// tellFinish does the same with an ended request.
func (m *Model) tellFinish(rec *Record) {
	all := m.observers.Load()
	if all == nil || m.closed.Load() {
		return
	}
	for _, o := range *all {
		m.tell(o, nil, rec)
	}
}

func (m *Model) tell(o Observer, s *StepStats, rec *Record) {
	defer m.rec.guard("observer of a stat logger")
	if s != nil {
		o.Step(s)
	} else {
		o.Finish(rec)
	}
}

// logStats tells every StatLogger what the engines have done so far. The numbers are read under the scrape lock, as for a page;
// the loggers are called outside it, so that a slow one holds up no scrape.
func (r *Recorder) logStats() {
	engines, loggers := r.engineStats()
	if len(engines) == 0 {
		return
	}
	for _, l := range loggers {
		r.tellLogger(l, engines)
	}
}

func (r *Recorder) tellLogger(l StatLogger, engines []EngineStats) {
	defer r.guard("stat logger")
	l.Log(engines)
}

// engineStats copies what every open engine says now.
func (r *Recorder) engineStats() ([]EngineStats, []StatLogger) {
	r.scrape.Lock()
	defer r.scrape.Unlock()
	at := r.wall(r.now())
	engines := make([]EngineStats, 0, len(r.models))
	for _, m := range r.models {
		if m.source == nil {
			continue
		}
		m.pull()
		s := m.last
		engines = append(engines, EngineStats{EngineInfo: m.info(), At: at, Snapshot: &s})
	}
	return engines, r.loggers[:len(r.loggers):len(r.loggers)]
}

// addLogger makes l see the engines that are open, and those to come.
func (r *Recorder) addLogger(l StatLogger) {
	r.scrape.Lock()
	defer r.scrape.Unlock()
	r.loggers = append(r.loggers, l)
	for _, m := range r.models {
		m.observe(l)
	}
}
