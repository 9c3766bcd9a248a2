package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/sample"
	"github.com/paddock-go/paddock/internal/session"
)

// profileRow is where one kind of op of a step spends its time, in microseconds, in
// the fastest of the steps: the one that other programs disturbed least. Wall is what the step waits for it; of that Alone was one worker's while the
// others watched, Late after its last item (the hand-over to the next phase), and
// Idle is the time of all workers in which they had none of its items. Floor is
// the longer of its bytes at the plain read rate and its multiply-adds at the peak
// of the units, all workers together.
type profileRow struct {
	Step   string  `json:"step"`
	Op     string  `json:"op"`
	Phases int64   `json:"phases"`
	Items  int64   `json:"items"`
	Wall   float64 `json:"us"`
	Alone  float64 `json:"alone_us"`
	Idle   float64 `json:"idle_us"`
	Late   float64 `json:"late_us"`
	Bytes  int64   `json:"bytes,omitempty"`
	Ops    int64   `json:"multiply_adds,omitempty"`
	Floor  float64 `json:"floor_us,omitempty"`
}

func (r profileRow) String() string {
	floor := ""
	if r.Floor > 0 {
		floor = fmt.Sprintf("  floor %9.1f (%3.0f %%)  %8.1f KB %9.2f M", r.Floor, 100*r.Floor/r.Wall, float64(r.Bytes)/1e3, float64(r.Ops)/1e6)
	}
	return fmt.Sprintf("%-12s %-34s %4d × %6d items %10.1f us  alone %8.1f  idle %8.1f  late %7.1f%s",
		r.Step, r.Op, r.Phases, r.Items, r.Wall, r.Alone, r.Idle, r.Late, floor)
}

// rates are what the workers reach together when they do nothing else: bytes and
// multiply-adds a microsecond.
type rates struct{ bytes, ints, floats float64 }

func (r rates) floor(c cpu.Cost) float64 {
	return max(float64(c.Bytes)/r.bytes, float64(c.Ints)/r.ints+float64(c.Floats)/r.floats)
}

// measureRates reads as many bytes as the model's weights have, so that they are
// in the same memory, and runs the units.
func measureRates(threads int, weights int64) rates {
	k := kern.New(kern.Best())
	data := make([]byte, weights)
	for i := range data {
		data[i] = byte(i) // memory that was never written is one page of zeros, in the nearest cache
	}
	part := len(data) / threads
	rate := func(work func(worker int) int64) float64 {
		var best float64
		for range 20 { // the best: other programs disturb it
			var wg sync.WaitGroup
			done := make([]int64, threads)
			start := time.Now()
			for i := range threads {
				wg.Go(func() { done[i] = work(i) })
			}
			wg.Wait()
			sum := int64(0)
			for _, n := range done {
				sum += n
			}
			best = max(best, float64(sum)/float64(time.Since(start).Microseconds()))
		}
		return best
	}
	const rounds = 1 << 18
	return rates{
		bytes: rate(func(i int) int64 {
			k.ReadPeak(data[i*part : (i+1)*part])
			return int64(part)
		}),
		ints:   rate(func(int) int64 { return k.DotPeak(rounds) / 2 }),
		floats: rate(func(int) int64 { return k.FMAPeak(rounds) / 2 }),
	}
}

// measureProfile shows where the time of a decode step and of prefill chunks goes.
func measureProfile(c *config, report func(any) error) error {
	var p cpu.Profile
	level, err := findLevel(c.level)
	if err != nil {
		return err
	}
	dev := cpu.New(cpu.Options{Threads: c.threads, Level: level, Profile: &p})
	defer dev.Close()
	depth := slices.Max(c.depths)
	s, err := session.Open(c.model, dev, session.Limits{Seqs: 1, Context: depth + chunk + c.generate, Rows: chunk, Logits: 1, KVType: c.kvType}, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	b := &bench{c: c, s: s, tokens: make([]int32, depth+chunk+c.generate)}
	for i := range b.tokens {
		b.tokens[i] = int32(i*7919) % int32(s.Vocab())
	}
	r := measureRates(dev.Threads(), s.WeightBytes())
	run := func(name string, rows, steps int) error {
		at, step := depth, 0
		if err := b.prefill(1, 0, depth); err != nil {
			return err
		}
		one := func() error {
			from := at
			if rows == 1 { // as in use: each step is a token further
				from += step
			}
			step++
			_, err := b.s.Step(session.Span{From: from, Tokens: b.tokens[from : from+rows]})
			return err
		}
		if err := one(); err != nil { // warm
			return err
		}
		var best []cpu.ProfileRow
		fastest, woke := time.Duration(math.MaxInt64), time.Duration(0)
		for range steps {
			p.Reset()
			start := time.Now()
			if err := one(); err != nil {
				return err
			}
			if took := time.Since(start); took < fastest {
				fastest, woke, best = took, p.Woke(), p.Rows()
			}
		}
		return reportProfile(name, best, fastest, woke, p.Workers(), r, report)
	}
	if c.generate > 1 {
		if err := run(fmt.Sprintf("decode@%d", depth), 1, c.generate-1); err != nil {
			return err
		}
	}
	for _, rows := range []int{32, chunk} {
		if err := run(fmt.Sprintf("prefill%d", rows), rows, max(1, c.repeat)); err != nil {
			return err
		}
	}
	return profileSampling(report)
}

func reportProfile(name string, ops []cpu.ProfileRow, whole, woke time.Duration, workers int, r rates, report func(any) error) error {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	sum := profileRow{Step: name, Op: "all", Wall: us(whole)}
	var rows []profileRow
	for _, x := range ops {
		if x.Phases == 0 {
			continue
		}
		row := profileRow{
			Step: name, Op: x.Name, Phases: x.Phases, Items: x.Items,
			Wall: us(x.Wall), Alone: us(x.Alone), Idle: us(time.Duration(workers)*x.Wall - x.Busy), Late: us(x.Late),
			Bytes: x.Cost.Bytes, Ops: x.Cost.Ints + x.Cost.Floats, Floor: r.floor(x.Cost),
		}
		whole -= x.Wall
		rows = append(rows, row)
		sum.Phases += row.Phases
		sum.Items += row.Items
		sum.Alone += row.Alone
		sum.Idle += row.Idle
		sum.Late += row.Late
		sum.Bytes += row.Bytes
		sum.Ops += row.Ops
		sum.Floor += row.Floor
	}
	rows = append(rows, profileRow{Step: name, Op: "before and after the phases", Wall: us(whole)},
		profileRow{Step: name, Op: "until the last worker's first item", Wall: us(woke)}, sum)
	for _, row := range rows {
		if err := report(row); err != nil {
			return err
		}
	}
	return nil
}

// profileSampling times the draw of one token, which is the engine's and no part
// of a step, over a vocabulary of Qwen's size: the median of some draws.
func profileSampling(report func(any) error) error {
	const vocab = 151936
	rng := rand.New(rand.NewPCG(1, 1))
	logits := make([]float32, vocab)
	for i := range logits {
		logits[i] = float32(rng.NormFloat64() * 3)
	}
	prompt := make([]int32, 1024)
	for i := range prompt {
		prompt[i] = int32(rng.IntN(vocab))
	}
	sc := sample.NewScratch(vocab)
	top := make([]sample.Alternative, 5)
	for _, t := range []struct {
		name string
		p    sample.Params
		tops []sample.Alternative
	}{
		{name: "greedy"},
		{name: "temperature", p: sample.Params{Temperature: 1}},
		{name: "top-k 40, top-p 0.95, T 0.8", p: sample.Params{Temperature: 0.8, TopK: 40, TopP: 0.95}},
		{name: "top-p 0.95, T 0.8", p: sample.Params{Temperature: 0.8, TopP: 0.95}},
		{name: "top-p 0.95, penalties", p: sample.Params{Temperature: 0.8, TopP: 0.95, Repetition: 1.1, Presence: 0.2}},
		{name: "greedy, 5 logprobs", tops: top},
	} {
		s := sample.New(t.p, sample.See(t.p, prompt))
		const n = 50
		var took []time.Duration
		for i := range n {
			start := time.Now()
			id, err := s.Next(logits, i, i, sc)
			if err != nil {
				return err
			}
			s.Accept(id)
			if t.tops != nil {
				sample.Logprobs(logits, id, t.tops)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		row := profileRow{Step: "sample", Op: t.name, Phases: 1, Items: 1, Wall: float64(took[n/2].Nanoseconds()) / 1e3}
		if err := report(row); err != nil {
			return err
		}
	}
	return nil
}
