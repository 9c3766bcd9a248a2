package nvml

import "testing"

func TestParseMeminfo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text        string
		total, used uint64
		ok          bool
	}{
		{"MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:    600 kB\n", 1024000, 409600, true},
		{"MemTotal: 10 kB\nMemAvailable: 20 kB\n", 10240, 0, true},
		{"MemTotal: 10 kB\n", 10240, 0, false},
		{"MemTotal: many kB\nMemAvailable:\n", 0, 0, false},
	} {
		total, used, ok := parseMeminfo([]byte(c.text))
		if ok != c.ok || ok && (total != c.total || used != c.used) {
			t.Errorf("%q: %d, %d, %v", c.text, total, used, ok)
		}
	}
}
