package sched

// Park takes a sequence out of the batch because nobody reads what it generates, or lets it come back. A parked sequence
// keeps its pages until others need them, is the first to lose them, and is ended as ReasonDisconnect by the Next that
// finds it parked for Limits.StallTimeout. Park reports false if the sequence is not live.
func (s *Scheduler) Park(id SeqID, on bool) bool {
	s.abandon()
	q := s.live[id]
	if q == nil {
		return false
	}
	if q.parked == on {
		return true
	}
	q.parked, q.stamped = on, false
	if q.place == forking {
		return true // has no list of its own; enter heeds it when it starts
	}
	if q.place == batch {
		s.withdraw(q)
	}
	s.drop(q)
	s.enter(q, q.place)
	return true
}

// sweep ends the sequences that nobody has read for too long. The clock of a stall starts at the first Next after Park,
// since that is the first moment at which it keeps anybody waiting.
func (s *Scheduler) sweep() {
	for i := 0; i < len(s.parked); {
		q := s.parked[i]
		if !q.stamped {
			q.stamped, q.parkedAt = true, s.now
		}
		if s.limits.StallTimeout >= 0 && s.now-q.parkedAt >= s.limits.StallTimeout {
			s.end(q, ReasonDisconnect)
			s.plan.Ended = append(s.plan.Ended, Ended{Seq: q, Reason: ReasonDisconnect})
			continue // what was behind it moved up
		}
		i++
	}
}
