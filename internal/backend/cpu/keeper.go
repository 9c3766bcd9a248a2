package cpu

import (
	"context"
	"errors"
	"time"
)

// keepWait is how long a model's Close waits for its panel cache: a program that
// opens, answers and ends gets one too, unless it is large or the disk is slow.
const keepWait = 5 * time.Second

// errGivenUp is why a writer was stopped.
var errGivenUp = errors.New("the model was closed before all was written")

// keeper is the writing of a model's panel cache; the zero value is of none. One
// goroutine at a time uses it.
type keeper struct {
	stop context.CancelCauseFunc // nil: nothing was written
	done chan struct{}           // closed when write has returned
}

// start runs write, which must return soon after its context ends.
func (k *keeper) start(write func(context.Context)) {
	var ctx context.Context
	ctx, k.stop = context.WithCancelCause(context.Background())
	k.done = make(chan struct{})
	go func() {
		defer close(k.done)
		write(ctx)
	}()
}

// giveUp tells the writer to stop, and does not wait for it.
func (k *keeper) giveUp() {
	if k.stop != nil {
		k.stop(errGivenUp)
	}
}

// finish waits for the writer to end by itself, but no longer than that; it has
// ended when finish returns.
func (k *keeper) finish(wait time.Duration) {
	if k.stop == nil {
		return
	}
	late := time.AfterFunc(wait, k.giveUp)
	<-k.done
	late.Stop()
	k.giveUp() // frees the context
}
