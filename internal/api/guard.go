package api

import (
	"encoding/json"
	"net/http"

	"github.com/paddock-go/paddock/internal/access"
	"github.com/paddock-go/paddock/metrics"
)

// access is the API's row of the access table: this machine is free to call,
// others need the key. It returns nil for a request that may pass.
func (o *Options) access(r *http.Request) *refusal {
	if o.Key == "" && !o.RequireKey {
		return nil
	}
	message := "a key is wanted here: Authorization: Bearer KEY"
	switch (access.Rule{Key: o.Key, BehindProxy: o.BehindProxy}).Ask(r) {
	case access.Admitted:
		return nil
	case access.NoKey:
		message = "this server is open to its own machine only, since it was started without a key; start it with --api-key to open it to the network"
	}
	return &refusal{
		reason: metrics.Unauthorized, kind: "authentication_error", code: "invalid_api_key", message: message,
		header: http.Header{"Www-Authenticate": {"Bearer"}},
	}
}

// Guard puts next behind the access rule that the API follows with the same
// options. Safe for concurrent use if next is.
func Guard(o Options, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := o.access(r)
		if f == nil {
			next.ServeHTTP(w, r)
			return
		}
		for name, values := range f.header {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.reason.Status())
		_ = json.NewEncoder(w).Encode(f.body()) // a client that has gone misses it
	})
}
