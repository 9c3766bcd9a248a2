package metrics

import "strings"

// Origin is where a request came from. The zero value is Live.
type Origin uint8

// The origins.
const (
	Live Origin = iota
	Batch
	Studio

	// NumOrigins is the number of origins, for arrays indexed by one.
	NumOrigins = int(iota)
)

var origins = [NumOrigins]string{Live: "live", Batch: "batch", Studio: "studio"}

// String returns the value of the label origin; "_OTHER" for a value outside the list.
func (o Origin) String() string { return label(origins[:], o) }

// ParseOrigin reads the request header x-paddock-origin. Case and outer space don't matter; anything that isn't "batch" or
// "studio" is Live, so that a header can't mint a label.
func ParseOrigin(s string) Origin {
	s = strings.TrimSpace(s)
	for o, name := range origins {
		if strings.EqualFold(s, name) {
			return Origin(o)
		}
	}
	return Live
}
