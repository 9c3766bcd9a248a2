// Package conformance holds paddock against what others made: the official client
// of the API that it speaks, the Prometheus server that scrapes it, the strict
// parser of Prometheus' Python library, and scrapers that give up at one bad
// answer. The endpoint picker of the Gateway API is in gateway, a module of its
// own.
//
// It is a module of its own, so that what these tests need never reaches an
// importer of paddock.
package conformance
