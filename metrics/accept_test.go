package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	classicType     = "text/plain; version=0.0.4; charset=utf-8"
	openMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	openMetricsOld  = "application/openmetrics-text; version=0.0.1; charset=utf-8"
	protobufType    = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
)

// What scrapers send when nothing is configured, and with native histograms on.
const (
	prometheus242       = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	prometheus242Native = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	prometheus3         = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
	prometheus3Native   = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
	chromium            = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
	firefox             = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	delimited           = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)

var acceptRows = []struct {
	name   string
	accept []string // header lines
	want   string
	native string // with native histograms on; "": the same
}{
	{"none", nil, classicType, ""},
	{"empty", []string{""}, classicType, ""},
	{"aiperf, curl, Go", []string{"*/*"}, classicType, ""},
	{"Chromium", []string{chromium}, classicType, ""},
	{"Firefox", []string{firefox}, classicType, ""},
	{"Prometheus 2.42", []string{prometheus242}, openMetricsType, ""},
	{"Prometheus 2.42, native histograms", []string{prometheus242Native}, openMetricsType, protobufType},
	{"Prometheus 3", []string{prometheus3}, openMetricsType, ""},
	{"Prometheus 3, native histograms", []string{prometheus3Native}, openMetricsType, protobufType},

	{"text", []string{"text/plain"}, classicType, ""},
	{"text of another version", []string{"text/plain;version=1.0.0"}, classicType, ""},
	{"unknown", []string{"application/json"}, classicType, ""},
	{"wildcard of a type", []string{"application/*"}, classicType, ""},
	{"garbage", []string{"\x00;q=,;;,\"a,b"}, classicType, ""},
	{"OpenMetrics", []string{"application/openmetrics-text; version=1.0.0"}, openMetricsType, ""},
	{"OpenMetrics 0.0.1", []string{"application/openmetrics-text; version=0.0.1"}, openMetricsOld, ""},
	{"OpenMetrics of no version", []string{"application/openmetrics-text"}, openMetricsOld, ""},
	{"OpenMetrics of a version to come", []string{"application/openmetrics-text;version=2.0.0"}, classicType, ""},
	{"that or any", []string{"application/openmetrics-text;version=2.0.0,application/openmetrics-text;q=0.9,*/*;q=0.1"}, openMetricsOld, ""},
	{"case and quotes", []string{`Application/OpenMetrics-Text ; Version="1.0.0" ; Charset=UTF-8 ; Q=0.5`}, openMetricsType, ""},
	{"another charset", []string{"application/openmetrics-text;version=1.0.0;charset=iso-8859-1"}, classicType, ""},
	{"a comma in quotes", []string{`text/html;x="a,application/openmetrics-text;version=1.0.0,b"`}, classicType, ""},
	{"an escaped quote", []string{`text/html;x="\",application/openmetrics-text;version=1.0.0"`}, classicType, ""},
	{"two lines", []string{"text/plain;q=0.5", "application/openmetrics-text;version=1.0.0"}, openMetricsType, ""},
	{"a weight of 0 refuses", []string{"application/openmetrics-text;version=1.0.0;q=0,*/*;q=0.1"}, classicType, ""},
	{"0.000 too", []string{"application/openmetrics-text;version=1.0.0;q=0.000"}, classicType, ""},
	{"a weight that is none", []string{"application/openmetrics-text;version=1.0.0;q=high,*/*;q=0.1"}, classicType, ""},
	{"a weight above 1", []string{"application/openmetrics-text;version=1.0.0;q=7,*/*;q=0.1"}, classicType, ""},
	{"text refused", []string{"text/plain;q=0,*/*;q=1,application/openmetrics-text;version=1.0.0;q=0.1"}, openMetricsType, ""},
	{"everything refused", []string{"*/*;q=0"}, classicType, ""},
	{"one version refused", []string{"application/openmetrics-text;version=1.0.0;q=0,application/openmetrics-text;q=0.5"}, openMetricsOld, ""},
	{"text preferred", []string{"application/openmetrics-text;version=1.0.0;q=0.4,text/plain;q=0.5"}, classicType, ""},
	{"any text preferred", []string{"application/openmetrics-text;version=1.0.0;q=0.4,text/*;q=0.5"}, classicType, ""},
	{"anything preferred", []string{"application/openmetrics-text;version=1.0.0;q=0.4,*/*;q=0.5"}, classicType, ""},
	{"the closest clause speaks", []string{"*/*,text/plain;q=0.2,application/openmetrics-text;version=1.0.0;q=0.3"}, openMetricsType, ""},
	{"that text isn't served", []string{"text/plain;version=1.0.0,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3"}, openMetricsType, ""},
	{"a tie goes to the first, OpenMetrics", []string{"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.5"}, openMetricsType, ""},
	{"a tie goes to the first, text", []string{"text/plain;q=0.5,application/openmetrics-text;version=1.0.0;q=0.5"}, classicType, ""},
	{"a tie goes to the first, on two lines", []string{"*/*", "application/openmetrics-text;version=1.0.0"}, classicType, ""},
	{"protobuf", []string{delimited}, classicType, protobufType},
	{"protobuf at a lower weight", []string{delimited + ";q=0.3,text/plain;q=0.5"}, classicType, ""},
	{"protobuf of another encoding", []string{"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text"}, classicType, ""},
	{"protobuf of another message", []string{"application/vnd.google.protobuf;proto=io.prometheus.client.Metric;encoding=delimited"}, classicType, ""},
	{"any protobuf", []string{"application/vnd.google.protobuf"}, classicType, ""},
}

func TestAccept(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	native, _ := busyRecorder(t, RecorderOptions{NativeHistograms: true})
	for _, row := range acceptRows {
		t.Run(row.name, func(t *testing.T) {
			check := func(r *Recorder, want string) {
				t.Helper()
				req := httptest.NewRequest(http.MethodGet, "/any/mount/metrics/", nil)
				req.Header["Accept"] = row.accept
				w := httptest.NewRecorder()
				HandlerFor(HandlerOptions{Recorder: r, Auth: AuthOff}).ServeHTTP(w, req)
				if got := w.Header().Get("Content-Type"); w.Code != 200 || got != want {
					t.Fatalf("%d, %q, want %q", w.Code, got, want)
				}
				if om := strings.HasSuffix(w.Body.String(), "# EOF\n"); om != strings.Contains(want, "openmetrics") {
					t.Errorf("%s ends in %q", want, w.Body.String()[w.Body.Len()-20:])
				}
			}
			check(r, row.want)
			if row.native == "" {
				row.native = row.want
			}
			check(native, row.native)
		})
	}
}

func FuzzAccept(f *testing.F) {
	for _, row := range acceptRows {
		f.Add(strings.Join(row.accept, ", "), "gzip", row.native != "")
	}
	f.Fuzz(func(t *testing.T, accept, encoding string, native bool) {
		h := http.Header{"Accept": {accept}, "Accept-Encoding": {encoding}}
		got := chooseFormat(h, native)
		if i := formatIndex(got); i < 0 || i == protobufFormat && !native {
			t.Fatalf("format %d for %q", i, accept)
		}
		low := strings.ToLower(accept)
		if got != &formats[classicFormat] && !strings.Contains(low, "openmetrics-text") && !strings.Contains(low, "protobuf") {
			t.Errorf("%q gets %s, which it doesn't name", accept, got.contentType)
		}
		if again := chooseFormat(http.Header{"Accept": {accept, ""}}, native); again != got {
			t.Errorf("%q: an empty line changes the format", accept)
		}
		if acceptsGzip(h) && !strings.ContainsAny(encoding, "*") && !strings.Contains(strings.ToLower(encoding), "gzip") &&
			!strings.Contains(strings.ToLower(encoding), "identity") {
			t.Errorf("%q gets gzip", encoding)
		}
	})
}

func formatIndex(f *format) int {
	for i := range formats {
		if f == &formats[i] {
			return i
		}
	}
	return -1
}

func TestAcceptsGzip(t *testing.T) {
	for value, want := range map[string]bool{
		"": false, "identity": false, "gzip": true, "GZIP": true, "x-gzip": true, "deflate, gzip": true, "gzip;q=0": false,
		"gzip; q=0.000": false, "gzip;q=1": true, "gzip;q=2": false, "gzip;q=x": false, "gzip;q=NaN": false, "gzipped": false,
		"br;q=1, gzip;q=0.1": true, ",;,": false, "deflate, br": false,
		"*": true, "*;q=0": false, "*;q=0.5, gzip;q=0": false, "*;q=0, gzip": true, "identity, *;q=0": false,
		"identity;q=0": true, "identity;q=0, gzip;q=0": false, "identity;q=0, *": true, "identity;q=0, br": true,
		"gzip;q=0.5, identity": false, "gzip, identity;q=0.5": true, "gzip, identity": true, "gzip;q=0.5, identity;q=0.5": true,
		"gzip;q=1.0, identity; q=0.5, *;q=0": true,
	} {
		if got := acceptsGzip(http.Header{"Accept-Encoding": {value}}); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	if acceptsGzip(http.Header{}) {
		t.Error("gzip without having been asked for")
	}
	if !acceptsGzip(http.Header{"Accept-Encoding": {"br", "gzip;q=0.2"}}) {
		t.Error("a second line isn't read")
	}
}

func FuzzWeight(f *testing.F) {
	for _, s := range []string{"", "q=1", "q=0.5;x", " Q = 0 ", "q=1e-400", "q=;q=1", "q=-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, params string) {
		if q := weight(params); !(q >= 0 && q <= 1) {
			t.Errorf("%q weighs %v", params, q)
		}
	})
}
