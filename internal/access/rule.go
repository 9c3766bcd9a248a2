package access

import (
	"net/http"
	"strings"
)

// Need says who must bring the key.
type Need uint8

// The rows of the access table. A value outside the list is Everyone.
const (
	Network  Need = iota // who is not on this machine
	Everyone             // also who is
	Nobody
)

// Rule is who may call. The zero value admits this machine alone.
type Rule struct {
	Need        Need
	Key         string // blank: nobody can bring it
	BehindProxy bool   // a proxy is trusted: no peer counts as this machine
}

// Answer is what a rule says to a request.
type Answer uint8

// The answers.
const (
	Admitted  Answer = iota
	KeyWanted        // the key is missing or wrong
	NoKey            // there is none that could be brought
)

// Ask applies the rule to a request. Safe for concurrent use.
func (u Rule) Ask(r *http.Request) Answer {
	switch {
	case u.Need == Nobody,
		u.Need == Network && !u.BehindProxy && Loopback(r),
		Key(r, u.Key):
		return Admitted
	case strings.TrimSpace(u.Key) == "":
		return NoKey
	}
	return KeyWanted
}
