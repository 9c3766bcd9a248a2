package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/metrics"
)

// refusal is an error on its way to a client: one status, one reason in the
// metrics, one JSON body.
type refusal struct {
	reason  metrics.FailReason
	kind    string // error.type
	code    string // error.code; "": null
	param   string // error.param, the field at fault; "": null
	message string
	header  http.Header // further headers, may be nil
}

func (f *refusal) Error() string { return f.message }

// errorBody is the JSON form of a refusal.
type errorBody struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

func (f *refusal) body() errorBody {
	var b errorBody
	b.Error.Message, b.Error.Type = f.message, f.kind
	if f.param != "" {
		b.Error.Param = &f.param
	}
	if f.code != "" {
		b.Error.Code = &f.code
	}
	return b
}

// invalid is a request whose field param can't be served as it is.
func invalid(param, format string, args ...any) *refusal {
	message := fmt.Sprintf(format, args...)
	if param != "" {
		message = param + ": " + message
	}
	return &refusal{reason: metrics.InvalidRequest, kind: "invalid_request_error", param: param, message: message}
}

// fieldNames maps the fields of an engine.Request to those of the API.
var fieldNames = map[string]string{
	"Prompt": "prompt", "Tokens": "prompt", "Messages": "messages", "Tools": "tools", "TemplateArgs": "chat_template_kwargs",
	"Temperature": "temperature", "TopK": "top_k", "TopP": "top_p", "MinP": "min_p", "RepetitionPenalty": "repetition_penalty",
	"PresencePenalty": "presence_penalty", "FrequencyPenalty": "frequency_penalty", "MaxTokens": "max_tokens",
	"MinTokens": "min_tokens", "N": "n", "Logprobs": "logprobs", "LogitBias": "logit_bias", "StopTokens": "stop_token_ids", "Stop": "stop",
	"Texts": "input", "Dimensions": "dimensions", "Query": "query", "Documents": "documents",
}

// promptFields are the fields that hold what is too long.
var promptFields = map[metrics.Operation]string{metrics.Chat: "messages", metrics.TextCompletion: "prompt", metrics.Embeddings: "input", metrics.Rerank: "documents"}

// refused turns an error, the engine's or one of reading the body, into a refusal.
func (x *exchange) refused(err error) *refusal {
	var (
		request *engine.RequestError
		long    *engine.ContextError
		pages   *engine.PagesError
		queue   *engine.QueueFullError
		own     *refusal
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &request):
		name, index, element := strings.Cut(strings.TrimSuffix(request.Field, ".Raw"), "[")
		api, ok := fieldNames[name]
		if name == "Tokens" {
			api = promptFields[x.rt.op]
		}
		switch {
		case !ok:
			return invalid("", "%s: %s", request.Field, request.Reason)
		case element:
			api += "[" + index
		}
		return invalid(api, "%s", request.Reason)
	case errors.As(err, &long) && long.Pooled:
		return &refusal{
			reason: metrics.ContextLength, kind: "invalid_request_error", code: "context_length_exceeded", param: promptFields[x.rt.op],
			message: fmt.Sprintf("this model reads texts of at most %d tokens, the request has one of %d; shorten it", long.Context, long.PromptTokens),
		}
	case errors.As(err, &long):
		atLeast := ""
		if long.AtLeast {
			atLeast = "at least "
		}
		return &refusal{
			reason: metrics.ContextLength, kind: "invalid_request_error", code: "context_length_exceeded", param: promptFields[x.rt.op],
			message: fmt.Sprintf("this model's context is %d tokens, the request has %s%d in the prompt and asks for %d more; shorten one of them",
				long.Context, atLeast, long.PromptTokens, max(long.MaxTokens, 1)),
		}
	case errors.As(err, &pages):
		return invalid("", "the request needs %d KV pages and the server has %d; shorten it or ask for fewer tokens or choices", pages.Need, pages.Have)
	case errors.Is(err, engine.ErrNoText):
		return invalid("model", "embeds or ranks texts and generates none; use /v1/embeddings or /v1/rerank")
	case errors.Is(err, engine.ErrNoEmbeddings):
		return invalid("model", "gives no embeddings")
	case errors.Is(err, engine.ErrNoRanking):
		return invalid("model", "neither ranks nor embeds texts")
	case errors.Is(err, engine.ErrNoChat):
		return invalid("messages", "this model has no chat template; use /v1/completions")
	case errors.As(err, &queue):
		seconds := int(math.Ceil(queue.RetryAfter.Seconds()))
		return &refusal{
			reason: metrics.QueueFull, kind: "rate_limit_error", code: "queue_full",
			message: fmt.Sprintf("%d requests wait, the most is %d; try again in %d s", queue.Queued, queue.Max, seconds),
			header:  http.Header{"Retry-After": {strconv.Itoa(seconds)}},
		}
	case errors.Is(err, engine.ErrDraining), errors.Is(err, engine.ErrClosed):
		return &refusal{
			reason: metrics.Draining, kind: "server_error", code: "draining", message: "the server is shutting down; try another one",
			header: http.Header{"Retry-After": {"5"}},
		}
	case errors.Is(err, context.DeadlineExceeded):
		return &refusal{reason: metrics.Deadline, kind: "server_error", code: "deadline", message: "the request ran out of time"}
	case errors.Is(err, context.Canceled), errors.Is(err, engine.ErrStalled), errors.Is(err, engine.ErrAborted):
		return &refusal{reason: metrics.Disconnect, kind: "server_error", code: "disconnect", message: "the client went away"}
	}
	return &refusal{reason: metrics.EngineError, kind: "server_error", code: "engine_error", message: err.Error()}
}
