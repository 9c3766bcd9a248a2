package engine

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/paddock-go/paddock/metrics"
)

// EmbedRequest is what to embed, and how. Its zero value but for texts gives whole
// vectors of length 1.
type EmbedRequest struct {
	// One of these two: texts, with the special tokens that the model expects around
	// them added, or tokens as they stand.
	Texts  []string
	Tokens [][]int32

	Dimensions int  // keep the first so many values of each vector; 0: all
	Raw        bool // leave vectors as the model pooled them, their length not made 1

	Priority   int    // higher is served first
	Tenant     string // requests of different tenants share the machine fairly; never a metric label
	CacheScope string // only requests of one scope share cached prefixes
	Origin     metrics.Origin
}

// Embeddings are the vectors of a request's texts, in their order.
type Embeddings struct {
	Vectors [][]float32
	Usage   Usage
}

// MaxTexts is the most texts of one EmbedRequest, and documents of one
// RerankRequest.
const MaxTexts = 2048

// EmbeddingSize is the number of values of the model's embeddings; 0: the model
// gives none.
func (e *Engine) EmbeddingSize() int {
	if e.pooled.ranks {
		return 0
	}
	return e.pooled.width
}

// Embed computes the vectors of all texts of r, or none: an error ends the whole
// request. A metrics.Record in ctx becomes this request's, once for all texts.
//
// Vectors depend on the model and the text alone, bit for bit: not on the batch,
// on other requests or on cached prefixes.
//
// Errors, beside ctx's own: *RequestError, *ContextError, *PagesError,
// *QueueFullError, *DeviceError, *EmbeddingError, ErrNoEmbeddings, ErrDraining,
// ErrClosed.
func (e *Engine) Embed(ctx context.Context, r EmbedRequest) (Embeddings, error) {
	from := source{metrics.Embeddings, r.Priority, r.Tenant, r.CacheScope, r.Origin}
	rows, usage, err := e.poolAll(ctx, from, func() ([][]int32, error) {
		if e.EmbeddingSize() == 0 {
			return nil, ErrNoEmbeddings
		}
		if r.Dimensions < 0 || r.Dimensions > e.pooled.width {
			return nil, &RequestError{"Dimensions", fmt.Sprintf("is %d, must be between 0 and %d", r.Dimensions, e.pooled.width)}
		}
		return e.texts(&r)
	})
	if err != nil {
		return Embeddings{}, err
	}
	for i, v := range rows {
		if r.Dimensions > 0 {
			v = v[:r.Dimensions:r.Dimensions]
		}
		if !r.Raw {
			normalise(v)
		}
		rows[i] = v
	}
	return Embeddings{rows, usage}, nil
}

// texts returns the tokens of whichever form r gives them in.
func (e *Engine) texts(r *EmbedRequest) ([][]int32, error) {
	if (r.Texts == nil) == (r.Tokens == nil) {
		return nil, &RequestError{"Texts", "exactly one of Texts and Tokens is needed"}
	}
	n := len(r.Texts) + len(r.Tokens)
	field := "Texts"
	if r.Tokens != nil {
		field = "Tokens"
	}
	if n == 0 || n > MaxTexts {
		return nil, &RequestError{field, fmt.Sprintf("has %d entries, must have 1 to %d", n, MaxTexts)}
	}
	if r.Texts != nil && e.tok == nil {
		return nil, &RequestError{field, "the model's file has no tokenizer; give Tokens"}
	}
	lists := make([][]int32, n)
	for i := range lists {
		name := fmt.Sprintf("%s[%d]", field, i)
		if r.Texts != nil {
			lists[i] = e.tok.Encode(r.Texts[i], true, false)
		} else {
			for k, id := range r.Tokens[i] {
				if id < 0 || int(id) >= e.vocab {
					return nil, &RequestError{fmt.Sprintf("%s[%d]", name, k), fmt.Sprintf("is %d, the vocabulary has ids 0 to %d", id, e.vocab-1)}
				}
			}
			lists[i] = append([]int32(nil), r.Tokens[i]...)
		}
		if err := e.holds(name, lists[i]); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// holds checks that a text has tokens, and no more than the context.
func (e *Engine) holds(field string, tokens []int32) error {
	if len(tokens) == 0 {
		return &RequestError{field, "has no tokens; at least one is needed"}
	}
	if len(tokens) > e.context {
		return &ContextError{PromptTokens: len(tokens), Context: e.context, Pooled: true}
	}
	return nil
}

// normalise makes a vector's length 1, in float64 and in order, rounded once a
// value. A vector of zeros stays as it is.
func normalise(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(float64(x) * float64(x))
	}
	if sum == 0 {
		return
	}
	length := math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) / length)
	}
}

// source says whose a request is.
type source struct {
	op            metrics.Operation
	priority      int
	tenant, scope string
	origin        metrics.Origin
}

// record is the request's record: that of the context, unless another request has
// it, or a new one, which the engine then finishes.
func (e *Engine) record(ctx context.Context, s source) (rec *metrics.Record, owned bool) {
	origin := metrics.Live
	if int(s.origin) < metrics.NumOrigins { // else it is refused
		origin = s.origin
	}
	rec = metrics.FromContext(ctx)
	if owned = rec == nil || !e.model.Claim(rec); owned {
		rec = &metrics.Record{Operation: s.op, Origin: origin}
	} else {
		rec.Suppose(s.op, origin)
	}
	if rec.Tenant == "" {
		rec.Tenant = strings.Clone(s.tenant)
	}
	return rec, owned
}
