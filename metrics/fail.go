package metrics

// FailReason is why a request failed; NoFail means that it didn't. Each has one HTTP status, so that an error, its reply and
// its series say the same.
type FailReason uint8

// The fail reasons, with their HTTP statuses.
const (
	NoFail           FailReason = iota
	InvalidRequest              // 400: malformed, out of range, or an option that isn't served
	ContextLength               // 400: prompt and output exceed the context
	Unauthorized                // 401: no key, or a wrong one
	NotFound                    // 404: no such route or model
	MethodNotAllowed            // 405
	TooLarge                    // 413: the body exceeds its limit
	QueueFull                   // 429: admission is at its bound
	EngineError                 // 500: a device or the engine failed
	Draining                    // 503: the engine takes no new requests, or ended this one to stop
	OutOfPages                  // 503: the KV pool can't hold the request
	Deadline                    // 504: the caller's context ran out of time
	Disconnect                  // the client went away, or never read

	// NumFailReasons is the number of fail reasons, NoFail included, for arrays indexed by one.
	NumFailReasons = int(iota)
)

// fails has, for each reason, its label value, its HTTP status, its class, and the index of its error_type in errorTypes.
var fails = [NumFailReasons]struct {
	label, class string
	status       int
	errorType    int
}{
	NoFail:           {"", "", 200, 0},
	InvalidRequest:   {"invalid_request", "4xx", 400, 1},
	ContextLength:    {"context_length", "4xx", 400, 1},
	Unauthorized:     {"unauthorized", "4xx", 401, 2},
	NotFound:         {"not_found", "4xx", 404, 3},
	MethodNotAllowed: {"method_not_allowed", "4xx", 405, 4},
	TooLarge:         {"too_large", "4xx", 413, 5},
	QueueFull:        {"queue_full", "4xx", 429, 6},
	EngineError:      {"engine_error", "5xx", 500, 7},
	Draining:         {"draining", "5xx", 503, 8},
	OutOfPages:       {"out_of_pages", "5xx", 503, 8},
	Deadline:         {"deadline", "5xx", 504, 9},
	Disconnect:       {"disconnect", "disconnect", 499, 10},
}

// errorTypes are the values of the label error_type; the first, success, has no such label.
var errorTypes = [...]string{"", "400", "401", "404", "405", "413", "429", "500", "503", "504", "disconnect"}

// String returns the value of the label reason; "" for NoFail, "_OTHER" for a value outside the list.
func (f FailReason) String() string {
	if int(f) >= NumFailReasons {
		return other
	}
	return fails[f].label
}

// Status returns the HTTP status of the reason: 200 for NoFail, 499 for Disconnect (which no client ever reads), 500 for a
// value outside the list.
func (f FailReason) Status() int {
	if int(f) >= NumFailReasons {
		return fails[EngineError].status
	}
	return fails[f].status
}

// Class returns the value of the label class: "4xx", "5xx", "disconnect", or "" for NoFail.
func (f FailReason) Class() string {
	if int(f) >= NumFailReasons {
		return fails[EngineError].class
	}
	return fails[f].class
}

// ErrorType returns the value of the label error_type: the status as text, "disconnect", or "" for NoFail.
func (f FailReason) ErrorType() string {
	if int(f) >= NumFailReasons {
		f = EngineError
	}
	return errorTypes[fails[f].errorType]
}
