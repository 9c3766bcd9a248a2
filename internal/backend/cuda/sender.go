package cuda

import (
	"errors"
	"math"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/quant"
)

// sender is what a loading worker sends through: a stream and a pinned buffer. One
// goroutine uses it, with a context current.
type sender struct {
	driver  *driver.Driver
	calls   *driver.Calls
	stream  driver.Stream
	staging []byte
}

func (s *sender) open(bytes int64) (err error) {
	if s.calls, err = s.driver.Calls(); err != nil {
		return err
	}
	if s.stream, err = s.driver.NewStream(); err != nil {
		return err
	}
	s.staging, err = s.driver.AllocHost(bytes)
	return err
}

// close gives back what open got, as far as it came.
func (s *sender) close() error {
	var errs []error
	if s.staging != nil { // a copy may still read it, where one behind it failed
		errs = append(errs, settle(s.calls, s.stream))
		errs = append(errs, s.driver.FreeHost(s.staging))
	}
	if s.stream != 0 {
		errs = append(errs, s.driver.CloseStream(s.stream))
	}
	return errors.Join(errs...)
}

// settle waits until a stream has nothing left to do, so that memory of the host that it
// uses may go: giving that back waits for nothing. Where the card is lost the call fails
// at once, and nothing uses the memory any more; one that failed for another reason is
// tried again.
func settle(c *driver.Calls, s driver.Stream) error {
	err := c.Wait(s)
	if err != nil {
		c.Wait(s) // the first error is what is told
	}
	return err
}

// groups packs and sends groups from..to of matrix part of a stack, whose rows in the
// file are given.
func (s *sender) groups(m *matrix, part, from, to int, rows []byte) error {
	p := packings[m.format]
	planes, row := p.planes(m.cols), len(rows)/m.rows
	most := max(1, len(s.staging)/int(m.groupBytes()))
	dst := make([][]byte, len(planes))
	for from < to {
		n := min(most, to-from)
		rest := s.staging
		for i, bytes := range planes {
			dst[i], rest = rest[:int64(n)*bytes], rest[int64(n)*bytes:]
			clear(dst[i])
		}
		first, last := from*p.group, min((from+n)*p.group, m.rows)
		p.pack(dst, rows[first*row:last*row], last-first, m.cols)
		for i, bytes := range planes {
			at := m.planes[i] + address(int64(part)*m.strides[i]+int64(from)*bytes)
			if err := s.calls.CopyIn(driver.DevicePtr(at), dst[i], s.stream); err != nil {
				return err
			}
		}
		if err := s.calls.Wait(s.stream); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// vector widens n values to float32 and sends them.
func (s *sender) vector(at address, f quant.Format, values []byte, n int) error {
	out := make([]float32, n)
	f.Decode(out, values)
	data := make([]byte, 0, 4*n)
	for _, v := range out {
		data = le.AppendUint32(data, math.Float32bits(v))
	}
	return s.bytes(at, data)
}

// bytes sends bytes.
func (s *sender) bytes(at address, data []byte) error {
	for len(data) > 0 {
		n := copy(s.staging, data)
		if err := s.calls.CopyIn(driver.DevicePtr(at), s.staging[:n], s.stream); err != nil {
			return err
		}
		if err := s.calls.Wait(s.stream); err != nil {
			return err
		}
		at, data = at+address(n), data[n:]
	}
	return nil
}
