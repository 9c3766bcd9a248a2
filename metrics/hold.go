package metrics

import (
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"
)

// A record has one owner at a time, but the edge may be the first to go: a handler under http.TimeoutHandler outlives its
// request, and a stream that was never closed is ended by the engine a step later. So whoever fills a record holds it, and the
// last to let go, the edge or a holder, is the one who reads it and ends it.

// holds counts a record's holders, and says what has become of it.
//
//	│ holders │ finished │ claimed │ gone │
//	               1          1        1   bit
type holds struct{ word atomic.Int32 }

const (
	heldGone     = 1 << iota // the edge has had its last word
	heldClaimed              // an engine fills the record, or has
	heldFinished             // it is counted
	heldOnce
)

// finish says whether the caller is the one to count the record.
func (h *holds) finish() bool { return h.word.Or(heldFinished)&heldFinished == 0 }

// finishFree is finish for a record that nobody holds.
func (h *holds) finishFree() bool {
	for {
		w := h.word.Load()
		if w >= heldOnce || w&heldFinished != 0 {
			return false
		}
		if h.word.CompareAndSwap(w, w|heldFinished) {
			return true
		}
	}
}

// claim takes a record that no engine has had. One that is finished, or whose edge has gone with nobody holding it, is beyond use.
func (h *holds) claim() bool {
	for {
		w := h.word.Load()
		if w&(heldClaimed|heldFinished) != 0 || w == heldGone {
			return false
		}
		if h.word.CompareAndSwap(w, (w|heldClaimed)+heldOnce) {
			return true
		}
	}
}

// release gives up one hold, and the claim too if that is what unclaim says. It tells whether the record now waits for nobody.
func (h *holds) release(unclaim bool) (over bool) {
	for {
		w := h.word.Load()
		n := w - heldOnce
		if unclaim {
			n &^= heldClaimed
		}
		if h.word.CompareAndSwap(w, n) {
			return n&^heldClaimed == heldGone
		}
	}
}

// edgeFacts is what an edge knows of a reply once it has ended.
type edgeFacts struct {
	status int
	route  string
	fail   FailReason // the reply says so
	unless FailReason // the request failed like this unless the engine has ended it well
}

// Hold says that the caller fills the record, until it calls Release. An engine holds the record of an edge from Submit until the
// request has ended; so does a handler that may outlive what called it. Safe for concurrent use.
func (r *Record) Hold() { r.held.word.Add(heldOnce) }

// Release gives up what Hold took; the caller doesn't touch the record afterwards. If the edge has gone meanwhile, the last
// Release finishes the record in its place. Safe for concurrent use.
func (r *Record) Release() {
	if r.held.release(false) {
		r.conclude()
	}
}

// Claim says whether rec, a request's record that an edge has made, becomes the record of a request that m's engine is asked for. The
// engine then fills it, until it calls Release or [Record.Refuse]. Several requests may be made under one edge's record, one after
// the other or at once: the first that isn't refused takes it, the others get records of their own. So does one that comes
// when the record is finished, and one for a recorder other than that of the model that has begun it. If the model that has begun
// it is another of this recorder, the request is m's from now on: whoever answers has it. Safe for concurrent use.
func (m *Model) Claim(rec *Record) bool {
	if m == nil || m.rec.deaf() || !rec.held.claim() {
		return false
	}
	if rec.begun.Load() && rec.Model != m {
		if rec.Model.rec != m.rec {
			if rec.held.release(true) {
				rec.conclude()
			}
			return false
		}
		rec.Model.pending.Add(-1)
		m.pending.Add(1)
		rec.Model = m
	}
	if rec.refused {
		rec.refused, rec.Fail = false, NoFail
	}
	return true
}

// Refuse gives up what Claim took, since the engine doesn't take the request. The edge may submit it again, or answer in another way:
// the reason counts unless a later request is taken or the reply is a success. Safe for concurrent use.
func (r *Record) Refuse(f FailReason) {
	r.Fail, r.refused = f, true
	if r.held.release(true) {
		r.conclude()
	}
}

// over says whether the record is counted.
func (r *Record) over() bool { return r.held.word.Load()&heldFinished != 0 }

// leave is the edge's last word: it finishes the record, or leaves that to those who hold it.
func (r *Record) leave(f edgeFacts) {
	r.seen = f
	if r.held.word.Or(heldGone) < heldOnce {
		r.conclude()
	}
}

// conclude finishes a record that has begun and that nobody has finished, with what its edge saw.
func (r *Record) conclude() {
	if r.begun.Load() && r.held.finish() {
		r.end()
	}
}

// end completes the record with what its edge saw where the engine said nothing, and counts it.
func (r *Record) end() {
	r.Status, r.Route = r.seen.status, r.seen.route
	if r.refused && r.seen.fail == NoFail && 0 < r.seen.status && r.seen.status < 400 {
		r.Fail = NoFail // it was answered without the engine
	}
	if r.Fail == NoFail {
		r.Fail = r.seen.fail
	}
	if r.Fail == NoFail && r.Finish == NoFinish {
		r.Fail = r.seen.unless
	}
	r.Model.finish(r)
}

// newID makes the id of a request whose client gave none.
func newID() string {
	var b [12]byte
	rand.Read(b[:])
	return "req-" + hex.EncodeToString(b[:])
}
