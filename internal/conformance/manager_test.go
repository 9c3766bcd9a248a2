package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// machine is what managers of one test share: a history, a lock, a library.
type machine struct {
	data, nvmlFile string
	script         string // of the fake library
}

func newMachine(t *testing.T) *machine {
	dir := t.TempDir()
	return &machine{data: dir, nvmlFile: filepath.Join(dir, "none.so"), script: filepath.Join(dir, "script")}
}

// managed is a running manager.
type managed struct {
	url, dcgm string
	kill      func() // -9
	log       *logged
}

// logged keeps what a program says.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// runManager starts examples/manager on a machine.
func runManager(t *testing.T, m *machine, flags ...string) *managed {
	t.Helper()
	bin, err := managerProgram()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(bin, append([]string{"--addr", "127.0.0.1:0", "--probe", "off", "--data", m.data, "--nvml-library", m.nvmlFile,
		"--nvml-lock", filepath.Join(filepath.Dir(m.script), "lock")}, flags...)...)
	c.Env = append(os.Environ(), "PADDOCK_FAKE_NVML="+m.script)
	got := &managed{log: new(logged)}
	c.Stderr = got.log
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stop := startProcess(t, c)
	got.kill = func() { _ = c.Process.Kill(); stop() }
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "dcgm names on http://"); ok {
			got.dcgm = strings.TrimSuffix(at, "/metrics")
		}
		if _, at, ok := strings.Cut(lines.Text(), "this machine on http://"); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			got.url = at
			return got
		}
	}
	t.Fatalf("the manager printed no address: %v, %s", lines.Err(), got.log)
	return nil
}

// ask gets JSON.
func ask[T any](t *testing.T, url string) (v T) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&v); err != nil || res.StatusCode != 200 {
		t.Fatalf("%s: %d %v", url, res.StatusCode, err)
	}
	return v
}

type usageAnswer struct {
	Series []struct {
		Slots []struct{ Start, Requests, Generated int64 }
	}
	Gaps []struct {
		Run    string `json:"run_id"`
		Reason string
		Open   bool
	}
}

func (u *usageAnswer) total() (n int64) {
	for _, s := range u.Series {
		for _, slot := range s.Slots {
			n += slot.Requests
		}
	}
	return n
}

func (u *usageAnswer) at(start int64) (n int64) {
	for _, s := range u.Series {
		for _, slot := range s.Slots {
			if slot.Start == start {
				n += slot.Requests
			}
		}
	}
	return n
}

type runnerAnswer struct {
	Runners []struct {
		Run    string `json:"run_id"`
		Looked int64  `json:"read_ms"`
		Error  string
	}
}

// until asks again and again, for three minutes at most.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestManagerKilled: under traffic the manager is killed again and again, and once the runner: no slot that had ended and was read is lost,
// nothing counts twice, and the time that nobody knows of is marked.
func TestManagerKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	addr, m := freeAddress(t), newMachine(t)
	startRunner := func() (kill func()) {
		c := serverCommand(t, "--addr", addr)
		stop := startProcess(t, c)
		until(t, "the runner is ready", func() bool {
			res, err := http.Get("http://" + addr + "/readyz")
			if err != nil {
				return false
			}
			res.Body.Close()
			return res.StatusCode == 200
		})
		return func() { _ = c.Process.Kill(); stop() }
	}
	killRunner := startRunner()

	var sent atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for range 3 {
		wg.Go(func() {
			for ctx.Err() == nil {
				sent.Add(1)
				_, _, err := call{path: "/v1/completions", body: `{"model":"demo","prompt":"a","max_tokens":3}`}.do(context.WithoutCancel(ctx), addr)
				if err != nil {
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}

	var man *managed
	usage := func() *usageAnswer { u := ask[usageAnswer](t, "http://"+man.url+"/api/usage"); return &u }
	read := func() (run string, at int64) {
		r := ask[runnerAnswer](t, "http://"+man.url+"/api/runners").Runners[0]
		return r.Run, r.Looked
	}
	for i := range 5 { // at whatever moment of its readings
		man = runManager(t, m, "--runner", "http://"+addr)
		time.Sleep(time.Duration(150+400*i) * time.Millisecond)
		man.kill()
	}
	man = runManager(t, m, "--runner", "http://"+addr)
	closed := (time.Now().Unix()/10 + 1) * 10 // the end of the slot in progress
	until(t, "the slot was read after its end", func() bool { _, at := read(); return at >= closed*1000 })
	first, _ := read()
	want := ask[usageAnswer](t, fmt.Sprintf("http://%s/api/rollups?step=10s", addr))
	before := usage().total()
	killRunner()
	sentToFirst := sent.Load()
	man.kill()

	startRunner()
	man = runManager(t, m, "--runner", "http://"+addr)
	until(t, "the second run was read", func() bool { run, at := read(); return run != "" && run != first && at > 0 })
	time.Sleep(time.Second)
	man.kill()
	man = runManager(t, m, "--runner", "http://"+addr)
	stop()
	wg.Wait()
	quiet := time.Now().UnixMilli()
	until(t, "all was read", func() bool { _, at := read(); return at > quiet+1500 })

	u := usage()
	var slots int
	for _, s := range want.Series {
		for _, slot := range s.Slots {
			if slot.Start+10 <= closed {
				slots++
				if got := u.at(slot.Start); got != want.at(slot.Start) {
					t.Errorf("the slot of %d has %d requests, the runner counted %d", slot.Start, got, want.at(slot.Start))
				}
			}
		}
	}
	stats := ask[struct {
		Models []struct {
			Requests struct{ Ended int64 } `json:"requests"`
		}
	}](t, "http://"+addr+"/api/stats")
	second := stats.Models[0].Requests.Ended
	ofFirst := u.total() - second
	if ofFirst < before || ofFirst > sentToFirst || slots == 0 || second == 0 {
		t.Errorf("of the first run %d are known, %d were known before it was killed, %d were sent; %d of the second, %d slots", ofFirst, before, sentToFirst, second, slots)
	}
	if len(u.Gaps) != 1 || u.Gaps[0].Run != first || u.Gaps[0].Reason != "restart" || u.Gaps[0].Open {
		t.Errorf("gaps %+v, the first run is %s", u.Gaps, first)
	}
	// A reading again adds nothing.
	man.kill()
	man = runManager(t, m, "--runner", "http://"+addr)
	until(t, "it was read again", func() bool { _, at := read(); return at > 0 })
	if again := usage().total(); again != u.total() {
		t.Errorf("%d requests after one more restart, %d before", again, u.total())
	}
	t.Logf("%d requests of the first run, %d of the second, %d closed slots compared", ofFirst, second, slots)
}

// say makes the fake library's answers.
func (m *machine) say(t *testing.T, script string) {
	t.Helper()
	next := m.script + ".next"
	if err := os.WriteFile(next, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, m.script); err != nil {
		t.Fatal(err)
	}
}

// TestManagerGPU: what the library says stands in /api/gpu, on /metrics, on dcgm's page, and in a Prometheus that scrapes them; and a
// second manager of the machine says who reads.
func TestManagerGPU(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("gcc is not on PATH: skipped")
	}
	m := newMachine(t)
	m.nvmlFile = filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-o", m.nvmlFile, filepath.Join("..", "..", "nvml", "testdata", "fake.c"), "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m.say(t, "devices 2\ngpu 0 temperature 67\ngpu 1 temperature 31\ngpu 1 return nvmlDeviceGetFanSpeed 3\ngpu 0 compute 4242 1048576\n")
	man := runManager(t, m, "--dcgm-names", "--dcgm-addr", "127.0.0.1:0")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // from here on: what was compiled before takes what it takes
	defer cancel()

	type gpuAnswer struct {
		Available bool
		Reason    string
		GPUs      []struct {
			Index int
			UUID  string
			Temp  *float64 `json:"temp_c"`
			Power *float64 `json:"power_w"`
			Fan   *float64 `json:"fan_pct"`
			Used  *uint64  `json:"mem_used"`
			Procs []struct{ PID int }
		}
	}
	gpus := func(of *managed) gpuAnswer { return ask[gpuAnswer](t, "http://"+of.url+"/api/gpu") }
	until(t, "the GPUs are read", func() bool { return gpus(man).Available })
	a := gpus(man)
	if len(a.GPUs) != 2 || *a.GPUs[0].Temp != 67 || *a.GPUs[1].Temp != 31 || *a.GPUs[0].Power != 250 || a.GPUs[0].Fan != nil || a.GPUs[0].Procs[0].PID != 4242 || *a.GPUs[0].Used != 1<<30 {
		t.Errorf("%+v", a)
	}

	p := startPrometheusWith(t, ctx, fmt.Sprintf("global:\n  scrape_interval: %v\n  scrape_timeout: %v\nscrape_configs:\n- job_name: paddock\n  static_configs:\n  - targets: ['%s', '%s']\n",
		scrapeInterval, scrapeInterval, man.url, man.dcgm))
	p.waitFor(t, ctx, `count(up == 1) == 2`)
	p.waitFor(t, ctx, fmt.Sprintf(`paddock_gpu_temperature_celsius{instance="%s",gpu="0"} == 67`, man.url))
	p.waitFor(t, ctx, fmt.Sprintf(`DCGM_FI_DEV_GPU_TEMP{instance="%s",gpu="1",UUID="GPU-fake-1",device="nvidia1",modelName="Fake GPU"} == 31`, man.dcgm))
	m.say(t, "devices 2\ngpu 0 temperature 88\n")
	p.waitFor(t, ctx, fmt.Sprintf(`paddock_gpu_temperature_celsius{instance="%s",gpu="0"} == 88`, man.url))
	p.waitFor(t, ctx, fmt.Sprintf(`DCGM_FI_DEV_GPU_TEMP{instance="%s",gpu="0"} == 88`, man.url))
	if n := p.must(t, ctx, `count({__name__=~"gen_ai_.*|paddock_(num|kv|request|prompt|generation).*"}) or vector(0)`); n != 0 {
		t.Errorf("%v series of a runner are on the manager's page", n)
	}
	checkOpenMetrics(t, "http://"+man.url+"/metrics")

	second := runManager(t, newMachineLike(t, m))
	until(t, "it says who reads", func() bool {
		g := gpus(second)
		return !g.Available && strings.Contains(g.Reason, "held by pid") && strings.Contains(second.log.String(), "held by pid")
	})
	man.kill() // the lock is free with its process
	until(t, "the second reads in its place", func() bool { return gpus(second).Available })
	if advice := lint(t, second.url); advice != "" {
		t.Errorf("promtool check metrics: %s", advice)
	}
}

// newMachineLike is the machine with a history of its own.
func newMachineLike(t *testing.T, m *machine) *machine {
	return &machine{data: t.TempDir(), nvmlFile: m.nvmlFile, script: m.script}
}
