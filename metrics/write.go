package metrics

import "strconv"

// The functions of the table's rows: each writes one family's samples of one model (or of the recorder) into a scrape.

// pulled is a family with one sample per model, read from its snapshot.
func pulled(value func(*Snapshot) float64) func(*scrape) {
	return func(s *scrape) {
		for s.nextSource() {
			s.value(value(&s.model.last), s.model.label)
		}
	}
}

// pulledBy is a family with one sample for each of a closed list of label values.
func pulledBy(label string, values []string, value func(*Snapshot, int) float64) func(*scrape) {
	pairs := pairsOf(label, values)
	return func(s *scrape) {
		for s.nextSource() {
			for i := range pairs {
				s.value(value(&s.model.last, i), s.model.label, pairs[i])
			}
		}
	}
}

// estimated is pulled, for models whose engine estimates.
func estimated(value func(*Snapshot) float64) func(*scrape) {
	return func(s *scrape) {
		for s.nextSource() {
			if s.model.last.Estimated {
				s.value(value(&s.model.last), s.model.label)
			}
		}
	}
}

// tokens is a family with one sample for each operation and origin, read from the snapshot.
func tokens(counts func(*Snapshot) *TokenCounts) func(*scrape) {
	return func(s *scrape) {
		for s.nextSource() {
			c := counts(&s.model.last)
			for op := range NumOperations {
				for or := range NumOrigins {
					if s.model.serves[op] || c[op][or] > 0 {
						s.value(float64(c[op][or]), s.model.base[op][or]...)
					}
				}
			}
		}
	}
}

// pushed is a histogram of the ledger: of the model, or one for each operation and origin.
func pushed(id histID) func(*scrape) {
	if id >= firstModelHist {
		return func(s *scrape) {
			for s.nextSource() {
				s.histogram(0, id, true, s.model.label)
			}
		}
	}
	return func(s *scrape) {
		for s.nextModel() {
			s.combinations(func(op, or, base int) {
				s.histogram(base, id, s.model.serves[op], s.model.base[op][or]...)
			})
		}
	}
}

// sampledPages is pushed, for models whose engine samples the residency of KV pages.
func sampledPages(id histID) func(*scrape) {
	return func(s *scrape) {
		for s.nextSource() {
			if s.model.last.Residency {
				s.histogram(0, id, true, s.model.label)
			}
		}
	}
}

// writeDuration writes the successes' histogram always and those of the error types that have occurred.
func writeDuration(s *scrape) {
	failed := s.desc
	for s.nextModel() {
		s.combinations(func(op, or, base int) {
			labels := s.model.base[op][or]
			s.desc = s.rec.succeeded
			s.histogram(base, hDuration, s.model.serves[op], labels...)
			s.desc = failed
			for i := 1; i < len(errorTypes); i++ {
				if id := hDuration + histID(i); s.model.ledger.observed(base, id) {
					s.histogram(base, id, false, append(labels, errorTypePairs[i])...)
				}
			}
		})
	}
}

// writeSuccess writes every finish reason that an operation can have, and others that have occurred.
func writeSuccess(s *scrape) {
	for s.nextModel() {
		s.combinations(func(op, or, base int) {
			var possible [numFinishReasons]bool
			for _, f := range operations[op].finishes {
				possible[f] = s.model.serves[op]
			}
			for f := int(Stop); f < numFinishReasons; f++ {
				n := s.model.ledger.total(base + s.rec.layout.success + f)
				if n > 0 || possible[f] {
					s.value(n, append(s.model.base[op][or], finishPairs[f])...)
				}
			}
		})
	}
}

// writeFailure writes the reasons that have occurred.
func writeFailure(s *scrape) {
	for s.nextModel() {
		s.combinations(func(op, or, base int) {
			for f := int(NoFail) + 1; f < NumFailReasons; f++ {
				if n := s.model.ledger.total(base + s.rec.layout.failure + f); n > 0 {
					s.value(n, append(s.model.base[op][or], classPairs[f], failPairs[f])...)
				}
			}
		})
	}
}

func writeAcceptedAt(s *scrape) {
	for s.nextSource() {
		spec := &s.model.last.Spec
		for i := range min(max(1, spec.Positions), MaxDraft) {
			s.value(float64(spec.AcceptedAt[i]), s.model.label, positionPairs[i])
		}
	}
}

func writeCacheConfig(s *scrape) {
	for s.nextSource() {
		last := &s.model.last
		s.value(1, s.model.label,
			pair("block_size", strconv.Itoa(last.PageSize)),
			pair("num_gpu_blocks", strconv.Itoa(last.PagesTotal)),
			pair("kv_dtype", last.KVType.String()))
	}
}

func writeTarget(s *scrape) {
	p := &s.rec.process
	s.value(1, pair("service_name", p.serviceName), pair("service_version", p.serviceVersion),
		pair("service_instance_id", p.serviceInstanceID))
}

func writeBuild(s *scrape) {
	b := &s.rec.process.build
	s.value(1, pair("version", b.version), pair("commit", b.commit), pair("goversion", b.goVersion))
}

func writeProcessStart(s *scrape) { s.value(s.rec.process.start) }

// writeEventsDropped writes nothing for a recorder without a ring.
func writeEventsDropped(s *scrape) {
	if e := s.rec.events; e != nil {
		s.value(float64(e.dropped.Load()))
	}
}

func writeInFlight(s *scrape) { s.value(float64(s.rec.inFlight.Load())) }
