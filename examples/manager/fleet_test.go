package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

type runnersAnswer struct{ Runners []runnerState }

func runners(t *testing.T, m *running) map[string]runnerState {
	t.Helper()
	_, body := get(t, m.url+"/api/runners")
	all := map[string]runnerState{}
	for _, r := range into[runnersAnswer](t, body).Runners {
		all[r.ID] = r
	}
	return all
}

// TestRunners: the list, the activity and the usage of a runner, over its restart, beside one that is dead, one that never answers and one
// that answers nonsense: none of them delays it.
func TestRunners(t *testing.T) {
	good := serveRunner(t, nil)
	hang := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-hang:
		case <-req.Context().Done():
		}
	}))
	defer silent.Close()
	defer close(hang)
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for req.Context().Err() == nil && req.URL.Path != "/healthz" {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	good.do(func(f *fakeRunner) {
		f.clock.now -= 120 // never ahead of the manager's
		f.run.Start -= 200
		for range 5 {
			f.finish(seriesID{0, 0, "m"}, 10)
		}
		f.clock.now += 60
	})
	m := start(t, "--runner", good.URL, "--runner", silent.URL, "--runner", endless.URL, "--runner", "http://127.0.0.1:1")
	eventually(t, "the runner was read", func() bool { return runners(t, m)[good.id()].Looked != nil })
	all := runners(t, m)
	if r := all[good.id()]; len(all) != 4 || r.Health != "ok" || !r.Ready || r.Run != "run-1" || r.Since == nil || r.Seen == nil {
		t.Errorf("%+v", all)
	}
	eventually(t, "the others have failed", func() bool {
		all = runners(t, m)
		e := all[strings.ReplaceAll(endless.Listener.Addr().String(), ":", "-")]
		return all["127.0.0.1-1"].Health == "unreachable" && e.Health == "ok" && strings.Contains(e.Error, "too long")
	})

	total := func() (n uint64, u usage) {
		_, body := get(t, m.url+"/api/usage?runner="+good.id())
		u = into[usage](t, body)
		for _, s := range u.Series {
			for _, slot := range s.Slots {
				n += slot.Requests
			}
		}
		return n, u
	}
	if n, u := total(); n != 5 || u.Step != 10 || slices.ContainsFunc(u.Gaps, func(g usageGap) bool { return !g.Open }) || len(u.Runners) != 1 || len(u.Bounds) != 1 {
		t.Errorf("%d requests: %+v", n, u)
	}
	good.do(func(f *fakeRunner) {
		f.clock.now++
		f.finish(seriesID{0, 1, "m"}, 3) // nobody will know
		f.clock.now += 30
		f.start()
		f.finish(seriesID{1, 2, "m"}, 4)
	})
	eventually(t, "the second run was read", func() bool { n, _ := total(); return n >= 6 && runners(t, m)[good.id()].Run == "run-2" })
	n, u := total()
	if len(u.Gaps) == 0 || u.Gaps[0].Reason != gapRestart || u.Gaps[0].Run != "run-1" || u.Gaps[0].Open || n > 7 {
		t.Errorf("%d requests, gaps %+v", n, u.Gaps)
	}
	_, body := get(t, m.url+"/api/runners/"+good.id()+"/activity?limit=3")
	a := into[activity](t, body)
	if len(a.Events) != 3 || a.Events[0].Run != "run-2" || a.Events[1].Run != "run-1" {
		t.Errorf("%s", body)
	}
}

// TestDiscover: a runner on a port that is looked at is found, what is none isn't, and one under two addresses counts once.
func TestDiscover(t *testing.T) {
	good := serveRunner(t, nil)
	good.do(func(f *fakeRunner) { f.finish(seriesID{0, 0, "m"}, 10) })
	port := good.Listener.Addr().(*net.TCPAddr).Port
	counted := func(m *running) bool {
		_, body := get(t, m.url+"/api/usage")
		u := into[usage](t, body)
		return len(u.Series) == 1 && u.Series[0].Slots[0].Requests == 1 && len(u.Runners) == 1
	}
	m := start(t, "--probe", fmt.Sprintf("%d-%d", port, port))
	eventually(t, "the runner was found and read", func() bool { return counted(m) })

	two := start(t, "--runner", good.URL, "--runner", "http://[::ffff:127.0.0.1]:"+fmt.Sprint(port))
	eventually(t, "one address is known for the other", func() bool {
		all := runners(t, two)
		a, b := all[good.id()], all["--ffff-127.0.0.1-"+fmt.Sprint(port)]
		return a.SameAs == b.ID && b.Looked != nil || b.SameAs == a.ID && a.Looked != nil
	})
	if !counted(two) {
		_, body := get(t, two.url+"/api/usage")
		t.Errorf("under two addresses: %s", body)
	}

	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "" {
			t.Error("a key was sent to who knows whom")
		}
		fmt.Fprint(w, `{"data":[{"owned_by":"someone"}]}`)
	}))
	defer other.Close()
	c := newClient()
	defer c.close()
	f := &fleet{client: c}
	for url, want := range map[string]bool{other.URL: false, good.URL: true, "http://127.0.0.1:1": false} {
		to, err := parseTarget(url, "")
		if err != nil {
			t.Fatal(err)
		}
		if f.isRunner(t.Context(), to) != want {
			t.Errorf("%s: want %v", url, want)
		}
	}
}

// TestNextReading: the next reading is never later than just after the end of a slot by the runner's clock.
func TestNextReading(t *testing.T) {
	now := time.Unix(5000, 0)
	for _, c := range []struct{ looked, passed, want time.Duration }{
		{1000 * time.Second, 0, 2 * time.Second},
		{1007500 * time.Millisecond, 0, 2 * time.Second},
		{1009 * time.Second, 0, time.Second + afterSlot},
		{1008 * time.Second, 1500 * time.Millisecond, 500*time.Millisecond + afterSlot},
		{1009 * time.Second, time.Minute, 2 * time.Second},
	} {
		s := runnerState{Looked: new(c.looked.Milliseconds()), read: now.Add(-c.passed)}
		if got := s.next(2*time.Second, now); got != c.want {
			t.Errorf("%v, %v ago: %v, want %v", c.looked, c.passed, got, c.want)
		}
	}
	if got := (runnerState{}).next(2*time.Second, now); got != 2*time.Second {
		t.Errorf("never read: %v", got)
	}
}
