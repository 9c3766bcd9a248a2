package api

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"strings"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/metrics"
)

// embedParams is what a body of /v1/embeddings decodes to.
type embedParams struct {
	poolParams
	req    engine.EmbedRequest
	base64 bool
}

// poolParams is what the bodies of the routes without generation share.
type poolParams struct {
	model, user, salt string
}

// embedFields is the table of /v1/embeddings.
var embedFields = []field[embedParams]{
	{"model", func(p *embedParams, v value) (err error) { p.model, err = v.str(); return }},
	{"input", setInput},
	{"encoding_format", func(p *embedParams, v value) error {
		s, err := v.str()
		if err == nil && s != "float" && s != "base64" {
			return invalid(v.path(), "is %q, must be float or base64", clip(s))
		}
		p.base64 = s == "base64"
		return err
	}},
	{"dimensions", func(p *embedParams, v value) error {
		n, err := v.integer(1, math.MaxInt32)
		p.req.Dimensions = int(n)
		return err
	}},
	{"user", func(p *embedParams, v value) (err error) { p.user, err = v.str(); return }},

	// Beyond the official API.
	{"cache_salt", func(p *embedParams, v value) error { return p.setSalt(v) }},
}

// setSalt takes cache_salt.
func (p *poolParams) setSalt(v value) (err error) {
	if p.salt, err = v.str(); len(p.salt) > maxSalt {
		return invalid(v.path(), "has %d bytes, at most %d are allowed", len(p.salt), maxSalt)
	}
	return err
}

// setInput takes the input's four forms: a string, an array of strings, token ids,
// an array of arrays of token ids.
func setInput(p *embedParams, v value) error {
	if v.string() {
		s, err := v.str()
		p.req.Texts = []string{s}
		return err
	}
	if !v.array() {
		return v.wrong("a string, an array of strings, token ids, or an array of arrays of token ids")
	}
	first, n := value{}, 0
	if err := v.elements(func(e value) error {
		if n++; n == 1 {
			first = e
		}
		return nil
	}); err != nil {
		return err
	}
	switch {
	case n == 0:
		return invalid(v.path(), "is empty")
	case first.numeric():
		return p.list(v)
	case !first.string() && !first.array():
		return first.wrong("a string, a token id, or an array of token ids")
	case n > engine.MaxTexts:
		return tooMany(v, engine.MaxTexts)
	case first.string():
		return v.elements(func(e value) error {
			s, err := e.str()
			p.req.Texts = append(p.req.Texts, s)
			return err
		})
	}
	return v.elements(p.list)
}

// list adds a list of token ids.
func (p *embedParams) list(v value) error {
	if !v.array() {
		return v.wrong("an array of token ids")
	}
	ids := []int32{}
	err := v.elements(func(e value) error {
		id, err := e.integer(0, math.MaxInt32)
		ids = append(ids, int32(id))
		return err
	})
	p.req.Tokens = append(p.req.Tokens, ids)
	return err
}

// embedReply is the reply of /v1/embeddings.
type embedReply struct {
	Object string      `json:"object"`
	Data   []embedding `json:"data"`
	Model  string      `json:"model"`
	Usage  poolUsage   `json:"usage"`
}

// embedding is one vector: numbers, or their little-endian float32 in base64.
type embedding struct {
	Object string `json:"object"`
	Index  int    `json:"index"`
	Vector any    `json:"embedding"`
}

// poolUsage is the token counts of a reply without generation.
type poolUsage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// serveEmbeddings is POST /v1/embeddings.
func serveEmbeddings(x *exchange) *refusal {
	p := &embedParams{}
	if f := parsePool(x, embedFields, p, &p.poolParams); f != nil {
		return f
	}
	if p.req.Texts == nil && p.req.Tokens == nil {
		return invalid("input", "is missing")
	}
	p.req.Tenant, p.req.Priority, p.req.CacheScope = x.caller(p.salt)
	p.req.Origin = x.rec.Origin
	r, err := x.h.e.Embed(x.r.Context(), p.req)
	if err != nil {
		return x.refused(err)
	}
	out := embedReply{Object: "list", Data: make([]embedding, len(r.Vectors)), Model: x.h.o.Names[0], Usage: poolUsageOf(r.Usage)}
	for i, v := range r.Vectors {
		out.Data[i] = embedding{"embedding", i, v}
		if p.base64 {
			out.Data[i].Vector = packed(v)
		}
	}
	x.reply(http.StatusOK, out)
	return nil
}

// packed is a vector as clients ask for it to save bytes.
func packed(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func poolUsageOf(u engine.Usage) poolUsage { return poolUsage{u.PromptTokens, u.PromptTokens} }

// parsePool reads an exchange's body by a route's table and checks what the routes
// without generation share.
func parsePool[P any](x *exchange, table []field[P], p *P, common *poolParams) *refusal {
	body, f := x.body()
	if f != nil {
		return f
	}
	err := decode(body, table, p)
	x.rec.User = metrics.Clip(common.user)
	if err != nil {
		return x.refused(err)
	}
	if common.model == "" {
		return invalid("model", "is missing; served here: %s", strings.Join(x.h.o.Names, ", "))
	}
	return x.h.knows(common.model)
}

// caller is whose request it is: tenant, priority, and the scope of cached
// prefixes, which a client's salt parts further.
func (x *exchange) caller(salt string) (tenant string, priority int, scope string) {
	if t := x.h.o.Tenant; t != nil {
		tenant = t(x.r)
		x.rec.Tenant = metrics.Clip(tenant)
	}
	if f := x.h.o.Priority; f != nil {
		priority = f(x.r)
	}
	scope = salt
	if s := x.h.o.CacheScope; s != nil {
		scope = s(x.r) + "\x00" + salt
	}
	return tenant, priority, scope
}
