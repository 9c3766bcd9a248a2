package metrics

import (
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"
)

// A record has one owner at a time, but the edge may be the first to go: a handler under http.TimeoutHandler outlives its
// request, and a stream that was never closed is ended by the engine a step later. So whoever fills a record holds it, and the
// last to let go, the edge or a holder, is the one who reads it and ends it.

// holds counts a record's holders, and says whether its edge has gone.
//
//	│ holders (31 bits) │ gone (1 bit) │
type holds struct{ word atomic.Int32 }

const (
	edgeGone  = 1
	oneHolder = 2
)

// edgeFacts is what an edge knows of a reply once it has ended.
type edgeFacts struct {
	status int
	route  string
	fail   FailReason // the reply says so
	unless FailReason // the request failed like this unless the engine has ended it well
}

// Hold says that the caller fills the record, until it calls Release. An engine holds the record of an edge from Submit until the
// request has ended; so does a handler that may outlive what called it. Safe for concurrent use.
func (r *Record) Hold() { r.held.word.Add(oneHolder) }

// Release gives up what Hold took; the caller doesn't touch the record afterwards. If the edge has gone meanwhile, the last
// Release finishes the record in its place. Safe for concurrent use.
func (r *Record) Release() {
	if r.held.word.Add(-oneHolder) == edgeGone {
		r.conclude()
	}
}

// free says whether nobody but the edge has the record.
func (r *Record) free() bool { return r.held.word.Load() == 0 }

// leave is the edge's last word: it finishes the record, or leaves that to those who hold it.
func (r *Record) leave(f edgeFacts) {
	r.seen = f
	if r.held.word.Or(edgeGone) == 0 {
		r.conclude()
	}
}

// conclude finishes a record that has begun and that nobody has finished, with what its edge saw where the engine said nothing.
func (r *Record) conclude() {
	if !r.begun.Load() || r.done.Load() {
		return
	}
	r.Status, r.Route = r.seen.status, r.seen.route
	if r.Fail == NoFail {
		r.Fail = r.seen.fail
	}
	if r.Fail == NoFail && r.Finish == NoFinish {
		r.Fail = r.seen.unless
	}
	r.Model.Finish(r)
}

// newID makes the id of a request whose client gave none.
func newID() string {
	var b [12]byte
	rand.Read(b[:])
	return "req-" + hex.EncodeToString(b[:])
}
