package main

import "fmt"

// unit is what a figure counts, and whether more of it is better.
type unit uint8

const (
	tokensPerSecond unit = iota
	seconds
	megabytes
)

var unitNames = [...]string{"tok/s", "s", "MB"}

func (u unit) String() string { return unitNames[u] }

// MarshalText names the unit.
func (u unit) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads a unit's name.
func (u *unit) UnmarshalText(b []byte) error {
	for i, name := range unitNames {
		if string(b) == name {
			*u = unit(i)
			return nil
		}
	}
	return fmt.Errorf("no unit is called %q", b)
}

// ratio is how many times as good ours is: above 1 it is better, whatever the unit.
func (u unit) ratio(ours, theirs float64) float64 {
	if u != tokensPerSecond {
		ours, theirs = theirs, ours
	}
	if theirs == 0 {
		return 0
	}
	return ours / theirs
}

// figure is one number of a run.
type figure struct {
	name  string
	unit  unit
	value float64
}

// outcome is what one run of one side gave: the figure that it was run for first.
type outcome struct {
	figures []figure
	row     row // of a task
}
