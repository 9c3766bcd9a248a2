package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/paddock-go/paddock/metrics"
)

// modelCard is one entry of /v1/models.
type modelCard struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	MaxModelLen int    `json:"max_model_len"`

	// Operations are what the model can be asked, by the names that the metrics have
	// for them. Ours: a client that serves a person needs to know what to offer.
	Operations []string `json:"operations"`
}

func (h *handler) card(name string) modelCard {
	return modelCard{ID: name, Object: "model", Created: h.created, OwnedBy: "paddock", MaxModelLen: h.e.MaxContext(), Operations: h.operations()}
}

func (h *handler) operations() []string {
	var out []string
	for _, op := range []struct {
		op     metrics.Operation
		served bool
	}{
		{metrics.Chat, h.e.HasChat()},
		{metrics.TextCompletion, !h.e.Ranks()},
		{metrics.Embeddings, h.e.EmbeddingSize() > 0},
		{metrics.Rerank, h.e.Ranks()},
	} {
		if op.served {
			out = append(out, op.op.String())
		}
	}
	return out
}

func serveModels(x *exchange) *refusal {
	list := struct {
		Object string      `json:"object"`
		Data   []modelCard `json:"data"`
	}{Object: "list"}
	for _, n := range x.h.o.Names {
		list.Data = append(list.Data, x.h.card(n))
	}
	x.reply(http.StatusOK, list)
	return nil
}

func serveModel(x *exchange) *refusal {
	name := strings.TrimPrefix(x.r.URL.Path, "/v1/models/")
	if f := x.h.knows(name); f != nil {
		return f
	}
	x.reply(http.StatusOK, x.h.card(name))
	return nil
}

// knows refuses a model name that is not served.
func (h *handler) knows(name string) *refusal {
	if slices.Contains(h.o.Names, name) {
		return nil
	}
	return &refusal{
		reason: metrics.NotFound, kind: "invalid_request_error", code: "model_not_found", param: "model",
		message: fmt.Sprintf("no model %q; served here: %s", clip(name), strings.Join(h.o.Names, ", ")),
	}
}

func serveHealth(x *exchange) *refusal {
	x.reply(http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

func serveReady(x *exchange) *refusal {
	if !x.h.e.Ready() {
		return &refusal{
			reason: metrics.Draining, kind: "server_error", code: "not_ready", message: "the engine takes no requests now",
			header: http.Header{"Retry-After": {"1"}},
		}
	}
	x.reply(http.StatusOK, map[string]string{"status": "ready"})
	return nil
}
