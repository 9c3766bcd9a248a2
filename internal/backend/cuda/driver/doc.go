// Package driver calls NVIDIA's driver library, libcuda, without a toolkit and without
// cgo. It knows names, signatures and codes, and nothing of what they are used for.
//
//	Library ─ Bind(symbol, &func) ─▶ Table   cold calls, typed funcs: any goroutine
//	                              ─▶ Hot     what a step calls: one goroutine, no allocation
//
// A Library is libcuda, or what tests put in its place: it binds functions by their
// exact names, _v2 suffixes included, to fields of exactly these types. Every code
// that is not 0 comes back as an *Error that names the call.
package driver
