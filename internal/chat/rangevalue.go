package chat

import "strconv"

// rangeValue is Python's range: its numbers are made as they are asked for.
type rangeValue struct {
	start, stop, step int64
	n                 int // at most maxRange
}

func (*rangeValue) pyType() string { return "range" }

func newRange(start, stop, step int64) (*rangeValue, error) {
	if step == 0 {
		return nil, failf("range() arg 3 must not be zero")
	}
	// Unsigned, since the distance of two int64 needs all 64 bits.
	var span, width uint64
	if step > 0 && stop > start {
		span, width = uint64(stop)-uint64(start), uint64(step)
	} else if step < 0 && stop < start {
		span, width = uint64(start)-uint64(stop), -uint64(step)
	}
	n := uint64(0)
	if span > 0 {
		n = (span-1)/width + 1
	}
	if n > maxRange {
		return nil, &LimitError{"items in a range", maxRange}
	}
	return &rangeValue{start, stop, step, int(n)}, nil
}

func (x *rangeValue) at(i int) Value { return integer(x.start + int64(i)*x.step) }

func (x *rangeValue) iter() iterator {
	i := 0
	return iterFunc(func(r *run) (Value, bool, error) {
		if i >= x.n {
			return nil, false, nil
		}
		i++
		return x.at(i - 1), true, r.step()
	})
}

func (x *rangeValue) repr() string {
	s := "range(" + strconv.FormatInt(x.start, 10) + ", " + strconv.FormatInt(x.stop, 10)
	if x.step != 1 {
		s += ", " + strconv.FormatInt(x.step, 10)
	}
	return s + ")"
}
