package tokenizer

import "fmt"

// StopMatcher finds the first of some strings in a stream of bytes, and holds back the
// bytes that may turn out to belong to one. The match that is complete first wins, so
// the outcome does not depend on how the stream was cut; of those complete at the same
// byte, the longest.
//
// Each string has a Knuth-Morris-Pratt automaton, whose state is how much of it the
// stream ends with; the largest state is what must be held back. State and buffer are
// bounded by the strings and the longest Push; a Push allocates only to grow the buffer
// to a size it has not seen. One goroutine at a time.
type StopMatcher struct {
	stops []stopString
	held  int    // bytes at the end of buf that are held back
	buf   []byte // what was held back, then the last Push
	hit   int    // index of the string found, or -1
}

type stopString struct {
	text  []byte
	fail  []int32 // by length matched: length of its longest border
	state int32
}

// NewStopMatcher prepares for the given strings, none of which may be empty; with no
// strings everything passes at once.
func NewStopMatcher(stops []string) (*StopMatcher, error) {
	m := &StopMatcher{stops: make([]stopString, len(stops)), hit: -1}
	longest := 0
	for i, s := range stops {
		if s == "" {
			return nil, fmt.Errorf("tokenizer: stop string %d of %d is empty: it would stop everything", i, len(stops))
		}
		longest = max(longest, len(s))
		x := stopString{text: []byte(s), fail: make([]int32, len(s)+1)}
		k := int32(0)
		for j := 1; j < len(s); j++ {
			for k > 0 && s[k] != s[j] {
				k = x.fail[k]
			}
			if s[k] == s[j] {
				k++
			}
			x.fail[j+1] = k
		}
		m.stops[i] = x
	}
	m.buf = make([]byte, 0, 2*longest+64)
	return m, nil
}

// Push takes the next bytes and returns those that may be emitted now, good until the
// next call, and the index of the stop string that they complete, or -1. At a match,
// what is returned ends where the stop string begins; the rest is dropped, and later
// calls return nothing and the same index.
func (m *StopMatcher) Push(b []byte) (emit []byte, stop int) {
	if m.hit >= 0 {
		return nil, m.hit
	}
	// Bring what is held to the front, then read on behind it.
	m.buf = append(m.buf[:0], m.buf[len(m.buf)-m.held:]...)
	for _, c := range b {
		m.buf = append(m.buf, c)
		m.held = 0
		size := 0
		for i := range m.stops {
			x := &m.stops[i]
			k := x.state
			for k > 0 && x.text[k] != c {
				k = x.fail[k]
			}
			if x.text[k] == c {
				k++
			}
			x.state = k
			m.held = max(m.held, int(k))
			if int(k) == len(x.text) && len(x.text) > size {
				size, m.hit = len(x.text), i
			}
		}
		if m.hit >= 0 {
			m.held = 0
			return m.buf[:len(m.buf)-size], m.hit
		}
	}
	return m.buf[:len(m.buf)-m.held], -1
}

// Flush returns what is held back, for a stream that ended without a match, and starts
// over. Good until the next call.
func (m *StopMatcher) Flush() []byte {
	out := m.buf[len(m.buf)-m.held:]
	m.Reset()
	return out
}

// Reset starts over, forgetting what is held back.
func (m *StopMatcher) Reset() {
	for i := range m.stops {
		m.stops[i].state = 0
	}
	m.buf, m.held, m.hit = m.buf[:0], 0, -1
}

// Held returns how many bytes are held back.
func (m *StopMatcher) Held() int { return m.held }
