package gguf

import (
	"fmt"
	"math"
)

// elems finds an array key and checks its elements' kind. The scanner stands
// at the first of n elements, which Open found to be there: n is bounded by
// the file's size.
func (f *File) elems(key, want string, fits func(Kind) bool) (s scanner, elem Kind, n uint64, err error) {
	s, kind, ok := f.find(key)
	if !ok {
		return s, 0, 0, missing(key, want)
	}
	if kind != KindArray {
		return s, 0, 0, wrongType(key, kind.String(), want)
	}
	if elem, n = s.arrayHead(); !fits(elem) {
		return s, 0, 0, wrongType(key, fmt.Sprintf("array of %d %v", n, elem), want)
	}
	return s, elem, n, nil
}

// Len returns the number of elements of an array key.
func (f *File) Len(key string) (uint64, error) {
	_, _, n, err := f.elems(key, "an array", func(Kind) bool { return true })
	return n, err
}

// Strings returns an array of strings: views of the header's copy, 16 bytes
// each beside it. Callers who know how many there should be check Len first.
func (f *File) Strings(key string) ([]string, error) {
	s, _, n, err := f.elems(key, "an array of strings", func(k Kind) bool { return k == KindString })
	if err != nil {
		return nil, err
	}
	list := make([]string, n)
	for i := range list {
		v, _ := s.str("string length")
		list[i] = view(v)
	}
	return list, nil
}

// Ints returns an array of integers of any width whose values fit 32 bits.
func (f *File) Ints(key string) ([]int32, error) {
	s, elem, n, err := f.elems(key, "an array of integers", isInt)
	if err != nil {
		return nil, err
	}
	list := make([]int32, n)
	for i := range list {
		at := s.pos
		v, big := s.integer(elem)
		if big || v < math.MinInt32 || v > math.MaxInt32 {
			return nil, outOfRange(fmt.Sprintf("%s[%d]", clip([]byte(key)), i), at, v, big, math.MinInt32, math.MaxInt32)
		}
		list[i] = int32(v)
	}
	return list, nil
}

// Bools returns an array of bools.
func (f *File) Bools(key string) ([]bool, error) {
	s, _, n, err := f.elems(key, "an array of bools", func(k Kind) bool { return k == KindBool })
	if err != nil {
		return nil, err
	}
	list := make([]bool, n)
	for i := range list {
		list[i] = s.b[s.pos+uint64(i)] != 0
	}
	return list, nil
}

// Float32s returns an array of floats, rounded if they are float64.
func (f *File) Float32s(key string) ([]float32, error) {
	s, elem, n, err := f.elems(key, "an array of floats", isFloat)
	if err != nil {
		return nil, err
	}
	list := make([]float32, n)
	for i := range list {
		if list[i], err = narrow(key, s.float(elem)); err != nil {
			return nil, err
		}
	}
	return list, nil
}
