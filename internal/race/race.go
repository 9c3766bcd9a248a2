// Package race tells the race detector about memory that code it can't see
// touches: assembly, and a device's driver. Without the race build its
// functions are empty and cost nothing.
package race

// ReadSlice reports that the caller reads all of s. Safe for concurrent use.
func ReadSlice[E any](s []E) { read(s) }

// WriteSlice reports that the caller writes all of s. Safe for concurrent use.
func WriteSlice[E any](s []E) { write(s) }
