package sched

import (
	"strings"
	"testing"
	"time"
)

// Damage of every kind that Check knows is found. The machine: 1 decodes, 4 is in the middle of a prompt, 2 with its choice
// 3 waits for 4's pages, 5 is parked, 6 and 9 were preempted, 7 and 8 are queued.
func TestCheckFinds(t *testing.T) {
	for want, damage := range map[string]func(s *Scheduler){
		"is in two lists":               func(s *Scheduler) { s.running = append(s.running, s.running[0]) },
		"but says":                      func(s *Scheduler) { s.live[1].place = queued },
		"another leader":                func(s *Scheduler) { s.live[3].leader = s.live[1] },
		"but not live":                  func(s *Scheduler) { delete(s.live, 7) },
		"are live":                      func(s *Scheduler) { s.sharing = nil },
		"is waiting":                    func(s *Scheduler) { s.live[1].state = StateWaiting },
		"is parked: true, at":           func(s *Scheduler) { s.live[1].parked = true },
		"the gauges say":                func(s *Scheduler) { s.waiting[WaitPrefix]++ },
		"were never in the batch":       func(s *Scheduler) { s.fresh++ },
		"reserves":                      func(s *Scheduler) { s.live[5].reserve = 1 },
		"are reserved, the count says":  func(s *Scheduler) { s.reserved++ },
		"rows or an outcome":            func(s *Scheduler) { s.live[1].rows = 1 },
		"sequences in the batch":        func(s *Scheduler) { s.limits.MaxSequences = 1 },
		"is not running":                func(s *Scheduler) { s.stats.Admitted++ },
		"prompt tokens are not":         func(s *Scheduler) { s.stats.PromptPrefix++ },
		"holds 1 pages at place":        func(s *Scheduler) { s.live[7].table.Grow(s.pool, 1) },
		"has computed":                  func(s *Scheduler) { s.live[1].table.Grow(s.pool, 16) },
		"nothing due":                   func(s *Scheduler) { q := s.live[1]; q.Tokens = q.Tokens[:q.computed] },
		"charged":                       func(s *Scheduler) { s.live[1].charged = 0 },
		"is published: false":           func(s *Scheduler) { s.live[4].computed += 4; s.live[4].high += 4 },
		"tables but has":                func(s *Scheduler) { s.pool.Share(s.live[1].table.Pages()[:1]) },
		"tenants in the ring":           func(s *Scheduler) { s.queue.names["x"] = &tenant{} },
		"live sequences, 2 queued":      func(s *Scheduler) { s.queue.names["t"].live = 0 },
		"queue is not in the order":     func(s *Scheduler) { w := s.queue.names["t"].waiting; w[0], w[1] = w[1], w[0] },
		"not in the order of their ran": func(s *Scheduler) { s.resume[0], s.resume[1] = s.resume[1], s.resume[0] },
	} {
		m := newSim(t, 12, 4, Limits{MaxTokens: 8, MaxStepTime: -1})
		add := func(id SeqID, prompt, tenant string, priority int, forks ...*Sequence) {
			if err := m.add(&Sequence{ID: id, Tokens: words(prompt), MaxTokens: 9, Tenant: tenant, Priority: priority, Forks: forks}); err != nil {
				t.Fatal(err)
			}
		}
		add(1, "aaaaaa", "", 2)
		m.step(time.Millisecond)
		add(5, "eeee", "", 2)
		m.step(time.Millisecond)
		add(6, "ff", "", 2)
		add(9, "gg", "", 2)
		m.step(time.Millisecond)
		for _, id := range []SeqID{6, 9} {
			m.s.preempt(m.s.live[id])
			m.books.Preemptions++
			m.s.Park(id, true)
		}
		m.s.Park(5, true)
		add(2, "bbbbccccddddeeeeg", "", 1, &Sequence{ID: 3})
		add(4, "bbbbccccddddeeeeh", "t", 1)
		m.step(time.Millisecond)
		m.s.Park(6, false)
		m.s.Park(9, false)
		add(7, "i", "t", 0)
		add(8, "j", "t", 0)
		m.check()
		damage(m.s)
		if err := m.s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Check says %v\n%s", want, err, m.show())
		}
	}
}
