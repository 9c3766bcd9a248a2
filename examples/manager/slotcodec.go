package main

import (
	"encoding/binary"
	"math"

	"github.com/paddock-go/paddock/metrics"
)

// seriesID is what a slot counts: the requests of one operation and origin of a model, or, as engine, what the model's engine did.
type seriesID struct {
	op, origin uint8 // indices below; engine: both engineSeries
	model      string
}

const engineSeries = 0xff

var (
	operations = [...]string{"chat", "text_completion", "embeddings", "rerank", "count_tokens"}
	origins    = [...]string{"live", "batch", "studio"}
)

// slotKey is start │ operation │ origin │ model: the slots of a run lie in the order of time.
func slotKey(start int64, s seriesID) []byte {
	k := make([]byte, 0, 10+len(s.model))
	k = binary.BigEndian.AppendUint64(k, uint64(start))
	return append(append(k, s.op, s.origin), s.model...)
}

// startKey is what the keys of slots from start on are at or above.
func startKey(start int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(max(0, start))) }

func parseSlotKey(k []byte) (start int64, s seriesID, ok bool) {
	if len(k) < 10 {
		return 0, s, false
	}
	s = seriesID{k[8], k[9], string(k[10:])}
	engine := s.op == engineSeries && s.origin == engineSeries
	if !engine && (int(s.op) >= len(operations) || int(s.origin) >= len(origins)) {
		return 0, s, false
	}
	return int64(binary.BigEndian.Uint64(k)), s, true
}

// appendCounts writes a slot's counts: seven numbers, then of each histogram the number of buckets, the buckets, and the sum.
func appendCounts(b []byte, c *metrics.RollupCounts) []byte {
	for _, v := range [...]uint64{c.Successes, c.ClientErrors, c.ServerErrors, c.Disconnects, c.PromptTokens, c.CachedTokens, c.GeneratedTokens} {
		b = binary.AppendUvarint(b, v)
	}
	for _, h := range [...]*metrics.RollupHistogram{&c.Duration, &c.FirstToken, &c.PerToken} {
		b = binary.AppendUvarint(b, uint64(len(h.Counts)))
		for _, v := range h.Counts {
			b = binary.AppendUvarint(b, v)
		}
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(h.Sum))
	}
	return b
}

func parseCounts(b []byte) (c metrics.RollupCounts, ok bool) {
	r := wordReader{b: b}
	for _, v := range [...]*uint64{&c.Successes, &c.ClientErrors, &c.ServerErrors, &c.Disconnects, &c.PromptTokens, &c.CachedTokens, &c.GeneratedTokens} {
		*v = r.next()
	}
	c.Requests = c.Successes + c.ClientErrors + c.ServerErrors + c.Disconnects
	for _, h := range [...]*metrics.RollupHistogram{&c.Duration, &c.FirstToken, &c.PerToken} {
		n := r.next()
		if n > maxBuckets {
			return c, false
		}
		h.Counts = make([]uint64, n)
		for i := range h.Counts {
			h.Counts[i] = r.next()
		}
		h.Sum = r.float()
	}
	return c, !r.short && len(r.b) == 0
}

// appendEngine writes what an engine did in a slot.
func appendEngine(b []byte, e *metrics.RollupEngine) []byte {
	for _, v := range engineValues(e) {
		b = binary.AppendUvarint(b, *v)
	}
	return b
}

func parseEngine(b []byte) (e metrics.RollupEngine, ok bool) {
	r := wordReader{b: b}
	for _, v := range engineValues(&e) {
		*v = r.next()
	}
	return e, !r.short && len(r.b) == 0
}

// engineMaxima is how many of an engine's values, the first ones, are maxima and not counts.
const engineMaxima = 3

func engineValues(e *metrics.RollupEngine) [8]*uint64 {
	return [...]*uint64{&e.KVPagesMax, &e.RunningMax, &e.WaitingMax, &e.SpecDraftTokens, &e.SpecAcceptedTokens, &e.Preemptions, &e.PrefixQueries, &e.PrefixHits}
}

// wordReader reads numbers; short says that there were too few.
type wordReader struct {
	b     []byte
	short bool
}

func (r *wordReader) next() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.short = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *wordReader) float() float64 {
	if len(r.b) < 8 {
		r.b, r.short = nil, true
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
	r.b = r.b[8:]
	return v
}
