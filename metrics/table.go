package metrics

// kind is the type of a family.
type kind uint8

const (
	counter kind = iota
	gauge
	histogram
)

var kinds = [...]string{counter: "counter", gauge: "gauge", histogram: "histogram"}

func (k kind) String() string { return label(kinds[:], k) }

// family is one row of the table: everything about one family of the page.
type family struct {
	name   string // without _total: the name of the family in the contract and in OpenMetrics
	kind   kind
	labels string // as in the contract, comma-separated; "base" stands for the four labels of a request
	help   string // the exact quantity and unit
	note   string // what the help has no room for; METRICS.md only
	moved  mark   // the line that moves it
	page   bool   // on our own page only, not on a caller's registry
	write  func(*scrape)
}

// mark names a line of code by its file, as METRICS.md finds it, and a text that stands on exactly one line of it. A number that
// several lines move has several texts, a line each.
type mark struct{ file, text string }

// baseLabels are what "base" stands for in a row's labels.
const baseLabels = "gen_ai_operation_name,gen_ai_provider_name,gen_ai_request_model,origin"

// sampleName is the name that the family's samples have in every format.
func (f *family) sampleName() string {
	if f.kind == counter {
		return f.name + "_total"
	}
	return f.name
}

// table lists every family in the order of the page. A family is added here, its value where it is known (a field of Snapshot, or
// a histogram of layout), and METRICS.md is generated again.
var table = []family{
	{"target_info", gauge, "service_name,service_version,service_instance_id",
		"Name, version and instance of the service, always 1.",
		"The OpenTelemetry resource; the instance is a random UUID unless the recorder was given one.",
		mark{"process.go", "p.serviceInstanceID = newUUID()"}, true, writeTarget},
	{"paddock_build_info", gauge, "version,commit,goversion",
		"Version, commit and Go version of this build, always 1.",
		"From the build's own information, also where paddock is a dependency; unknown where it is absent.",
		mark{"process.go", "p.build = buildOf(info)"}, false, writeBuild},
	{"process_start_time_seconds", gauge, "",
		"Start time of the process, in seconds since the Unix epoch.",
		"From the operating system on Linux, elsewhere the start of this package.",
		mark{"process.go", "p.start = processStart()"}, true, writeProcessStart},

	{"gen_ai_server_request_duration_seconds", histogram, "base,error_type",
		"Time from a request's arrival to its last byte or last token, in seconds, for every request that ended.",
		"error_type is absent on success; else the HTTP status as text, also where streaming had begun, or disconnect.",
		mark{"model.go", "e.observeTraced(base, hDuration+histID"}, false, writeDuration},
	{"gen_ai_server_time_to_first_token_seconds", histogram, "base",
		"Time from a request's arrival to its first generated token, in seconds, once per choice of a successful request.",
		"A role chunk is no token; streamed or not, the instant is the same: the token is pushed into the request's stream.",
		mark{"model.go", "e.observeTraced(base, hFirstToken"}, false, pushed(hFirstToken)},
	{"gen_ai_server_time_per_output_token_seconds", histogram, "base",
		"Mean time between the output tokens of a choice after its first, in seconds, for successful requests.",
		"(last − first) / (n − 1), once per choice of at least two tokens.",
		mark{"model.go", "e.observeTraced(base, hPerToken"}, false, pushed(hPerToken)},

	{"paddock_prompt_tokens", counter, "base",
		"Prompt tokens of started requests, counted once per request.",
		"Started: first scheduled. A request with several choices counts its prompt once.",
		mark{"../engine/loop.go", "l.books.prompt[j.op][j.origin] +="}, false, tokens(func(s *Snapshot) *TokenCounts { return &s.Prompt })},
	{"paddock_prompt_cached_tokens", counter, "base",
		"Prompt tokens of started requests that were served from a cache.",
		"From the prefix index or from a tier.",
		mark{"../engine/loop.go", "l.books.cached[j.op][j.origin] +="}, false, tokens(func(s *Snapshot) *TokenCounts { return &s.Cached })},
	{"paddock_generation_tokens", counter, "base",
		"Tokens generated and kept, counted as they happen.",
		"A sampled stop token counts, and so do tokens that a stop string cuts away; rejected drafts never.",
		mark{"../engine/step.go", "l.books.generated[j.op][j.origin] +="}, false, tokens(func(s *Snapshot) *TokenCounts { return &s.Generated })},
	{"paddock_request_success", counter, "base,finish_reason",
		"Requests that succeeded, by finish reason.",
		"One per request; a request that generates nothing by nature finishes as stop.",
		mark{"model.go", "e.cells[base+e.success"}, false, writeSuccess},
	{"paddock_request_failure", counter, "base,class,reason",
		"Requests that failed, by class and reason.",
		"A series exists from its first failure on. The reasons and their statuses: see below.",
		mark{"model.go", "e.cells[base+e.failure"}, false, writeFailure},

	{"paddock_request_queue_time_seconds", histogram, "base",
		"Time that a request waited before it was first scheduled, in seconds.",
		"From being queued; for a request that ended in the queue, up to its end.",
		mark{"model.go", "e.observe1(base, hQueue"}, false, pushed(hQueue)},
	{"paddock_request_prefill_time_seconds", histogram, "base",
		"Time from first being scheduled to the first token, in seconds.",
		"For a request that ended before its first token, up to its end. Preemption doesn't move the start.",
		mark{"model.go", "e.observe1(base, hPrefill"}, false, pushed(hPrefill)},
	{"paddock_request_decode_time_seconds", histogram, "base",
		"Time from the first token to the last token, in seconds.",
		"Of every request that got a token, failed ones too.",
		mark{"model.go", "e.observe1(base, hDecode"}, false, pushed(hDecode)},
	{"paddock_inter_token_latency_seconds", histogram, "base",
		"Time between two tokens of a sequence, in seconds, once per token.",
		"A step that yields k tokens gives k observations of gap / k.",
		mark{"model.go", "hGap, sum/n, n, sum"}, false, pushed(hGap)},
	{"paddock_request_prompt_tokens", histogram, "base",
		"Prompt tokens of a request, observed at its end.",
		"Of every request that reached the engine, failed ones too.",
		mark{"model.go", "e.observe1(base, hPromptTokens"}, false, pushed(hPromptTokens)},
	{"paddock_request_generation_tokens", histogram, "base",
		"Generated tokens of a request, observed at its end.",
		"Over all its choices; of every request that reached the engine, failed ones too.",
		mark{"model.go", "e.observe1(base, hTokens"}, false, pushed(hTokens)},

	{"paddock_num_requests_in_flight", gauge, "",
		"Requests held at an edge or through the API, streaming bodies included.",
		"Of all models of the recorder.",
		mark{"recorder.go", "r.inFlight.Add"}, false, writeInFlight},
	{"paddock_num_requests_running", gauge, "model",
		"Sequences in the running batch.", "",
		mark{"../sched/place.go", "s.waiting[q.wait()] += by"}, false, pulled(func(s *Snapshot) float64 { return float64(s.Running) })},
	{"paddock_num_requests_waiting", gauge, "model",
		"Sequences admitted and not in the running batch.", "",
		mark{"../sched/place.go", "s.waiting[q.wait()] += by"}, false, pulled(func(s *Snapshot) float64 { return float64(s.WaitingTotal()) })},
	{"paddock_num_requests_waiting_by_reason", gauge, "model,reason",
		"Sequences admitted and not in the running batch, by what they wait for.",
		"The sum over the reasons is paddock_num_requests_waiting.",
		mark{"../sched/place.go", "s.waiting[q.wait()] += by"}, false,
		pulledBy("reason", waitReasons[:], func(s *Snapshot, i int) float64 { return float64(s.Waiting[i]) })},
	{"paddock_requests_admitted", counter, "model",
		"Sequences that the scheduler accepted.",
		"Always running + waiting + finished by every reason.",
		mark{"../sched/add.go", "s.stats.Admitted +="}, false, pulled(func(s *Snapshot) float64 { return float64(s.Admitted) })},
	{"paddock_requests_finished", counter, "model,reason",
		"Sequences that left the scheduler, by reason.", "",
		mark{"../sched/leave.go", "s.stats.Finished[r]++"}, false,
		pulledBy("reason", endReasons[:], func(s *Snapshot, i int) float64 { return float64(s.Finished[i]) })},
	{"paddock_admission_rejections", counter, "model,reason",
		"Requests that the scheduler refused to admit, by reason.", "",
		mark{"../sched/add.go", "Rejected.QueueFull++\nRejected.ContextLength++\nRejected.Draining++\nRejected.OutOfPages++"}, false,
		pulledBy("reason", rejectReasons[:], func(s *Snapshot, i int) float64 { return float64(s.Rejected[i]) })},

	{"paddock_kv_cache_usage_perc", gauge, "model",
		"Share of the KV pages that live sequences hold, from 0 to 1.",
		"Cached pages that no live sequence holds are free.",
		mark{"../kvcache/freelist.go", "l.n--\nl.n++"}, false, pulled((*Snapshot).PagesUsage)},
	{"paddock_kv_pages_used", gauge, "model",
		"KV pages that live sequences hold.", "A page that several sequences share counts once.",
		mark{"../kvcache/freelist.go", "l.n--\nl.n++"}, false, pulled(func(s *Snapshot) float64 { return float64(s.PagesUsed) })},
	{"paddock_kv_pages_free", gauge, "model",
		"KV pages that no live sequence holds.", "Used + free = all.",
		mark{"../kvcache/freelist.go", "l.n--\nl.n++"}, false, pulled(func(s *Snapshot) float64 { return float64(s.PagesFree) })},
	{"paddock_kv_pages_cached", gauge, "model",
		"Free KV pages that a prefix hit could revive.", "A part of the free ones.",
		mark{"../kvcache/pool.go", "p.cached++"}, false, pulled(func(s *Snapshot) float64 { return float64(s.PagesCached) })},
	{"paddock_kv_pages_evicted", counter, "model",
		"Cached KV pages given up to make room.", "",
		mark{"../kvcache/pool.go", "p.evicted++"}, false, pulled(func(s *Snapshot) float64 { return float64(s.PagesEvicted) })},
	{"paddock_kv_block_lifetime_seconds", histogram, "model",
		"Time from a KV page's first use to its eviction, in seconds.",
		"Only where residency is sampled. First use: the page was taken for the content; eviction: it is taken for other content, cached or not.",
		mark{"model.go", "e.observe1(0, hPageLifetime"}, false, sampledPages(hPageLifetime)},
	{"paddock_kv_block_idle_seconds", histogram, "model",
		"Time that a KV page lay unused before its eviction, in seconds.",
		"Only where residency is sampled. A use is the page's taking or a prefix hit on it, not each step that reads it.",
		mark{"model.go", "e.observe1(0, hPageIdle"}, false, sampledPages(hPageIdle)},
	{"paddock_kv_block_reuse_gap_seconds", histogram, "model",
		"Time between two uses of a KV page, in seconds.",
		"Only where residency is sampled. Between the page's last four prefix hits, observed at its eviction.",
		mark{"model.go", "e.observe1(0, hPageGap"}, false, sampledPages(hPageGap)},
	{"paddock_cache_config_info", gauge, "model,block_size,num_gpu_blocks,kv_dtype",
		"Shape of the KV page pool, always 1.",
		"block_size is the tokens in a page, num_gpu_blocks the number of pages: names as endpoint pickers read them.",
		mark{"../engine/open.go", "l.books.fixed = metrics.Snapshot{"}, false, writeCacheConfig},
	{"paddock_prefix_cache_queries", counter, "model",
		"Prompt tokens looked up in the prefix cache, once per request.",
		"At first admission; recomputation after preemption and warm-up never count.",
		mark{"../sched/admit.go", "s.stats.PrefixQueries +="}, false, pulled(func(s *Snapshot) float64 { return float64(s.PrefixQueries) })},
	{"paddock_prefix_cache_hits", counter, "model",
		"Prompt tokens found in the prefix cache, once per request.", "",
		mark{"../sched/admit.go", "s.stats.PrefixHits +="}, false, pulled(func(s *Snapshot) float64 { return float64(s.PrefixHits) })},
	{"paddock_prompt_tokens_by_source", counter, "model,source",
		"Prompt tokens by where they came from: computed, prefix or tier.",
		"Fixed at first admission; the sum is what was looked up.",
		mark{"../sched/admit.go", "s.stats.PromptComputed +=\ns.stats.PromptPrefix +="}, false,
		pulledBy("source", promptSources[:], func(s *Snapshot, i int) float64 { return float64(s.PromptFrom[i]) })},
	{"paddock_num_preemptions", counter, "model",
		"Times that a running sequence was preempted to free its KV pages.", "",
		mark{"../sched/preempt.go", "s.stats.Preemptions++"}, false, pulled(func(s *Snapshot) float64 { return float64(s.Preemptions) })},
	{"paddock_recomputed_tokens", counter, "model",
		"Tokens computed again after a preemption.", "They count in no prompt and no prefix counter.",
		mark{"../sched/commit.go", "s.stats.RecomputedTokens +="}, false, pulled(func(s *Snapshot) float64 { return float64(s.Recomputed) })},

	{"paddock_spec_decode_drafts", counter, "model",
		"Verification steps that carried a draft.",
		"Accepted tokens / drafts + 1 is the mean acceptance length.",
		mark{"../sched/commit.go", "s.stats.Drafts++"}, false, pulled(func(s *Snapshot) float64 { return float64(s.Spec.Drafts) })},
	{"paddock_spec_decode_draft_tokens", counter, "model",
		"Draft tokens proposed by speculation.", "",
		mark{"../sched/commit.go", "s.stats.DraftTokens +="}, false, pulled(func(s *Snapshot) float64 { return float64(s.Spec.DraftTokens) })},
	{"paddock_spec_decode_accepted_tokens", counter, "model",
		"Draft tokens accepted by speculation.", "",
		mark{"../sched/commit.go", "s.stats.AcceptedTokens +="}, false, pulled(func(s *Snapshot) float64 { return float64(s.Spec.AcceptedTokens) })},
	{"paddock_spec_decode_accepted_tokens_per_pos", counter, "model,position",
		"Draft tokens accepted by speculation, by position in the draft.",
		"Positions from 0; as many series as the longest draft has positions, at least one.",
		mark{"../sched/commit.go", "s.stats.AcceptedPerPos[i]++"}, false, writeAcceptedAt},

	{"paddock_iteration_tokens", histogram, "model",
		"Tokens computed in one step of the engine.", "One observation per executed step.",
		mark{"model.go", "e.observe1(0, hStepTokens"}, false, pushed(hStepTokens)},
	{"paddock_iteration_seconds", histogram, "model",
		"Wall time of one step of the engine, in seconds.", "One observation per executed step.",
		mark{"model.go", "e.observe1(0, hStepTime"}, false, pushed(hStepTime)},
	{"paddock_estimated_flops", counter, "model",
		"Floating point operations estimated from the scheduled batches.", "Matrix products, and attention over the keys that each row sees, cached ones too; rows without logits skip the end of the last layer and the head. Absent where the engine doesn't estimate.",
		mark{"../engine/step.go", "l.books.work.add("}, false, estimated(func(s *Snapshot) float64 { return s.Flops })},
	{"paddock_estimated_read_bytes", counter, "model",
		"Bytes read from memory, estimated from the scheduled batches.", "Weights once a step, each sequence's keys and values once a step and layer, and activations. Absent where the engine doesn't estimate.",
		mark{"../engine/step.go", "l.books.work.add("}, false, estimated(func(s *Snapshot) float64 { return s.ReadBytes })},
	{"paddock_estimated_write_bytes", counter, "model",
		"Bytes written to memory, estimated from the scheduled batches.", "Activations, keys and values. Absent where the engine doesn't estimate.",
		mark{"../engine/step.go", "l.books.work.add("}, false, estimated(func(s *Snapshot) float64 { return s.WriteBytes })},
	{"paddock_memory_bytes", gauge, "model,kind",
		"Memory that a model holds, in bytes, by kind.", "",
		mark{"../engine/open.go", "Memory[metrics.MemoryWeights] =\nMemory[metrics.MemoryKV] =\nMemory[metrics.MemoryScratch] ="}, false,
		pulledBy("kind", memoryKinds[:], func(s *Snapshot, i int) float64 { return float64(s.Memory[i]) })},
	{"paddock_events_dropped", counter, "",
		"Events overwritten before a reader that asked for them saw them.",
		"Each once, however many readers asked. Absent where the event ring is off.",
		mark{"events.go", "e.dropped.Add(e.lost.add"}, false, writeEventsDropped},

	{"http_requests", counter, "handler,method,status",
		"HTTP requests by route pattern, method and class of status.",
		"Only where InstrumentHTTP wraps the routes, as all http_ families. handler is none where no route matched.",
		mark{"httpstats.go", "e.cells[e.success+m*numHTTPStatuses"}, false, perRoute(writeHTTPRequests)},
	{"http_request_duration_seconds", histogram, "handler,method",
		"Time from an HTTP request's arrival to its handler's return, in seconds, by route pattern and method.",
		"A streamed body is part of it; no latency of a token.",
		mark{"httpstats.go", "hHTTPDuration+histID(m), nanos(took)"}, false, perRoute(writeHTTPDuration)},
	{"http_request_duration_highr_seconds", histogram, "",
		"Time from an HTTP request's arrival to its handler's return, in seconds, all routes together.",
		"The same observations on finer buckets.",
		mark{"httpstats.go", "s.all.in(half).observe1"}, false, writeHTTPDurationOfAll},
	{"http_request_size_bytes", histogram, "handler",
		"Size of the body of an HTTP request, in bytes, by route pattern.",
		"Its Content-Length; of a body without one, what the handler read.",
		mark{"httpstats.go", "e.observe1(0, hHTTPRequestSize"}, false, perRoute(writeHTTPSize(hHTTPRequestSize))},
	{"http_response_size_bytes", histogram, "handler",
		"Size of the body of an HTTP response, in bytes, by route pattern.",
		"What the handler wrote, before any compression further out.",
		mark{"httpstats.go", "e.observe1(0, hHTTPResponseSize"}, false, perRoute(writeHTTPSize(hHTTPResponseSize))},
}
