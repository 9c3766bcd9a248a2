package api

import (
	"math"
	"net/http"
	"slices"

	"github.com/paddock-go/paddock/engine"
)

// rerankParams is what a body of /v1/rerank decodes to.
type rerankParams struct {
	poolParams
	req  engine.RerankRequest
	top  int  // top_n; 0: all
	echo bool // return_documents
}

// rerankFields is the table of /v1/rerank, as the services that made the route
// known have it.
var rerankFields = []field[rerankParams]{
	{"model", func(p *rerankParams, v value) (err error) { p.model, err = v.str(); return }},
	{"query", func(p *rerankParams, v value) (err error) { p.req.Query, err = v.str(); return }},
	{"documents", setDocuments},
	{"top_n", func(p *rerankParams, v value) error {
		n, err := v.integer(1, math.MaxInt32)
		p.top = int(n)
		return err
	}},
	{"return_documents", func(p *rerankParams, v value) (err error) { p.echo, err = v.boolean(); return }},
	{"user", func(p *rerankParams, v value) (err error) { p.user, err = v.str(); return }},
	{"cache_salt", func(p *rerankParams, v value) error { return p.setSalt(v) }},
}

// setDocuments takes an array of texts, each a string or an object with its text.
func setDocuments(p *rerankParams, v value) error {
	if !v.array() {
		return v.wrong("an array of strings or of objects with a text")
	}
	return v.elements(func(e value) error {
		if len(p.req.Documents) == engine.MaxTexts {
			return tooMany(v, engine.MaxTexts)
		}
		text, err := documentText(e)
		p.req.Documents = append(p.req.Documents, text)
		return err
	})
}

func documentText(v value) (text string, err error) {
	if v.string() {
		return v.str()
	}
	if !v.object() {
		return "", v.wrong("a string or an object with a text")
	}
	given := false
	err = v.members(func(name string, m value) (err error) {
		if name != "text" {
			return unknown(m)
		}
		given = true
		text, err = m.str()
		return err
	})
	if err == nil && !given {
		err = invalid(v.path(), "has no text")
	}
	return text, err
}

// rerankReply is the reply of /v1/rerank: the best document first.
type rerankReply struct {
	ID      string       `json:"id"`
	Model   string       `json:"model"`
	Usage   poolUsage    `json:"usage"`
	Results []rankResult `json:"results"`
}

type rankResult struct {
	Index    int           `json:"index"`
	Score    float32       `json:"relevance_score"`
	Document *rankDocument `json:"document,omitempty"`
}

type rankDocument struct {
	Text string `json:"text"`
}

// serveRerank is POST /v1/rerank.
func serveRerank(x *exchange) *refusal {
	p := &rerankParams{}
	if f := parsePool(x, rerankFields, p, &p.poolParams); f != nil {
		return f
	}
	if p.req.Query == "" {
		return invalid("query", "is missing or empty")
	}
	if len(p.req.Documents) == 0 {
		return invalid("documents", "is missing or empty")
	}
	p.req.Tenant, p.req.Priority, p.req.CacheScope = x.caller(p.salt)
	p.req.Origin = x.rec.Origin
	r, err := x.h.e.Rerank(x.r.Context(), p.req)
	if err != nil {
		return x.refused(err)
	}
	out := rerankReply{ID: newID("rerank-"), Model: x.h.o.Names[0], Usage: poolUsageOf(r.Usage), Results: make([]rankResult, len(r.Scores))}
	for i, s := range r.Scores {
		out.Results[i] = rankResult{Index: i, Score: s}
		if p.echo {
			out.Results[i].Document = &rankDocument{p.req.Documents[i]}
		}
	}
	slices.SortStableFunc(out.Results, func(a, b rankResult) int { // equals stay in the client's order
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	if p.top > 0 && p.top < len(out.Results) {
		out.Results = out.Results[:p.top]
	}
	x.reply(http.StatusOK, out)
	return nil
}
