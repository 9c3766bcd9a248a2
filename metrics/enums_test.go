package metrics

import (
	"strconv"
	"testing"
)

func TestParseOrigin(t *testing.T) {
	for s, want := range map[string]Origin{
		"": Live, "live": Live, "batch": Batch, "BATCH": Batch, " studio ": Studio, "Studio": Studio, "batches": Live, "evil\n": Live, "_OTHER": Live,
	} {
		if got := ParseOrigin(s); got != want {
			t.Errorf("%q is %v, want %v", s, got, want)
		}
	}
}

func FuzzParseOrigin(f *testing.F) {
	f.Add("batch")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, s string) {
		if o := ParseOrigin(s); int(o) >= NumOrigins {
			t.Errorf("%q is origin %d", s, o)
		}
	})
}

// The whole table of failures, as the contract has it.
func TestFailReasons(t *testing.T) {
	want := []struct {
		f             FailReason
		reason, class string
		status        int
	}{
		{InvalidRequest, "invalid_request", "4xx", 400}, {ContextLength, "context_length", "4xx", 400}, {Unauthorized, "unauthorized", "4xx", 401},
		{NotFound, "not_found", "4xx", 404}, {MethodNotAllowed, "method_not_allowed", "4xx", 405}, {TooLarge, "too_large", "4xx", 413},
		{QueueFull, "queue_full", "4xx", 429}, {EngineError, "engine_error", "5xx", 500}, {Draining, "draining", "5xx", 503},
		{OutOfPages, "out_of_pages", "5xx", 503}, {Deadline, "deadline", "5xx", 504}, {Disconnect, "disconnect", "disconnect", 499},
	}
	if len(want) != NumFailReasons-1 {
		t.Fatalf("%d reasons, want %d", NumFailReasons-1, len(want))
	}
	for _, w := range want {
		errorType := strconv.Itoa(w.status)
		if w.f == Disconnect {
			errorType = "disconnect"
		}
		if w.f.String() != w.reason || w.f.Class() != w.class || w.f.Status() != w.status || w.f.ErrorType() != errorType {
			t.Errorf("%d: %q %q %d %q, want %q %q %d %q", w.f, w.f, w.f.Class(), w.f.Status(), w.f.ErrorType(), w.reason, w.class, w.status, errorType)
		}
	}
	if NoFail.String() != "" || NoFail.Class() != "" || NoFail.Status() != 200 || NoFail.ErrorType() != "" {
		t.Error("NoFail fails")
	}
	if bad := FailReason(200); bad.String() != other || bad.Class() != "5xx" || bad.Status() != 500 || bad.ErrorType() != "500" {
		t.Error("a reason outside the list is no engine error")
	}
}

// A value outside its list reads as one fixed word, never as a number that mints labels.
func TestEnumsOutsideTheirLists(t *testing.T) {
	for _, s := range []string{Operation(99).String(), Origin(99).String(), FinishReason(99).String(), EndReason(99).String(), WaitReason(99).String(),
		RejectReason(99).String(), PromptSource(99).String(), MemoryKind(99).String(), KVType(99).String()} {
		if s != other {
			t.Errorf("got %q, want %q", s, other)
		}
	}
	if got := KVQ8_0.String() + KVBF16.String() + MemoryKV.String() + FromTier.String() + RejectDraining.String() + WaitParked.String() + EndAbort.String() +
		StopSequence.String() + CountTokens.String(); got != "q8_0bf16kvtierdrainingparkedabortstop_sequencecount_tokens" {
		t.Errorf("names: %s", got)
	}
}
