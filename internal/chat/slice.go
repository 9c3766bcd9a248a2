package chat

import "unicode/utf8"

// sliceBounds are start, stop and step of a slice; nil means left out.
type sliceBounds struct{ start, stop, step *int64 }

// resolve gives the first index, the number of items and the step, for a
// sequence of n items, as Python does it.
func (b sliceBounds) resolve(n int64) (first, count, step int64, err error) {
	step = 1
	if b.step != nil {
		step = *b.step
	}
	if step == 0 {
		return 0, 0, 0, failf("slice step cannot be zero")
	}
	lo, hi := int64(0), n // the range that bounds are cut to
	if step < 0 {
		lo, hi = -1, n-1
	}
	bound := func(p *int64, def int64) int64 {
		if p == nil {
			return def
		}
		i := *p
		if i < 0 {
			i += n
		}
		return min(max(i, lo), hi)
	}
	if step > 0 {
		first = bound(b.start, lo)
		if stop := bound(b.stop, hi); stop > first {
			count = (stop-first-1)/step + 1
		}
		return first, count, step, nil
	}
	first = bound(b.start, hi)
	if stop := bound(b.stop, lo); stop < first {
		count = int64((uint64(first-stop) - 1) / -uint64(step)) // unsigned: -step may not fit
		count++
	}
	return first, count, step, nil
}

// last is where the slice ends, as Python cuts the written stop to the sequence.
func (b sliceBounds) last(n, step int64) int64 {
	lo, hi := int64(0), n
	if step < 0 {
		lo, hi = -1, n-1
	}
	if b.stop == nil {
		if step < 0 {
			return lo
		}
		return hi
	}
	i := *b.stop
	if i < 0 {
		i += n
	}
	return min(max(i, lo), hi)
}

// slice is obj[start:stop:step].
func (r *run) slice(obj Value, b sliceBounds) (Value, error) {
	if u, ok := obj.(*undefined); ok {
		return nil, u.fail()
	}
	if s, ok := strOf(obj); ok {
		out, err := r.sliceString(s, b)
		return sameKind(obj, out), err
	}
	if items, ok := seqOf(obj); ok {
		out, err := r.sliceItems(items, b)
		if _, ok := obj.(*tuple); ok {
			return &tuple{items: out}, err
		}
		return &list{out}, err
	}
	if x, ok := obj.(*rangeValue); ok {
		first, count, step, err := b.resolve(int64(x.n))
		if err != nil {
			return nil, err
		}
		stop := b.last(int64(x.n), step)
		return &rangeValue{x.start + first*x.step, x.start + stop*x.step, step * x.step, int(count)}, nil
	}
	if _, ok := obj.(*Map); ok {
		return nil, failf("unhashable type: 'slice'")
	}
	return nil, failf("'%s' object is not subscriptable", obj.pyType())
}

func (r *run) sliceItems(items []Value, b sliceBounds) ([]Value, error) {
	first, count, step, err := b.resolve(int64(len(items)))
	if err != nil {
		return nil, err
	}
	if step == 1 {
		return items[first : first+count : first+count], nil // shared: lists never change
	}
	if err := r.builtItems(int(count)); err != nil {
		return nil, err
	}
	out := make([]Value, count)
	for i := range out {
		out[i] = items[first+int64(i)*step]
	}
	return out, nil
}

// sliceString cuts by code points. The usual slice, of step 1, walks only up to
// its bounds, from whichever end they count.
func (r *run) sliceString(s string, b sliceBounds) (string, error) {
	if err := r.charge(len(s) / 16); err != nil {
		return "", err
	}
	if b.step == nil || *b.step == 1 {
		from, to := 0, len(s)
		if b.start != nil {
			from = runeOffset(s, *b.start)
		}
		if b.stop != nil {
			to = runeOffset(s, *b.stop)
		}
		return s[from:max(from, to)], nil
	}
	n := runeCount(s)
	first, count, step, err := b.resolve(int64(n))
	if err != nil {
		return "", err
	}
	if err := r.built(4*n + len(s)); err != nil {
		return "", err
	}
	if err := r.charge(n / 8); err != nil {
		return "", err
	}
	runes := []rune(s)
	out := make([]byte, 0, min(len(s), int(count)*utf8.UTFMax))
	for i := range count {
		out = utf8.AppendRune(out, runes[first+i*step])
	}
	return string(out), nil
}

// runeOffset is the byte offset of code point i, counted from the end where it
// is negative, and cut to the string.
func runeOffset(s string, i int64) int {
	if i >= 0 {
		off := 0
		for ; i > 0 && off < len(s); i-- {
			_, n := utf8.DecodeRuneInString(s[off:])
			off += n
		}
		return off
	}
	off := len(s)
	for ; i < 0 && off > 0; i++ {
		_, n := utf8.DecodeLastRuneInString(s[:off])
		off -= n
	}
	return off
}

// runeAt is code point i of s as a string, "" where there is none.
func runeAt(s string, i int64) string {
	if i < 0 {
		n := int64(0)
		off := len(s)
		for ; n > i && off > 0; n-- {
			_, w := utf8.DecodeLastRuneInString(s[:off])
			off -= w
		}
		if n > i {
			return ""
		}
		_, w := utf8.DecodeRuneInString(s[off:])
		return s[off : off+w]
	}
	off := runeOffset(s, i)
	_, w := utf8.DecodeRuneInString(s[off:])
	return s[off : off+w]
}

func runeCount(s string) int { return utf8.RuneCountInString(s) }
