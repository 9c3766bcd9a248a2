package metrics

import "testing"

const (
	statLine = "42 (odd) (name) S 1 42 42 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 9 0 12345 1000 200 18446744073709551615 1 1\n"
	bootStat = "cpu  1 2 3\nintr 5\nbtime 1700000000\nprocesses 9\n"
)

func TestProcStart(t *testing.T) {
	for _, row := range []struct {
		stat, boot string
		want       float64
		ok         bool
	}{
		{statLine, bootStat, 1700000123.45, true},
		{"", bootStat, 0, false},
		{"42 (x", bootStat, 0, false},
		{"42 (x) S 1 2", bootStat, 0, false},
		{statLine, "", 0, false},
		{statLine, "btime soon\n", 0, false},
	} {
		got, ok := procStart([]byte(row.stat), []byte(row.boot))
		if ok != row.ok || ok && got != row.want {
			t.Errorf("%.20q: %v %v, want %v %v", row.stat, got, ok, row.want, row.ok)
		}
	}
}

func FuzzProcStart(f *testing.F) {
	f.Add([]byte(statLine), []byte(bootStat))
	f.Add([]byte("1 (a) b"), []byte("btime 18446744073709551615\n"))
	f.Fuzz(func(t *testing.T, stat, boot []byte) {
		if s, ok := procStart(stat, boot); ok && !(s >= 0) {
			t.Errorf("a start at %v", s)
		}
	})
}
