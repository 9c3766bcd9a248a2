package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// host is a server under test: one that runs already, or a command that is started for
// each run, so that what it kept of the last one is gone.
type host struct {
	name    string
	url     string
	command []string // with {port} where the port goes
	rounds  int      // runs so far, so that each has prompts of its own
}

// hosts are the servers that the flags name, ours first.
func (c *config) hosts() ([]*host, error) {
	var list []*host
	add := func(h *host) {
		h.name = "ours"
		if n := len(list); n == 1 {
			h.name = "theirs"
		} else if n > 1 {
			h.name = fmt.Sprintf("theirs %d", n)
		}
		list = append(list, h)
	}
	if c.serve != "" && len(c.serveCommands) > 0 {
		return nil, errors.New("-serve and -serve-cmd exclude each other")
	}
	if c.serve != "" {
		for _, url := range strings.Split(c.serve, ",") {
			add(&host{url: url})
		}
	}
	for _, command := range c.serveCommands {
		if !strings.Contains(command, "{port}") {
			return nil, fmt.Errorf("-serve-cmd is %q, must have {port} where the server's port goes", command)
		}
		add(&host{command: strings.Fields(command)})
	}
	return list, nil
}

// contender is the server with the test that is run against it.
func (h *host) contender(t serveTest) contender {
	return contender{h.name, func(ctx context.Context) (outcome, error) {
		ctx, cancel := context.WithTimeout(ctx, childLimit)
		defer cancel()
		h.rounds++
		if h.command == nil {
			return t.run(ctx, h.url, h.rounds)
		}
		s, err := startServer(ctx, h.command)
		if err != nil {
			return outcome{}, err
		}
		o, err := t.run(ctx, s.url, h.rounds)
		peak := s.stop()
		if err != nil {
			return o, fmt.Errorf("%w; the server says: %s", err, lastLines(s.complaint.String()))
		}
		if peak > 0 {
			o.figures = append(o.figures, figure{"peak memory", megabytes, float64(peak) / 1e6})
		}
		return o, nil
	}}
}

// server is a process that serves.
type server struct {
	cmd       *exec.Cmd
	url       string
	ended     chan error
	complaint bytes.Buffer // read after ended alone
}

// startServer starts a command on a free port, and waits until it is ready.
func startServer(ctx context.Context, command []string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}
	args := make([]string, len(command))
	for i, a := range command {
		args[i] = strings.ReplaceAll(a, "{port}", strconv.Itoa(port))
	}
	s := &server{cmd: exec.Command(args[0], args[1:]...), url: fmt.Sprintf("http://127.0.0.1:%d", port), ended: make(chan error, 1)}
	s.cmd.Stderr = &s.complaint
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.ended <- s.cmd.Wait() }()
	for {
		select {
		case err := <-s.ended:
			return nil, fmt.Errorf("%s ended before it served: %w: %s", strings.Join(args, " "), err, lastLines(s.complaint.String()))
		case <-ctx.Done():
			s.stop()
			return nil, ctx.Err()
		case <-time.After(readyPoll):
		}
		if isReady(ctx, s.url) {
			return s, nil
		}
	}
}

// readyPoll is how long to wait between two questions whether a server is ready.
const readyPoll = 20 * time.Millisecond

// isReady asks at the paths that servers have for it.
func isReady(ctx context.Context, url string) bool {
	for _, path := range []string{"/readyz", "/health"} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
		if err != nil {
			return false
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			return res.StatusCode == http.StatusOK
		}
	}
	return false
}

// stopTime is how long a server may take to end.
const stopTime = 20 * time.Second

// stop ends the server and returns the most bytes that it had resident.
func (s *server) stop() int64 {
	if s.cmd.Process.Signal(syscall.SIGTERM) != nil {
		s.cmd.Process.Signal(os.Kill)
	}
	select {
	case <-s.ended:
	case <-time.After(stopTime):
		s.cmd.Process.Signal(os.Kill)
		<-s.ended
	}
	return peakMemory(s.cmd.ProcessState)
}
