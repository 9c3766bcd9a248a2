// Package conformance holds paddock against what others made: the official client
// of the API that it speaks, and the Prometheus server that scrapes it. It is a
// module of its own, so that what these tests need never reaches an importer of
// paddock.
package conformance
