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
	var oldest bucket
	var l *list
	for b, x := range s.byBucket {
		if l == nil || x.used < l.used {
			oldest, l = b, x
		}
	}
	delete(s.byBucket, oldest)
	return l.close(d)
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
