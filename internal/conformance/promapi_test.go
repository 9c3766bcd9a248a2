package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// prometheus is a running Prometheus server.
type prometheus struct{ url string }

// scrapeInterval is short, so that the counts between the last scrape and the end
// of a window are few.
const scrapeInterval = 500 * time.Millisecond

// idle has a result once the server holds no request any more.
const idle = `sum(paddock_num_requests_in_flight) + sum(paddock_num_requests_running) == 0`

// scrapeConfig is the least that makes Prometheus scrape a target.
func scrapeConfig(target string) string {
	return fmt.Sprintf("global:\n  scrape_interval: %v\n  scrape_timeout: %v\nscrape_configs:\n- job_name: paddock\n  static_configs:\n  - targets: ['%s']\n",
		scrapeInterval, scrapeInterval, target)
}

// startPrometheus starts Prometheus with features on, scraping a target, and waits
// until it has.
func startPrometheus(t *testing.T, ctx context.Context, target string, features ...string) *prometheus {
	t.Helper()
	return startPrometheusWith(t, ctx, scrapeConfig(target), features...)
}

func startPrometheusWith(t *testing.T, ctx context.Context, config string, features ...string) *prometheus {
	t.Helper()
	bin, dir, addr := tool(t, "prometheus"), t.TempDir(), freeAddress(t)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(bin, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr,
		"--log.level=warn", "--enable-feature="+strings.Join(features, ","))
	c.Stderr = os.Stderr
	startProcess(t, c)
	p := &prometheus{"http://" + addr}
	p.waitFor(t, ctx, `max(up{job="paddock"}) == 1`)
	return p
}

// call asks the HTTP API and takes the reply's data into out.
func (p *prometheus) call(ctx context.Context, path string, params url.Values, out any) error {
	r, err := http.NewRequestWithContext(ctx, "GET", p.url+"/api/v1/"+path+"?"+params.Encode(), nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var reply struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(res.Body).Decode(&reply); err != nil {
		return err
	}
	if reply.Status != "success" {
		return fmt.Errorf("%s: %s", reply.Status, reply.Error)
	}
	return json.Unmarshal(reply.Data, out)
}

// series is a result of a query.
type series struct {
	labels map[string]string
	value  float64
}

// query is the instant value of an expression, a series each. A scalar is a series
// without labels.
func (p *prometheus) query(ctx context.Context, expr string) ([]series, error) {
	var data struct {
		ResultType string
		Result     json.RawMessage
	}
	if err := p.call(ctx, "query", url.Values{"query": {expr}}, &data); err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	type result struct {
		Metric map[string]string
		Value  [2]any
	}
	var results []result
	var err error
	switch data.ResultType {
	case "vector":
		err = json.Unmarshal(data.Result, &results)
	case "scalar":
		results = make([]result, 1)
		err = json.Unmarshal(data.Result, &results[0].Value)
	default:
		err = fmt.Errorf("%s: the result is a %s", expr, data.ResultType)
	}
	if err != nil {
		return nil, err
	}
	var out []series
	for _, r := range results {
		v, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		if err != nil {
			return nil, err
		}
		out = append(out, series{r.Metric, v})
	}
	return out, nil
}

// value is the answer to a query with one result; ok tells whether there was one.
func (p *prometheus) value(ctx context.Context, query string) (v float64, ok bool, err error) {
	all, err := p.query(ctx, query)
	if err != nil || len(all) == 0 {
		return 0, false, err
	}
	if len(all) > 1 {
		return 0, false, fmt.Errorf("%s: %d results", query, len(all))
	}
	return all[0].value, true, nil
}

// must is value where there has to be one.
func (p *prometheus) must(t *testing.T, ctx context.Context, query string) float64 {
	t.Helper()
	v, ok, err := p.value(ctx, query)
	if err != nil || !ok {
		t.Fatalf("%s: no value: %v", query, err)
	}
	t.Logf("%s = %v", query, v)
	return v
}

// waitFor asks until a query has a result; the server may not be up at first.
func (p *prometheus) waitFor(t *testing.T, ctx context.Context, query string) {
	t.Helper()
	for {
		_, ok, err := p.value(ctx, query)
		if err == nil && ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not come: %v", query, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// exemplar is an observation that Prometheus keeps beside a series.
type exemplar struct {
	Labels map[string]string
	Value  string
}

// exemplars are those of all series of a selector since begin, by series name.
func (p *prometheus) exemplars(ctx context.Context, selector string, begin time.Time) (map[string][]exemplar, error) {
	var data []struct {
		SeriesLabels map[string]string
		Exemplars    []exemplar
	}
	err := p.call(ctx, "query_exemplars", url.Values{
		"query": {selector}, "start": {begin.Add(-time.Minute).UTC().Format(time.RFC3339)}, "end": {time.Now().Add(time.Minute).UTC().Format(time.RFC3339)},
	}, &data)
	out := map[string][]exemplar{}
	for _, s := range data {
		out[s.SeriesLabels["__name__"]] = append(out[s.SeriesLabels["__name__"]], s.Exemplars...)
	}
	return out, err
}
