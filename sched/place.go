package sched

// place is the list that a live sequence is in. It is finer than State: each place has its own rule of how to leave it.
type place uint8

const (
	nowhere   place = iota // not live
	queued                 // never in the batch; in its tenant's queue
	sharing                // waits for a page that another is computing; in Scheduler.sharing
	preempted              // lost its pages; in Scheduler.resume
	returning              // was kept out of the batch for lack of a place there; in Scheduler.resume
	forking                // a choice whose prompt is not computed yet; in its leader's Forks
	parked                 // nobody reads it; in Scheduler.parked
	batch                  // in Scheduler.running
)

var placeWaits = [...]Wait{
	nowhere: WaitNone, queued: WaitCapacity, sharing: WaitPrefix, preempted: WaitPreempted,
	returning: WaitCapacity, forking: WaitPrefix, parked: WaitParked, batch: WaitNone,
}

func (p place) wait() Wait { return placeWaits[p] }

// forkWait is what the choices wait for whose leader is at p: the same as the leader, or the leader itself.
func (p place) forkWait() Wait {
	if p == batch {
		return WaitPrefix
	}
	return p.wait()
}

// wait is why q waits.
func (q *Sequence) wait() Wait {
	if q.place == forking {
		return q.leader.place.forkWait()
	}
	return q.place.wait()
}

// put moves q, and with it the choices that start with it, to another place in the books. The lists are the caller's
// business.
func (s *Scheduler) put(q *Sequence, to place) {
	s.count(q, -1)
	q.place = to
	s.count(q, +1)
	q.state = StateWaiting
	if to == batch {
		q.state = StateRunning
	}
}

// count adds q and its choices to the gauges, or takes them away.
func (s *Scheduler) count(q *Sequence, by int) {
	if q.place == nowhere {
		return
	}
	s.waiting[q.wait()] += by
	if q.place != forking {
		s.waiting[q.place.forkWait()] += by * len(q.Forks)
	}
}
