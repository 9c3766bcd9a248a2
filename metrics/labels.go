package metrics

import (
	"strconv"

	dto "github.com/prometheus/client_model/go"
)

// Label pairs of the closed lists, made once: a page has a few thousand of them.
var (
	providerPair   = pair("gen_ai_provider_name", "paddock")
	originPairs    = pairsOf("origin", origins[:])
	finishPairs    = pairsOf("finish_reason", finishReasons[:])
	errorTypePairs = pairsOf(errorTypeLabel, errorTypes[:])
	operationPairs = func() (p [NumOperations]*dto.LabelPair) {
		for op := range p {
			p[op] = pair("gen_ai_operation_name", Operation(op).String())
		}
		return
	}()
	classPairs, failPairs = func() (class, reason [NumFailReasons]*dto.LabelPair) {
		for f := range reason {
			class[f], reason[f] = pair("class", FailReason(f).Class()), pair("reason", FailReason(f).String())
		}
		return
	}()
	positionPairs = func() (p [MaxDraft]*dto.LabelPair) {
		for i := range p {
			p[i] = pair("position", strconv.Itoa(i))
		}
		return
	}()
)

// errorTypeLabel is the label that a success lacks.
const errorTypeLabel = "error_type"

func pair(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

func pairsOf(name string, values []string) []*dto.LabelPair {
	pairs := make([]*dto.LabelPair, len(values))
	for i, v := range values {
		pairs[i] = pair(name, v)
	}
	return pairs
}
