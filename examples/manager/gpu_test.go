package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestEndWhileOpening: a library that never comes back from its opening holds up no end; should it come, it is closed.
func TestEndWhileOpening(t *testing.T) {
	p := &fakePoller{}
	begun, come := make(chan struct{}), make(chan struct{})
	g := newTestGPUs(func() (poller, error) {
		close(begun)
		<-come
		return p, nil
	})
	ctx, end := context.WithCancel(t.Context())
	kept := make(chan struct{})
	go func() {
		g.keep(ctx, time.Hour)
		close(kept)
	}()
	<-begun
	end()
	<-kept
	if _, p := g.now(); p != nil {
		t.Error("it is used")
	}
	close(come)
	eventually(t, "it is closed", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.closed
	})
}

// TestSignalHelper is the other process of TestSecondSignal: it takes for ever to end.
func TestSignalHelper(t *testing.T) {
	if os.Getenv("PADDOCK_TEST_SIGNAL") == "" {
		return // it is the other process of TestSecondSignal, and nothing by itself
	}
	ctx, stop := untilSignal()
	defer stop()
	fmt.Println("waits")
	<-ctx.Done()
	time.Sleep(time.Hour)
}

// TestSecondSignal: the first signal begins the end, the second one doesn't wait for it.
func TestSecondSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals are sent there")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSignalHelper$")
	cmd.Env = append(os.Environ(), "PADDOCK_TEST_SIGNAL=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }() // where the test failed
	eventually(t, "it ends", func() bool {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case err := <-ended:
			if err == nil || err.Error() != "signal: terminated" {
				t.Errorf("it ended with %v", err)
			}
			return true
		default:
			return false
		}
	})
}
