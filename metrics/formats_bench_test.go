package metrics

import (
	"net/http/httptest"
	"testing"
)

// BenchmarkPage makes the full page, both views, of a recorder with two models that serve two operations each, all traced.
func BenchmarkPage(b *testing.B) {
	r := newTestRecorder(RecorderOptions{NativeHistograms: true})
	for _, name := range []string{"a", "b"} {
		m := mustOpen(b, r, name, busySnapshot(), Chat, TextCompletion)
		for i := range uint64(200) {
			rec := traced(i+1, (10+30*ms)*1<<(i%11))
			rec.Operation = Operation(i % 2)
			m.Finish(rec)
		}
	}
	h := HandlerFor(HandlerOptions{Recorder: r, VLLM: true, Runtime: true, Auth: AuthOff})
	for _, row := range []struct{ name, accept, encoding string }{
		{"classic", "*/*", ""},
		{"classic+gzip", "*/*", "gzip"},
		{"openmetrics", prometheus242, ""},
		{"openmetrics+gzip", prometheus242, "gzip"},
		{"protobuf", prometheus242Native, ""},
		{"protobuf+gzip", prometheus242Native, "gzip"},
	} {
		b.Run(row.name, func(b *testing.B) {
			req := httptest.NewRequest("GET", "/metrics", nil)
			req.Header.Set("Accept", row.accept)
			req.Header.Set("Accept-Encoding", row.encoding)
			w := &discard{ResponseRecorder: httptest.NewRecorder()}
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, req)
			}
			b.ReportMetric(float64(w.n)/float64(b.N), "bytes/page")
		})
	}
}
