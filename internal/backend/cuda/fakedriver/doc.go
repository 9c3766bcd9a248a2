// Package fakedriver is a driver library for tests, in plain Go: it offers the
// functions of the real one under their exact names (the old ones without _v2 are not
// there), and runs kernels in the interpreter, ptxsim.
//
//	driver.New(fake.Library()) ─▶ cuLaunchKernel ─▶ stream's queue ─▶ at a wait: ptxsim
//
// It is stricter than a card. What is put into a stream runs as late as can be: only
// when somebody waits for it, and only that stream with what it waits for itself. Other
// paces run it at once, or at any call, streams in any order. Where a copy goes is
// rubbish until it is done; a copy's source that is written to before, and pinned memory
// or a module that is given back while queued work uses it, end the context. Each handle,
// pointer and length is checked, and so are the thread's context, what a capture allows,
// and the memory that a queued copy will touch.
//
// A kernel that breaks a rule of the interpreter's ends the context, as a card's fault
// does: that wait and every later call fail. Fault tells what the interpreter saw.
// Scripted failures come from Fail, counts of calls from Calls.
//
// Only tests and internal/cmd/gpucheck import it.
package fakedriver
