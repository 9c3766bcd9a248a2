package metrics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// vllmReference is METRICS.md's section on the view.
func vllmReference(t *testing.T) string {
	var b strings.Builder
	b.WriteString(vllmReferenceHead)
	b.WriteString("| family | type | labels | meaning | buckets | native family | moved by |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	r := newTestRecorder(RecorderOptions{})
	r.showVLLM()
	mustOpen(t, r, "m", &fixedSource{Residency: true}, Chat)
	r.scrape.Lock()
	defer r.scrape.Unlock()
	r.collect()
	sizes := oneTwoFive(0)
	for i := range vllmTable {
		f := &vllmTable[i]
		name := "`" + f.name + "`"
		if f.kind == counter {
			name += " (`_total`)"
		}
		labels := labelList(f.labels)
		if labels == labelList(cacheConfigNames+",engine") {
			labels = "the fields below, `engine`"
		}
		meaning := f.help
		if f.note != "" {
			meaning += " " + f.note
		}
		buckets := ""
		if f.kind == histogram {
			s := &scrape{rec: r, row: &f.family}
			f.write(s)
			var bounds []string
			for _, bound := range s.samples[0].hist.Bucket {
				bounds = append(bounds, strconv.FormatFloat(bound.GetUpperBound(), 'g', -1, 64))
			}
			if buckets = strings.Join(bounds, ", "); len(bounds) == len(sizes.bounds) && s.samples[0].hist.Bucket[3].GetUpperBound() == sizes.bounds[3] {
				buckets = "1, 2, 5, 10, 20, … up to the longest sequence"
			}
		}
		native, moved := "", f.moved
		if f.native != "" {
			native = "`" + f.native + "`"
		}
		if (moved == mark{}) {
			moved = table[slices.IndexFunc(table, func(n family) bool { return n.name == f.native })].moved
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", name, f.kind, labels, meaning, buckets, native, moved.link(t))
	}
	fmt.Fprintf(&b, vllmReferenceFields, labelList(cacheConfigNames))
	b.WriteString(vllmReferenceMended)
	return b.String()
}

const vllmReferenceHead = `
## The vLLM view

` + "`HandlerOptions.VLLM`" + ` adds these families to the page, after those above: vLLM's names, types, labels and buckets, for its dashboards,
routers and autoscalers. ` + "`model_name`" + ` is the model's name, ` + "`engine`" + ` a number that tells the engines of a recorder apart: the
least that is free when one opens. Counters and gauges come from the same snapshot as the native ones. Histograms count from the first
handler with the option on, and a step or a request is in the histograms of both views or of neither. Families of sequences and of
choices count each of a request's ` + "`n`" + `; all others count the request once.

`

const vllmReferenceFields = `
The labels of ` + "`vllm:cache_config_info`" + `: %s. ` + "`block_size`, `num_gpu_blocks`, `cache_dtype`, `prefix_match_unit`, `kv_cache_size_tokens`, `kv_cache_max_concurrency` and `kv_cache_memory_bytes`" + `
are the engine's; what doesn't exist here is ` + "`None`" + `.
`

const vllmReferenceMended = `
Where the numbers differ from vLLM's own, on purpose:

- A request that was cancelled or failed is in every histogram as far as it got, and in ` + "`vllm:request_success`" + ` under ` + "`abort` or `error`" + `, so
  that sums and counters agree: when the engine is idle, the sums of ` + "`vllm:request_prompt_tokens`, `vllm:request_prefill_kv_computed_tokens` and `vllm:request_generation_tokens`" + `
  are ` + "`vllm:prompt_tokens`, the `local_compute` part of `vllm:prompt_tokens_by_source` and `vllm:generation_tokens`" + `.
- Prompt tokens count once per request, not once per choice.
- ` + "`vllm:inter_token_latency_seconds`" + ` has an observation for each token, also where speculation yields several at once.
- ` + "`vllm:iteration_tokens_total`" + ` has an observation for each step, with what was computed in it, also where it is a part of a prompt.
- Preemptions and rejections count when they happen; prefix lookups once, when the request is first admitted.
- ` + "`vllm:admission_rejections`" + ` has every reason for which a scheduler refuses, not only a full queue.
`
