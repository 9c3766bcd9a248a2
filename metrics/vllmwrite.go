package metrics

import (
	"strconv"

	dto "github.com/prometheus/client_model/go"
)

// The functions of vllmTable's rows.

// writeVLLM writes the view after the table.
func writeVLLM(s *scrape) {
	for i := range vllmTable {
		s.row, s.desc, s.next = &vllmTable[i].family, nil, 0
		s.row.write(s)
	}
}

// nextBook makes the next model of the view current.
func (s *scrape) nextBook() *vllmBook {
	for s.nextModel() {
		if b := s.model.vllm.Load(); b != nil {
			return b
		}
	}
	return nil
}

// nextEngine makes the next model of the view that has an engine current.
func (s *scrape) nextEngine() *vllmBook {
	for {
		if b := s.nextBook(); b == nil || s.model.source != nil {
			return b
		}
	}
}

// engineValue is a family with one sample per engine, read from its snapshot.
func engineValue(value func(*Snapshot) float64) func(*scrape) {
	return func(s *scrape) {
		for b := s.nextEngine(); b != nil; b = s.nextEngine() {
			s.value(value(&s.model.last), b.labels...)
		}
	}
}

// engineCount is engineValue for whole numbers.
func engineCount(value func(*Snapshot) uint64) func(*scrape) {
	return engineValue(func(s *Snapshot) float64 { return float64(value(s)) })
}

// engineValues is a family with one sample for each of a closed list of label values.
func engineValues(label string, values []string, value func(*Snapshot, int) float64) func(*scrape) {
	pairs := pairsOf(label, values)
	return func(s *scrape) {
		for b := s.nextEngine(); b != nil; b = s.nextEngine() {
			for i := range pairs {
				s.value(value(&s.model.last, i), append(b.labels, pairs[i])...)
			}
		}
	}
}

// engineEstimate is engineValue, for engines that estimate.
func engineEstimate(value func(*Snapshot) float64) func(*scrape) {
	return only(func(s *Snapshot) bool { return s.Estimated }, value)
}

// speculated is engineCount, for engines that speculate.
func speculated(value func(*Snapshot) uint64) func(*scrape) {
	return only(func(s *Snapshot) bool { return s.Spec.Positions > 0 }, func(s *Snapshot) float64 { return float64(value(s)) })
}

func only(on func(*Snapshot) bool, value func(*Snapshot) float64) func(*scrape) {
	return func(s *scrape) {
		for b := s.nextEngine(); b != nil; b = s.nextEngine() {
			if on(&s.model.last) {
				s.value(value(&s.model.last), b.labels...)
			}
		}
	}
}

// bookHistogram is a histogram of the engine's book.
func bookHistogram(id histID) func(*scrape) {
	return func(s *scrape) {
		for b := s.nextBook(); b != nil; b = s.nextBook() {
			s.histogramOf(b.ledger, 0, id, true, b.labels)
		}
	}
}

// residency is bookHistogram, for engines that sample their pages.
func residency(id histID) func(*scrape) {
	return func(s *scrape) {
		for b := s.nextEngine(); b != nil; b = s.nextEngine() {
			if s.model.last.Residency {
				s.histogramOf(b.ledger, 0, id, true, b.labels)
			}
		}
	}
}

func writeVLLMAcceptedAt(s *scrape) {
	for b := s.nextEngine(); b != nil; b = s.nextEngine() {
		spec := &s.model.last.Spec
		for i := range min(max(0, spec.Positions), MaxDraft) {
			s.value(float64(spec.AcceptedAt[i]), append(b.labels, positionPairs[i])...)
		}
	}
}

var rejectPairs = pairsOf("reason", rejectReasons[:])

// writeRejections sums over the engines that there are and were: the family has no label that tells them apart.
func writeRejections(s *scrape) {
	sums := s.rec.rejected
	for s.nextSource() {
		for reason, n := range s.model.last.Rejected {
			sums[reason] += n
		}
	}
	for reason, n := range sums {
		s.value(float64(n), rejectPairs[reason])
	}
}

// waitClasses are vLLM's two lists of waiting sequences.
var waitClasses = [...]string{waitsForCapacity: "capacity", deferred: "deferred"}

const (
	waitsForCapacity = iota // a place in the batch, or pages
	deferred                // something else
)

// waitClass is how many sequences wait in one of them.
func waitClass(s *Snapshot, class int) int {
	capacity := s.Waiting[WaitCapacity] + s.Waiting[WaitPreempted]
	if class == waitsForCapacity {
		return capacity
	}
	return s.WaitingTotal() - capacity
}

func waitingBy(s *Snapshot, class int) float64 { return float64(waitClass(s, class)) }

// vllmSources are vLLM's names of the prompt sources.
var vllmSources = [NumPromptSources]string{FromCompute: "local_compute", FromPrefix: "local_cache_hit", FromTier: "external_kv_transfer"}

// finishedReasons are vLLM's names of the end reasons, which are ours, and one that doesn't occur here.
var finishedReasons = [NumEndReasons + 1]string{"stop", "length", "abort", "error", "repetition"}

func finishedBy(s *Snapshot, reason int) float64 {
	if reason >= NumEndReasons {
		return 0
	}
	return float64(s.Finished[reason])
}

// hitRate is the share of the tokens looked up that were found; 0 before the first look.
func hitRate(s *Snapshot) float64 {
	return share(s.PrefixHits, s.PrefixQueries)
}

// cacheConfig is vLLM's cache configuration: what stands for each field here. A field without a function is None.
var cacheConfig = []struct {
	name  string
	value func(*Snapshot) string
}{
	{"block_size", func(s *Snapshot) string { return strconv.Itoa(s.PageSize) }},
	{"user_specified_block_size", constant("False")},
	{"user_specified_mamba_block_size", constant("False")},
	{"prefix_match_unit", func(s *Snapshot) string { return strconv.Itoa(s.PageSize) }},
	{"gpu_memory_utilization", nil},
	{"cache_dtype", func(s *Snapshot) string { return s.KVType.String() }},
	{"is_attention_free", constant("False")},
	{"num_gpu_blocks_override", nil},
	{"sliding_window", nil},
	{"enable_prefix_caching", constant("True")},
	{"prefix_caching_hash_algo", constant("sha256")},
	{"prefix_cache_retention_interval", nil},
	{"kv_cache_dtype_skip_layers", constant("[]")},
	{"mamba_page_size_padded", nil},
	{"skip_page_size_padded", nil},
	{"mamba_block_size", nil},
	{"mamba_cache_dtype", nil},
	{"mamba_ssm_cache_dtype", nil},
	{"mamba_cache_mode", constant("none")},
	{"replayssm_buffer_len", nil},
	{"use_replayssm", constant("False")},
	{"num_gpu_blocks", func(s *Snapshot) string { return strconv.Itoa(s.PagesTotal) }},
	{"num_cpu_blocks", nil},
	{"kv_cache_size_tokens", func(s *Snapshot) string { return strconv.Itoa(s.PagesTotal * s.PageSize) }},
	{"kv_cache_max_concurrency", maxConcurrency},
	{"kv_sharing_fast_prefill", constant("False")},
	{"kv_cache_memory_bytes", func(s *Snapshot) string { return strconv.FormatInt(s.Memory[MemoryKV], 10) }},
	{"kv_offloading_size", nil},
	{"kv_offloading_backend", nil},
}

// cacheConfigNames are the fields as a row's labels.
var cacheConfigNames = func() (names string) {
	for i := range cacheConfig {
		if i > 0 {
			names += ","
		}
		names += cacheConfig[i].name
	}
	return
}()

const none = "None"

func constant(v string) func(*Snapshot) string { return func(*Snapshot) string { return v } }

// maxConcurrency is how many sequences of the greatest length the pool holds.
func maxConcurrency(s *Snapshot) string {
	if s.MaxContext <= 0 || s.PageSize <= 0 {
		return none
	}
	pages := (s.MaxContext + s.PageSize - 1) / s.PageSize
	return strconv.FormatFloat(float64(s.PagesTotal)/float64(pages), 'g', -1, 64)
}

func writeVLLMCacheConfig(s *scrape) {
	for b := s.nextEngine(); b != nil; b = s.nextEngine() {
		labels := make([]*dto.LabelPair, 0, len(cacheConfig)+1)
		for i := range cacheConfig {
			text := none
			if value := cacheConfig[i].value; value != nil {
				text = value(&s.model.last)
			}
			labels = append(labels, pair(cacheConfig[i].name, text))
		}
		s.value(1, append(labels, b.labels[1])...)
	}
}
