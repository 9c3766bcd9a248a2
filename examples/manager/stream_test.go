package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/paddock-go/paddock/nvml"
)

// fakePoller hands out what a test says, to any number of watchers: as a real one it keeps the newest reading alone.
type fakePoller struct {
	mu       sync.Mutex
	last     nvml.Reading
	watchers map[chan nvml.Reading]bool
	closed   bool
}

func (p *fakePoller) Latest() nvml.Reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *fakePoller) Watch() (<-chan nvml.Reading, func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := make(chan nvml.Reading, 1)
	if !p.last.Time.IsZero() {
		c <- p.last
	}
	if p.watchers == nil {
		p.watchers = map[chan nvml.Reading]bool{}
	}
	p.watchers[c] = true
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watchers, c)
	}
}

func (p *fakePoller) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return nil
}

func (p *fakePoller) watching() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.watchers)
}

// sample is one turn.
func (p *fakePoller) sample(r nvml.Reading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = r
	for c := range p.watchers {
		select {
		case <-c:
		default:
		}
		c <- r
	}
}

func known1[T any](v T) nvml.Opt[T] { return nvml.Opt[T]{V: v, OK: true} }

// at is a reading with a temperature.
func at(seconds int64, degrees float64) nvml.Reading {
	procs := []nvml.Process{{PID: 7, Memory: known1(uint64(1 << 20))}, {PID: 8}}
	when := time.Unix(seconds, 0)
	return nvml.Reading{Time: when, Devices: []nvml.DeviceReading{
		{Info: nvml.Info{Index: 0, Name: "Card", UUID: "GPU-0", PCI: "0:1", Driver: "570"}, Sample: nvml.Sample{Time: when, Temperature: known1(degrees), Utilization: known1(0.375),
			MemoryUsed: known1(uint64(3 << 20)), MemoryFree: known1(uint64(4 << 20)), MemoryTotal: known1(uint64(8 << 20)), SMClock: known1(1.98e9), Energy: known1(12.5), Processes: known1(procs)}},
		{Info: nvml.Info{Index: 1, Name: "Gone", UUID: "GPU-1"}, Sample: nvml.Sample{Temperature: known1(1.0)}, Lost: errors.New("fell off the bus")}}}
}

func newTestGPUs(open func() (poller, error)) *gpus {
	return &gpus{log: slog.New(slog.DiscardHandler), open: open, opened: make(chan struct{}), reason: "not yet"}
}

// TestGPUAnswer: the fields and their units, null for what isn't there.
func TestGPUAnswer(t *testing.T) {
	body, err := json.Marshal(answerOf(at(100, 61.5)))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"available":true,"ts":100000,"gpus":[{"index":0,"name":"Card","uuid":"GPU-0","pci":"0:1","util_gpu":37.5,"util_mem":null,"mem_used":3145728,"mem_total":8388608,"temp_c":61.5,"power_w":null,` +
		`"power_limit_w":null,"sm_clock_mhz":1980,"mem_clock_mhz":null,"fan_pct":null,"procs":[{"pid":7,"mem":1048576},{"pid":8,"mem":null}]},` +
		`{"index":1,"name":"Gone","uuid":"GPU-1","pci":null,"lost":"fell off the bus","util_gpu":null,"util_mem":null,"mem_used":null,"mem_total":null,"temp_c":null,"power_w":null,"power_limit_w":null,"sm_clock_mhz":null,"mem_clock_mhz":null,"fan_pct":null}]}`
	if string(body) != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	stale := at(100, 61)
	stale.Age = time.Minute
	for _, r := range []nvml.Reading{stale, {}, {Time: time.Unix(5, 0), Err: errors.New("gone"), Devices: at(5, 1).Devices}} {
		if a := answerOf(r); a.Available || a.Reason == "" || len(a.GPUs) > 0 && a.GPUs[0].TempC != nil {
			t.Errorf("%+v: %+v", r.Err, a)
		}
	}
	// In a turn that takes long, each GPU is as old as its own sample.
	r := at(100, 61)
	r.Devices[1].Lost = nil
	for _, c := range []struct {
		last time.Time
		says string
	}{{time.Time{}, "not sampled yet"}, {time.Unix(80, 0), "20s old"}} {
		r.Devices[1].Sample.Time = c.last
		if a := answerOf(r); !a.Available || a.GPUs[0].TempC == nil || a.GPUs[1].TempC != nil || !strings.Contains(a.GPUs[1].Lost, c.says) {
			t.Errorf("a GPU sampled at %v: %+v", c.last, a)
		}
	}
}

// TestDCGM: dcgm-exporter's names, labels and units; a lost card and a sensor that isn't there are absent.
func TestDCGM(t *testing.T) {
	p := &fakePoller{last: at(100, 61.5)}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(newDCGM(p))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			labels := ""
			for _, l := range m.Label {
				if l.GetName() != "Hostname" {
					labels += l.GetName() + "=" + l.GetValue() + " "
				}
			}
			if labels != "DCGM_FI_DRIVER_VERSION=570 UUID=GPU-0 device=nvidia0 gpu=0 modelName=Card pci_bus_id=0:1 " {
				t.Errorf("%s: %s", f.GetName(), labels)
			}
			got[f.GetName()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	want := map[string]float64{"DCGM_FI_DEV_GPU_TEMP": 61.5, "DCGM_FI_DEV_GPU_UTIL": 37.5, "DCGM_FI_DEV_FB_USED": 3, "DCGM_FI_DEV_FB_FREE": 4, "DCGM_FI_DEV_SM_CLOCK": 1980, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 12500}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	old := at(100, 61)
	old.Time = old.Time.Add(time.Minute) // of another's sample
	stale := at(100, 61)
	stale.Age = time.Minute
	p.sample(old)
	if families, err := r.Gather(); err != nil || len(families) != 0 {
		t.Errorf("an old sample: %v %v", families, err)
	}
	p.sample(stale)
	if families, err := r.Gather(); err != nil || len(families) != 0 {
		t.Errorf("stale: %v %v", families, err)
	}
}

// TestStream: an event at once and one for each sample; before there is a library, too; the last reader's going ends the watching.
func TestStream(t *testing.T) {
	p := &fakePoller{}
	var tries int
	g := newTestGPUs(func() (poller, error) {
		if tries++; tries < 3 {
			return nil, &nvml.HeldError{PID: 4242, Path: "/lock"}
		}
		return p, nil
	})
	quit, end := context.WithCancel(t.Context())
	srv := httptest.NewServer(newStream(g, quit))
	defer srv.Close()
	res, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	next := func() (a gpuAnswer) {
		t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				return into[gpuAnswer](t, text)
			}
		}
	}
	if a := next(); a.Available || a.Reason != "not yet" || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%+v", a)
	}
	g.keep(t.Context(), time.Millisecond)
	if a := next(); a.Available { // opened, and not read yet
		t.Errorf("%+v", a)
	}
	eventually(t, "it watches", func() bool { return p.watching() == 1 })
	for i := range 5 {
		p.sample(at(int64(1000+i), float64(i)))
		if a := next(); !a.Available || *a.GPUs[0].TempC != float64(i) || a.TS != int64(1000+i)*1000 {
			t.Fatalf("%d: %+v", i, a)
		}
	}
	end()
	if _, err := io.ReadAll(lines); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nobody watches", func() bool { return p.watching() == 0 })
	http.DefaultClient.CloseIdleConnections()
}

// TestDayOfSamples: a day of readings, with readers that never read, one that reads all and a scraper: nobody waits, and memory stays.
func TestDayOfSamples(t *testing.T) {
	p := &fakePoller{last: at(1, 1)}
	g := newTestGPUs(func() (poller, error) { return p, nil })
	g.keep(t.Context(), time.Second)
	quit, end := context.WithCancel(t.Context())
	srv := httptest.NewServer(newStream(g, quit))
	defer srv.Close()
	defer end()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range 8 { // they ask and never read
		res, err := client.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
	}
	eventually(t, "all watch", func() bool { return p.watching() == 8 })
	page := g.gatherer(pageDCGM)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const perDay = 24 * 3600 * 5 / 2 // as often as with a watcher
	var early uint64
	for i := range perDay {
		p.sample(at(int64(2+i), float64(i%90)))
		if i%1000 == 0 {
			if f, err := page.Gather(); err != nil || len(f) == 0 {
				t.Fatal(err)
			}
		}
		if i == perDay/10 {
			early = heap()
		}
	}
	if late := heap(); late > early+4<<20 {
		t.Errorf("the heap grew from %d to %d bytes over the day", early, late)
	}
	if a, _ := g.now(); *a.GPUs[0].TempC != float64((perDay-1)%90) {
		t.Errorf("%+v", a)
	}
}
