package metrics

// EndReason is how a sequence left the scheduler.
type EndReason uint8

// The end reasons.
const (
	EndStop   EndReason = iota // a stop token, a stop string, tool calls, the end of the text
	EndLength                  // max tokens or the context
	EndAbort                   // cancelled, disconnected, deadline, drained
	EndError                   // the engine failed

	// NumEndReasons is the number of end reasons, for arrays indexed by one.
	NumEndReasons = int(iota)
)

var endReasons = [NumEndReasons]string{"stop", "length", "abort", "error"}

// String returns the value of the label reason of paddock_requests_finished.
func (e EndReason) String() string { return label(endReasons[:], e) }

// WaitReason is what an admitted sequence outside the batch waits for.
type WaitReason uint8

// The wait reasons.
const (
	WaitCapacity  WaitReason = iota // a place in the batch, or pages
	WaitPreempted                   // the pages that it lost
	WaitPrefix                      // a prefix that another sequence is computing
	WaitRestoring                   // pages on their way from a tier
	WaitGrammar                     // its grammar
	WaitParked                      // a reader

	// NumWaitReasons is the number of wait reasons, for arrays indexed by one.
	NumWaitReasons = int(iota)
)

var waitReasons = [NumWaitReasons]string{"capacity", "preempted", "prefix", "restoring", "grammar", "parked"}

// String returns the value of the label reason of paddock_num_requests_waiting_by_reason.
func (w WaitReason) String() string { return label(waitReasons[:], w) }

// RejectReason is why the scheduler refused to admit a request.
type RejectReason uint8

// The reject reasons.
const (
	RejectQueueFull RejectReason = iota
	RejectContextLength
	RejectDraining
	RejectOutOfPages

	// NumRejectReasons is the number of reject reasons, for arrays indexed by one.
	NumRejectReasons = int(iota)
)

var rejectReasons = [NumRejectReasons]string{"queue_full", "context_length", "draining", "out_of_pages"}

// String returns the value of the label reason of paddock_admission_rejections.
func (r RejectReason) String() string { return label(rejectReasons[:], r) }

// PromptSource is where a prompt token came from.
type PromptSource uint8

// The sources.
const (
	FromCompute PromptSource = iota // computed by the model
	FromPrefix                      // found in the prefix index
	FromTier                        // restored from a tier

	// NumPromptSources is the number of sources, for arrays indexed by one.
	NumPromptSources = int(iota)
)

var promptSources = [NumPromptSources]string{"computed", "prefix", "tier"}

// String returns the value of the label source of paddock_prompt_tokens_by_source.
func (p PromptSource) String() string { return label(promptSources[:], p) }

// MemoryKind is what a model holds memory for.
type MemoryKind uint8

// The kinds.
const (
	MemoryWeights MemoryKind = iota
	MemoryKV
	MemoryScratch

	// NumMemoryKinds is the number of kinds, for arrays indexed by one.
	NumMemoryKinds = int(iota)
)

var memoryKinds = [NumMemoryKinds]string{"weights", "kv", "scratch"}

// String returns the value of the label kind of paddock_memory_bytes.
func (m MemoryKind) String() string { return label(memoryKinds[:], m) }

// KVType is the element type of the KV cache.
type KVType uint8

// The element types.
const (
	KVF32 KVType = iota
	KVF16
	KVBF16
	KVQ8_0
)

var kvTypes = [...]string{KVF32: "f32", KVF16: "f16", KVBF16: "bf16", KVQ8_0: "q8_0"}

// String returns the value of the label kv_dtype of paddock_cache_config_info.
func (k KVType) String() string { return label(kvTypes[:], k) }
