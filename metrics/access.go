package metrics

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/paddock-go/paddock/internal/access"
)

// needs are the rows of the access table. A value outside the list asks everyone for the key.
var needs = [...]access.Need{AuthDefault: access.Network, AuthOn: access.Everyone, AuthOff: access.Nobody}

var auths = [...]string{AuthDefault: "", AuthOn: "on", AuthOff: "off"}

// ParseAuth reads the value of a flag: "on" or "off", nothing else. AuthDefault is for a flag that isn't given.
func ParseAuth(s string) (Auth, error) {
	for a := AuthOn; a <= AuthOff; a++ {
		if s == auths[a] {
			return a, nil
		}
	}
	return AuthOn, fmt.Errorf("metrics: access is %.32q, give on (everyone brings the key) or off (nobody does)", s)
}

// String returns "on", "off", or "" for AuthDefault.
func (a Auth) String() string { return label(auths[:], a) }

// Validate says what is wrong with o, nil: nothing. A handler made of options that are wrong refuses everyone; a program that can
// say so at its start should.
func (o *HandlerOptions) Validate() error {
	switch {
	case int(o.Auth) >= len(needs):
		return fmt.Errorf("metrics: HandlerOptions.Auth is %d, give AuthDefault, AuthOn or AuthOff", o.Auth)
	case o.Auth == AuthOn && strings.TrimSpace(o.Key) == "":
		return errors.New("metrics: access is on without a key, so that nobody could read; give a key, or turn access off")
	}
	return nil
}

// Protect puts h behind the first row of the access table, whatever o.Auth says: this machine, and whoever brings o.Key. It is the rule
// of APIHandler, for what a program of one's own serves beside it. Of o the key and the proxy are used, nothing else.
func Protect(o HandlerOptions, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if o.admit(w, req, AuthDefault) {
			h.ServeHTTP(w, req)
		}
	})
}

// admit reports whether req may read by the table's row given. One that may not has been answered: 401, and what to do.
func (o *HandlerOptions) admit(w http.ResponseWriter, req *http.Request, row Auth) bool {
	need := access.Everyone
	if int(row) < len(needs) {
		need = needs[row]
	}
	message := "a key is wanted here: Authorization: Bearer KEY"
	switch (access.Rule{Need: need, Key: o.Key, BehindProxy: o.BehindProxy}).Ask(req) {
	case access.Admitted:
		return true
	case access.NoKey:
		message = noKey[min(need, access.Everyone)]
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	refuse(w, http.StatusUnauthorized, "invalid_api_key", message)
	return false
}

// noKey says how to open what nobody has a key for.
var noKey = [...]string{
	access.Network: "this is open to its own machine only, since no key is configured; give the server a key (HandlerOptions.Key, --api-key) or open " +
		"its metrics page to the network (AuthOff, --metrics-auth off)",
	access.Everyone: "this is open to nobody, since a key is asked for and none is configured; give the server one (HandlerOptions.Key, --api-key)",
}
