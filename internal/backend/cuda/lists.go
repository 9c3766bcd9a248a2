package cuda

import (
	"errors"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// maxLists bounds the buckets that are kept ready: those used last stay.
const maxLists = 128

// lists are the launches of the buckets that steps fell into. They belong to the
// goroutine of their runner.
type lists struct {
	byBucket map[bucket]*list
	step     uint64
	lost     int // graphs that there was no memory for
}

// warm is the list of a bucket, or nil. It allocates nothing.
func (s *lists) warm(b bucket) *list {
	s.step++
	l := s.byBucket[b]
	if l != nil {
		l.used = s.step
	}
	return l
}

// room lets go of the list that was not used for longest, if there are as many as may
// be. No step is running.
func (s *lists) room(d *driver.Driver) error {
	if len(s.byBucket) < maxLists {
		return nil
	}
	b, l := s.oldest(func(*list) bool { return true })
	delete(s.byBucket, b)
	return l.close(d)
}

// oldest is the list that was not used for longest, of those that are ok; nil: none is.
func (s *lists) oldest(ok func(*list) bool) (at bucket, l *list) {
	for b, x := range s.byBucket {
		if ok(x) && (l == nil || x.used < l.used) {
			at, l = b, x
		}
	}
	return at, l
}

// ungraph gives the graph back that was not used for longest; false where there is
// none. No step is running. The bucket's launches go one by one from then on.
func (s *lists) ungraph(d *driver.Driver) (bool, error) {
	_, l := s.oldest(func(l *list) bool { return l.graph != 0 })
	if l == nil {
		return false, nil
	}
	s.lost++
	return true, l.ungraph(d)
}

// add keeps the list of a bucket.
func (s *lists) add(b bucket, l *list) {
	l.used = s.step
	s.byBucket[b] = l
}

// close lets go of all of them.
func (s *lists) close(d *driver.Driver) error {
	var errs []error
	for _, l := range s.byBucket {
		errs = append(errs, l.close(d))
	}
	clear(s.byBucket)
	return errors.Join(errs...)
}
