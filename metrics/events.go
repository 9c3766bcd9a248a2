package metrics

// eventRing remembers the newest ended requests.
type eventRing struct{}

func newEventRing(n int) *eventRing { return nil }

// push adds an ended request. It allocates nothing.
func (e *eventRing) push(r *Recorder, m *Model, rec *Record) {}
