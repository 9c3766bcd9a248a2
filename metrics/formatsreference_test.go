package metrics

import (
	"fmt"
	"strings"
)

// formatsReference is METRICS.md's part on formats.
func formatsReference() string {
	var b strings.Builder
	b.WriteString(`
## Formats

Accept chooses, read with its weights; between equal ones the first in the list. OpenMetrics and protobuf have to be named: no
Accept, ` + "`*/*`" + ` and anything unknown get classic text.

| format | content type | beside the samples |
| --- | --- | --- |
`)
	for i, more := range [numFormats]string{
		classicFormat:        "",
		openMetrics100Format: "units, exemplars",
		openMetrics001Format: "the same, for those who name 0.0.1 or no version",
		protobufFormat:       "exemplars, native histograms; only with `RecorderOptions.NativeHistograms`",
	} {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", [numFormats]string{"classic text", "OpenMetrics", "OpenMetrics", "protobuf"}[i], formats[i].contentType, more)
	}
	fmt.Fprintf(&b, `
The three `+"`gen_ai_server_*`"+` histograms have an exemplar in each bucket that has seen a traced request: the newest one, with
`+"`trace_id`"+`, `+"`span_id`"+`, the observation's exact value, and the time at which the request finished. Their native buckets are of schema %d:
each ends at 2^(1/8) times the end of the one before.
`, nativeSchema)
	return b.String()
}
