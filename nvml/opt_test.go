package nvml

import (
	"encoding/json"
	"testing"
)

func TestOptJSON(t *testing.T) {
	t.Parallel()
	type page struct {
		A, B Opt[float64]
		C    Opt[[]Process]
	}
	in := page{A: some(0.0), C: some([]Process{{PID: 3, Memory: some[uint64](1)}, {PID: 4}})}
	b, err := json.Marshal(in)
	if want := `{"A":0,"B":null,"C":[{"PID":3,"Memory":1},{"PID":4,"Memory":null}]}`; err != nil || string(b) != want {
		t.Fatalf("%s, %v, want %s", b, err, want)
	}
	out := page{B: some(5.0)}
	if err := json.Unmarshal(b, &out); err != nil || out.A != in.A || out.B != in.B || len(out.C.V) != 2 {
		t.Errorf("%+v, %v", out, err)
	}
	if v, ok := out.A.Get(); v != 0 || !ok {
		t.Errorf("a zero that is there: %v, %v", v, ok)
	}
}

// Every number that the interface has is told apart in words.
func TestCodes(t *testing.T) {
	t.Parallel()
	seen := map[string]Code{}
	for c := Success; int(c) < len(codes); c++ {
		s := c.String()
		if other, ok := seen[s]; ok {
			t.Errorf("codes %d and %d are both %q", other, c, s)
		}
		seen[s] = c
	}
	for c, want := range map[Code]string{UnknownError: "unknown error 999", -1: "unknown error -1", NotSupported: "not supported by this device"} {
		if got := c.String(); got != want {
			t.Errorf("code %d: %q", c, got)
		}
	}
	if got, want := (&Error{"nvmlInit_v2", VersionMismatch}).Error(), "nvml: nvmlInit_v2: library and driver are of different versions: the driver was replaced while it ran: restart the machine, or reload its modules (18)"; got != want {
		t.Errorf("error %q", got)
	}
}
