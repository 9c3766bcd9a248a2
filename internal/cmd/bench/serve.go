package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// serveTest is what clients do to a server, and what is asked of it.
type serveTest struct {
	name    string
	clients int
	in, out int // tokens of each prompt and answer
	prefix  int // tokens that all prompts begin with, sent once before; 0: they share nothing
	times   int // answers that are measured, one after the other, where there is a prefix
}

// serveTests are the tests that -serve-test names.
func (c *config) serveTests() ([]serveTest, error) {
	var list []serveTest
	for _, name := range strings.Split(c.serveTest, ",") {
		switch name {
		case "load":
			list = append(list, serveTest{name: name, clients: c.clients, in: c.serveIn, out: c.serveOut})
		case "ttft-warm":
			list = append(list, serveTest{name: name, clients: 1, in: warmTail, out: 1, prefix: c.prefix, times: c.warmTimes})
		default:
			return nil, fmt.Errorf("-serve-test has %q, must be of load and ttft-warm, comma separated", name)
		}
	}
	return list, nil
}

// warmTail is how many tokens each prompt of ttft-warm has of its own.
const warmTail = 16

// run is one run against a server. Prompts differ between clients and rounds from their
// first token on, so that nothing is cached that is not meant to be.
func (t serveTest) run(ctx context.Context, url string, round int) (outcome, error) {
	c, err := newClient(ctx, url, t.clients)
	if err != nil {
		return outcome{}, err
	}
	defer c.close()
	if t.prefix > 0 {
		return t.warm(ctx, c, round)
	}
	return t.load(ctx, c, round)
}

// load has all clients ask at once.
func (t serveTest) load(ctx context.Context, c *client, round int) (outcome, error) {
	replies, faults := make([]reply, t.clients), make([]error, t.clients)
	var all sync.WaitGroup
	start := time.Now()
	for i := range t.clients {
		prompt := madeUp(round, i, t.in)
		all.Go(func() { replies[i], faults[i] = c.complete(ctx, prompt, t.out) })
	}
	all.Wait()
	took := time.Since(start).Seconds()
	if err := errors.Join(faults...); err != nil {
		return outcome{}, err
	}
	tokens := 0
	var first, each []float64
	for _, r := range replies {
		tokens += r.tokens
		first, each = append(first, r.ttft()), append(each, r.tpot())
	}
	slices.Sort(first)
	slices.Sort(each)
	return outcome{figures: []figure{
		{"serve", tokensPerSecond, float64(tokens) / took},
		{"TTFT mean", seconds, mean(first)}, {"TTFT p50", seconds, quantile(first, 0.5)}, {"TTFT p99", seconds, quantile(first, 0.99)},
		{"TPOT mean", seconds, mean(each)}, {"TPOT p99", seconds, quantile(each, 0.99)},
	}}, nil
}

// warm sends the prefix once, and then prompts that go on from it.
func (t serveTest) warm(ctx context.Context, c *client, round int) (outcome, error) {
	prefix := madeUp(round, 0, t.prefix)
	if _, err := c.complete(ctx, slices.Concat(prefix, madeUp(round, 1, t.in)), t.out); err != nil {
		return outcome{}, err
	}
	var first []float64
	for i := range t.times {
		r, err := c.complete(ctx, slices.Concat(prefix, madeUp(round, 2+i, t.in)), t.out)
		if err != nil {
			return outcome{}, err
		}
		first = append(first, r.ttft())
	}
	slices.Sort(first)
	return outcome{figures: []figure{{"TTFT warm", seconds, quantile(first, 0.5)}, {"TTFT warm, most", seconds, first[len(first)-1]}}}, nil
}

// madeUp is a prompt of ids that the vocabularies of made-up files have text for, and
// whose first token is the client's own.
func madeUp(round, client, tokens int) []int32 {
	rng := rand.New(rand.NewPCG(uint64(round), uint64(client)))
	ids := make([]int32, tokens)
	for i := range ids {
		ids[i] = int32(256 + rng.IntN(250))
	}
	if tokens > 0 {
		ids[0] = int32(256 + (round*37+client)%250)
	}
	return ids
}

// measureServe runs the tests against running servers, or those that it starts.
func measureServe(ctx context.Context, c *config, report func(any) error, out io.Writer) error {
	tests, err := c.serveTests()
	if err != nil {
		return err
	}
	hosts, err := c.hosts()
	if err != nil {
		return err
	}
	if !c.json && len(hosts) > 1 {
		fmt.Fprintln(out, compareHead)
	}
	var failed []error
	for _, t := range tests {
		if len(hosts) == 1 {
			if err := serveAlone(ctx, t, hosts[0], c.repeat, report); err != nil {
				return err
			}
			continue
		}
		list, err := compareServe(ctx, c, t, hosts, 0)
		if errors.Is(err, errNoPair) {
			failed = append(failed, err)
			continue
		}
		if err != nil {
			return err
		}
		for _, one := range list {
			if err := report(one); err != nil {
				return err
			}
		}
	}
	return errors.Join(failed...)
}

// serveRead is what the plain read around a pair of servers is of.
const serveRead = 256 << 20

// alone is a figure of one server without another.
type alone struct {
	Test string `json:"test"`
	Unit unit   `json:"unit"`
	Ours spread `json:"ours"`
}

func (a alone) String() string {
	return fmt.Sprintf("%-16s %10.4g %-5s  %.4g..%.4g", a.Test, a.Ours.Median, a.Unit, a.Ours.Min, a.Ours.Max)
}

func serveAlone(ctx context.Context, t serveTest, h *host, repeat int, report func(any) error) error {
	values := map[string][]float64{}
	var figures []figure
	for range repeat {
		o, err := runOne(ctx, h.contender(t))
		if err != nil {
			return err
		}
		figures = o.figures
		for _, f := range figures {
			values[f.name] = append(values[f.name], f.value)
		}
	}
	for _, f := range figures {
		if err := report(alone{f.name, f.unit, spreadOf(values[f.name])}); err != nil {
			return err
		}
	}
	return nil
}

// compareServe runs one test against both servers in turn.
func compareServe(ctx context.Context, c *config, t serveTest, hosts []*host, limit time.Duration) (_ []comparison, err error) {
	meter, err := startPeaks(c.workers(), serveRead)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, meter.close()) }()
	p := pairing{ours: hosts[0].contender(t), pairs: c.pairs, peaks: meter.measure, steady: c.steady, limit: limit}
	for _, h := range hosts[1:] {
		p.theirs = append(p.theirs, h.contender(t))
	}
	made, err := p.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	if len(made.kept) == 0 {
		return nil, fmt.Errorf("%s: %d dropped: %w", t.name, made.dropped, errNoPair)
	}
	return made.comparisons(0), nil
}
