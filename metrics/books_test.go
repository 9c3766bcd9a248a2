package metrics

import (
	"strings"
	"testing"
)

func TestCheckBooksFindsEachFault(t *testing.T) {
	if err := CheckBooks(&Snapshot{}); err != nil {
		t.Errorf("an engine that did nothing: %v", err)
	}
	for _, row := range []struct {
		says   string
		change func(*Snapshot)
	}{
		{"admitted", func(s *Snapshot) { s.Admitted++ }},
		{"admitted", func(s *Snapshot) { s.Finished[EndAbort]++ }},
		{"admitted", func(s *Snapshot) { s.Waiting[WaitParked]-- }},
		{"running is -1", func(s *Snapshot) { s.Running = -1 }},
		{"waiting for grammar is -2", func(s *Snapshot) { s.Waiting[WaitGrammar] = -2 }},
		{"prompt tokens is", func(s *Snapshot) { s.Prompt[Chat][Live]++ }},
		{"cached tokens is", func(s *Snapshot) { s.Cached[Chat][Live]-- }},
		{"looked up is", func(s *Snapshot) { s.PrefixQueries++ }},
		{"found is", func(s *Snapshot) { s.PrefixHits++ }},
		{"cached tokens of chat/batch", func(s *Snapshot) { s.Cached[Chat][Batch] = 37; s.Cached[Chat][Live] -= 37 }},
		{"pages used 49 + free 16", func(s *Snapshot) { s.PagesUsed++ }},
		{"pages cached 17", func(s *Snapshot) { s.PagesCached = 17 }},
		{"but 48 pages are used", func(s *Snapshot) { s.Admitted -= 20; s.Running = 0; s.Waiting = [NumWaitReasons]int{} }},
		{"accepted draft tokens is 26", func(s *Snapshot) { s.Spec.AcceptedTokens++ }},
		{"accepted draft tokens is 25, more than", func(s *Snapshot) { s.Spec.DraftTokens = 24 }},
		{"drafts is 41", func(s *Snapshot) { s.Spec.Drafts = 41 }},
		{"draft positions 17", func(s *Snapshot) { s.Spec.Positions = MaxDraft + 1 }},
	} {
		s := Snapshot(*busySnapshot())
		row.change(&s)
		if err := CheckBooks(&s); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("want a fault about %q, got %v", row.says, err)
		}
	}
}

func TestCheckForwardFindsWhatWentDown(t *testing.T) {
	before := Snapshot(*busySnapshot())
	if err := CheckForward(&before, &before); err != nil {
		t.Errorf("standing still: %v", err)
	}
	if err := CheckForward(&Snapshot{}, &before); err != nil {
		t.Errorf("from nothing: %v", err)
	}
	for _, row := range []struct {
		says   string
		change func(*Snapshot)
	}{
		{"admitted", func(s *Snapshot) { s.Admitted-- }},
		{"finished by error", func(s *Snapshot) { s.Finished[EndError]-- }},
		{"rejected for queue_full", func(s *Snapshot) { s.Rejected[RejectQueueFull]-- }},
		{"prompt tokens from tier", func(s *Snapshot) { s.PromptFrom[FromTier]-- }},
		{"generated tokens of chat/studio", func(s *Snapshot) { s.Generated[Chat][Studio]-- }},
		{"preemptions", func(s *Snapshot) { s.Preemptions-- }},
		{"evicted", func(s *Snapshot) { s.PagesEvicted-- }},
		{"accepted at position 3", func(s *Snapshot) { s.Spec.AcceptedAt[3]-- }},
		{"bytes written", func(s *Snapshot) { s.WriteBytes-- }},
		{"the pool changed", func(s *Snapshot) { s.PagesTotal++ }},
	} {
		after := before
		row.change(&after)
		if err := CheckForward(&before, &after); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("want a fault about %q, got %v", row.says, err)
		}
	}
}
