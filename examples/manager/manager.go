package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// run serves until ctx ends. It prints the address once requests are taken.
func run(ctx context.Context, c *config, out io.Writer) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: c.level}))
	h, err := openHistory(c.data, time.Now)
	if err != nil {
		return err
	}
	defer h.close()
	listener, err := net.Listen("tcp", c.addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	var dcgmListener net.Listener
	if c.dcgmAddr != "" {
		if dcgmListener, err = net.Listen("tcp", c.dcgmAddr); err != nil {
			return fmt.Errorf("--dcgm-addr: %w", err)
		}
		defer dcgmListener.Close()
	}

	// What reads ends before what it reads into: runners, then the client, then the history.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	cl := newClient()
	defer cl.close()
	f := newFleet(cl, h, log, c.probe)
	f.skip = listener.Addr().String()
	defer f.wait.Wait()
	defer stop()
	for _, to := range c.runners {
		f.watch(ctx, to, true)
	}
	if c.probe != (portRange{}) {
		wait.Go(func() { f.discover(ctx) })
	}
	wait.Go(func() {
		h.expireEvery(ctx, time.Minute, func(err error) { log.Error("the history can't be trimmed", "error", err) })
	})
	g := newGPUs(c, log)
	wait.Go(func() {
		g.keep(ctx, openEvery)
		<-ctx.Done()
		g.close()
	})

	m := &manager{config: c, log: log, history: h, fleet: f, gpus: g, stream: newStream(g, ctx), relay: newRelay(f, log)}
	defer m.relay.close()
	srv := m.server(m.routes())
	defer srv.Close()
	served := make(chan error, 2)
	go func() { served <- srv.Serve(listener) }()
	dcgm := m.server(m.dcgmRoutes())
	defer dcgm.Close()
	if dcgmListener != nil {
		go func() { served <- dcgm.Serve(dcgmListener) }()
		fmt.Fprintf(out, "dcgm names on http://%s/metrics\n", dcgmListener.Addr())
	}
	fmt.Fprintf(out, "paddock manages this machine on http://%s\n", listener.Addr())

	select {
	case err := <-served:
		return err
	case <-h.broken:
		return damaged(h.path, errors.New("found while it was in use"))
	case <-ctx.Done():
	}
	flush, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, s := range []*http.Server{srv, dcgm} {
		if err := s.Shutdown(flush); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return nil
}

// manager is what the handlers share.
type manager struct {
	config  *config
	log     *slog.Logger
	history *history
	fleet   *fleet
	gpus    *gpus
	stream  *stream
	relay   *relay
}

// sendTime is how long a request may take to arrive, its body too, whether or not anything reads that. A runner gives a body as much.
const sendTime = 30 * time.Second

func (m *manager) server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: sendTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(m.log.Handler(), slog.LevelDebug)}
}
