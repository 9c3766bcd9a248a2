package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/paddock-go/paddock/metrics"
)

// RerankRequest is what to rank documents by.
type RerankRequest struct {
	Query     string
	Documents []string

	Priority   int    // higher is served first
	Tenant     string // requests of different tenants share the machine fairly; never a metric label
	CacheScope string // only requests of one scope share cached prefixes
	Origin     metrics.Origin
}

// Ranking is how well each document of a request answers its query, in the
// request's order: more is better. A reranker's scores are what its classifier
// gives, of any size; a model that embeds gives the cosine of query and document.
type Ranking struct {
	Scores []float32
	Usage  Usage
}

// Ranks tells whether the model ranks documents: it is a reranker, or it embeds.
func (e *Engine) Ranks() bool { return e.pooled.width > 0 }

// Rerank scores all documents of r, or none. A reranker reads query and document
// as one text, behind one another with the special tokens that it expects around
// each. A metrics.Record in ctx becomes this request's.
//
// Errors, beside ctx's own: those of Embed, with ErrNoRanking in place of
// ErrNoEmbeddings.
func (e *Engine) Rerank(ctx context.Context, r RerankRequest) (Ranking, error) {
	from := source{metrics.Rerank, r.Priority, r.Tenant, r.CacheScope, r.Origin}
	rows, usage, err := e.poolAll(ctx, from, func() ([][]int32, error) { return e.rankTexts(&r) })
	if err != nil {
		return Ranking{}, err
	}
	if e.pooled.ranks {
		scores := make([]float32, len(rows))
		for i, row := range rows {
			scores[i] = row[0]
		}
		return Ranking{scores, usage}, nil
	}
	for _, v := range rows {
		normalise(v)
	}
	scores := make([]float32, len(rows)-1)
	for i, v := range rows[1:] {
		dot := 0.0
		for k, x := range rows[0] {
			dot += float64(float64(x) * float64(v[k]))
		}
		scores[i] = float32(dot)
	}
	return Ranking{scores, usage}, nil
}

// rankTexts are the tokens of each pair for a reranker, of the query and each
// document for a model that embeds.
func (e *Engine) rankTexts(r *RerankRequest) ([][]int32, error) {
	switch n := len(r.Documents); {
	case !e.Ranks():
		return nil, ErrNoRanking
	case e.tok == nil:
		return nil, &RequestError{"Query", "the model's file has no tokenizer"}
	case r.Query == "":
		return nil, &RequestError{"Query", "is empty"}
	case n == 0 || n > MaxTexts:
		return nil, &RequestError{"Documents", fmt.Sprintf("has %d entries, must have 1 to %d", n, MaxTexts)}
	}
	query, lead := e.tok.Encode(r.Query, true, false), e.lead()
	var lists [][]int32
	if !e.pooled.ranks {
		if err := e.holds("Query", query); err != nil {
			return nil, err
		}
		lists = append(lists, query)
	}
	for i, d := range r.Documents {
		tokens := e.tok.Encode(d, true, false)
		if e.pooled.ranks {
			tokens = append(slices.Clip(query), tokens[lead:]...)
		}
		if err := e.holds(fmt.Sprintf("Documents[%d]", i), tokens); err != nil {
			return nil, err
		}
		lists = append(lists, tokens)
	}
	return lists, nil
}

// lead is how many tokens the model expects before a text, which do not stand in
// the middle of a pair.
func (e *Engine) lead() int {
	const text = "a"
	whole, bare := e.tok.Encode(text, true, false), e.tok.Encode(text, false, false)
	for first := range len(whole) - len(bare) + 1 {
		if slices.Equal(whole[first:first+len(bare)], bare) {
			return first
		}
	}
	return 0
}
