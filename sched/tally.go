package sched

// Tally is what one sequence took part in, by the same rules as the counters of Stats: added over all sequences it gives
// those.
type Tally struct {
	Preemptions int // times it lost its pages to others
	Drafted     int // draft rows
	Accepted    int // of those, kept
}

// Tally is what happened to the sequence so far; it stays readable after its end.
func (q *Sequence) Tally() Tally { return q.tally }
