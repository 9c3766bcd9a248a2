package metrics

// ParseTraceparent reads the request header traceparent of W3C Trace Context: the ids of the trace that a request is part of and of
// its caller's span. A version to come is read by the part that it has to share with version 00. ok is false for anything else
// than one such value, and for ids of zeros; the ids are zero then.
//
//	00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//	│  trace id (16 bytes)              span id (8)      flags
//	version
func ParseTraceparent(s string) (trace [16]byte, span [8]byte, ok bool) {
	const length = 2 + 1 + 32 + 1 + 16 + 1 + 2
	if len(s) < length || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return trace, span, false
	}
	var version, flags [1]byte
	if !unhex(version[:], s[:2]) || !unhex(flags[:], s[53:55]) || !unhex(trace[:], s[3:35]) || !unhex(span[:], s[36:52]) {
		return [16]byte{}, [8]byte{}, false
	}
	known := version[0] == 0 && len(s) == length
	later := version[0] != 0 && version[0] != 0xff && (len(s) == length || s[length] == '-')
	if !known && !later || trace == [16]byte{} || span == [8]byte{} {
		return [16]byte{}, [8]byte{}, false
	}
	return trace, span, true
}

// sampled says whether the flags of a valid traceparent have the bit for that the caller records the trace.
func sampled(traceparent string) bool {
	var flags [1]byte
	return unhex(flags[:], traceparent[53:55]) && flags[0]&1 != 0
}

// unhex reads lower-case hex digits, two for each byte of out.
func unhex(out []byte, s string) bool {
	for i := range out {
		high, ok1 := hexDigit(s[2*i])
		low, ok2 := hexDigit(s[2*i+1])
		if !ok1 || !ok2 {
			return false
		}
		out[i] = high<<4 | low
	}
	return true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}
