package metrics

// ticker wakes a recorder up while a model is open: for rollups every 10 s and for StatLoggers every LogInterval.
type ticker struct{}

// opened is called with the scrape lock held, after m has joined the models.
func (r *Recorder) opened(m *Model) {}

// closing is called with the scrape lock held, after m has left the models.
func (r *Recorder) closing(m *Model) {}
