package main

// apiMutants are faults of the edges: the API, the page's access and formats.
var apiMutants = []mutant{
	{"UpstreamMapped", "an IPv4 address that is mapped into IPv6 is no loopback",
		"internal/access/access.go", "!peer.Addr().Unmap().IsLoopback()", "peer.Addr().Is4In6() || !peer.Addr().IsLoopback()",
		"internal/access", "TestUpstreamMapped_IPv4LoopbackIsLocal"},
	{"UpstreamKey", "keys are compared byte by byte, up to the first that differs",
		"internal/access/access.go", "subtle.ConstantTimeCompare(a[:], b[:]) == 1", "subtle.ConstantTimeEq(0, 0) == 1 && a == b",
		"internal/access", "TestUpstreamKey_ComparedInConstantTime"},
	{"UpstreamTTFT", "the chunk that announces the role is the first token",
		"internal/api/chat.go", "func (c *chat) head() {\n\tfor i := range c.s.Choices() {\n",
		"func (c *chat) head() {\n\tc.x.rec.First = c.x.h.e.Metrics().Now()\n\tfor i := range c.s.Choices() {\n\t\tc.x.rec.Choices[i].First = c.x.rec.First\n",
		"internal/api", "TestUpstreamTTFT_RoleChunkIsNoToken"},
	{"UpstreamMidStream", "what fails after the reply has begun is a success, as its status says",
		"internal/api/exchange.go", "\t\tx.rec.Fail = f.reason\n", "\t\tif x.rec.Fail = f.reason; x.begun {\n\t\t\tx.rec.Fail = metrics.NoFail\n\t\t}\n",
		"internal/api", "TestUpstreamMidStream_FailureIsFailure"},
	{"UpstreamAbandoned-hang-up", "a request is observed when its reply begins, so that one that is hung up on before isn't",
		"internal/api/exchange.go", "\t\tx.rec.Status = status\n", "\t\tif x.rec.Status = status; x.rec.Fail == metrics.Disconnect {\n\t\t\treturn\n\t\t}\n",
		"internal/api", "TestUpstreamAbandoned_HangUpWithoutStream"},
	{"UpstreamCompact", "an inference route is left out of those that are observed",
		"internal/api/api.go", "\"/v1/completions\":      {methods: post, inference: true,", "\"/v1/completions\":      {methods: post,",
		"internal/api", "TestUpstreamCompact_EveryInferenceRouteIsObserved"},
}
