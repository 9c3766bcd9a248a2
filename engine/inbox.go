package engine

import "sync"

// commandKind tells what a command asks of the loop.
type commandKind uint8

const (
	cmdAdd    commandKind = iota // take job in and answer on job.ack
	cmdCancel                    // end job with err
	cmdUnpark                    // job's ring has room again
	cmdDrain                     // take nothing more in
	cmdAbort                     // end every job with err
	cmdClose                     // end every job with ErrClosed and leave
)

// command is a message to the loop.
type command struct {
	kind commandKind
	job  *job
	err  error

	drained chan struct{} // cmdDrain: closed when nothing is left
}

// inbox is how other goroutines reach the loop: a list under a lock that nobody
// holds for long, and one slot that wakes.
type inbox struct {
	mu       sync.Mutex
	commands []command
	closed   bool

	wake chan struct{}
}

// post hands a command over and reports whether the loop will still see it.
func (b *inbox) post(c command) bool { return b.postAll([]command{c}) }

// postAll hands commands over at once, so that one turn of the loop sees all.
func (b *inbox) postAll(list []command) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	b.commands = append(b.commands, list...)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return true
}

// take swaps the waiting commands for the emptied list of an earlier take.
func (b *inbox) take(empty []command) []command {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.commands
	b.commands = empty[:0]
	return got
}

// close refuses what comes from now on and returns what still waited.
func (b *inbox) close() []command {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	got := b.commands
	b.commands = nil
	return got
}
