package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// loadRow is what an engine that is full of work leaves to the rest of the process:
// how long a scrape of /metrics takes over HTTP, at three a second, and how old a
// token is when its reader has it, counted from the end of its step.
type loadRow struct {
	Test     string  `json:"test"`
	Procs    int     `json:"gomaxprocs"`
	Clients  int     `json:"clients"`
	Threads  int     `json:"threads"`
	Rate     float64 `json:"tok_per_s"`
	Scrapes  int     `json:"scrapes"`
	Scrape50 float64 `json:"scrape_p50_ms"`
	Scrape99 float64 `json:"scrape_p99_ms"`
	Tokens   int     `json:"tokens"`
	Hand50   float64 `json:"handoff_p50_us"`
	Hand99   float64 `json:"handoff_p99_us"`
}

func (r loadRow) String() string {
	return fmt.Sprintf("GOMAXPROCS %d  %d clients  %d threads %9.1f tok/s   /metrics p50 %7.2f ms  p99 %7.2f ms (%d)   hand-off p50 %7.1f us  p99 %8.1f us (%d)",
		r.Procs, r.Clients, r.Threads, r.Rate, r.Scrape50, r.Scrape99, r.Scrapes, r.Hand50, r.Hand99, r.Tokens)
}

const (
	loadTime    = 20 * time.Second
	scrapeEvery = time.Second / 3
)

// measureLoad keeps c.load clients streaming from an engine, each with the next
// request as soon as the last has ended, once with two processors of Go's beyond
// the machine's, as examples/server has them, and once with as many.
func measureLoad(ctx context.Context, c *config, report func(any) error) error {
	if c.level != "" {
		return errors.New("-load goes by the best level of the machine: leave -level out")
	}
	rec := metrics.NewRecorder(metrics.RecorderOptions{ServiceInstanceID: "bench"})
	e, err := engine.Open(c.model, engine.Options{
		Name: "bench", Threads: c.threads, MaxContext: c.prompt + c.generate, Metrics: rec, KVType: c.kvType,
		Limits: sched.Limits{MaxSequences: c.load},
	})
	if err != nil {
		return err
	}
	defer e.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: metrics.HandlerFor(metrics.HandlerOptions{Recorder: rec, Runtime: true, Auth: metrics.AuthOff})}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	defer func() { <-served }()
	defer srv.Close()
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, procs := range []int{runtime.NumCPU() + 2, runtime.NumCPU()} {
		runtime.GOMAXPROCS(procs)
		row, err := underLoad(ctx, c, e, "http://"+l.Addr().String()+"/metrics")
		if err != nil {
			return err
		}
		row.Test, row.Procs, row.Clients, row.Threads = "load", procs, c.load, c.workers()
		if err := report(row); err != nil {
			return err
		}
	}
	return nil
}

// underLoad runs the clients and the scraper for loadTime, after one request each
// that does not count.
func underLoad(ctx context.Context, c *config, e *engine.Engine, url string) (loadRow, error) {
	ctx, stop := context.WithTimeout(ctx, 10*loadTime)
	defer stop()
	var (
		wg       sync.WaitGroup
		begun    = make(chan struct{}) // the time counts
		end      time.Time             // read after begun
		warm     sync.WaitGroup
		ages     = make([][]float64, c.load) // microseconds
		failures = make([]error, c.load)
	)
	warm.Add(c.load)
	for i := range c.load {
		wg.Go(func() {
			r := engine.Request{Tokens: make([]int32, c.prompt), MaxTokens: c.generate, IgnoreEOS: true}
			for round := 0; ; round++ {
				for k := range r.Tokens {
					r.Tokens[k] = int32(1 + (k*31+i*7+round*3)%200)
				}
				list, err := ageOfTokens(ctx, e, r)
				if round == 0 {
					warm.Done()
					<-begun
				} else {
					ages[i] = append(ages[i], list...)
				}
				if err != nil || time.Now().After(end) {
					failures[i] = err
					return
				}
			}
		})
	}
	warm.Wait()
	start := time.Now()
	end = start.Add(loadTime)
	close(begun)
	var scrapes []float64 // milliseconds
	var err error
	for time.Now().Before(end) && err == nil {
		var took time.Duration
		took, err = scrapeOnce(ctx, url)
		scrapes = append(scrapes, 1e3*took.Seconds())
		time.Sleep(scrapeEvery - min(took, scrapeEvery))
	}
	wg.Wait()
	all := slices.Concat(ages...)
	if err := errors.Join(append(failures, err)...); err != nil {
		return loadRow{}, err
	}
	if len(all) == 0 || len(scrapes) == 0 {
		return loadRow{}, errors.New("no request ended in time")
	}
	row := loadRow{Tokens: len(all), Scrapes: len(scrapes), Rate: float64(len(all)) / time.Since(start).Seconds()}
	slices.Sort(all)
	slices.Sort(scrapes)
	row.Hand50, row.Hand99 = quantile(all, 0.5), quantile(all, 0.99)
	row.Scrape50, row.Scrape99 = quantile(scrapes, 0.5), quantile(scrapes, 0.99)
	return row, nil
}

// ageOfTokens reads a request to its end and notes each token's age.
func ageOfTokens(ctx context.Context, e *engine.Engine, r engine.Request) ([]float64, error) {
	s, err := e.Submit(ctx, r)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	list := make([]float64, 0, r.MaxTokens)
	for {
		_, ok, err := s.Next()
		if !ok {
			return list, err
		}
		list = append(list, 1e6*s.Age().Seconds())
	}
}

// scrapeOnce is the time of a page, on a connection that is kept.
func scrapeOnce(ctx context.Context, url string) (time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the page answers %d", resp.StatusCode)
	}
	return time.Since(start), nil
}
