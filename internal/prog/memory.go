package prog

// BufferBytes is the memory of the activation buffers in float32 for the given
// numbers of rows, without what a backend adds for its own use. Safe for
// concurrent use.
func (p *Program) BufferBytes(tokenRows, logitRows int) int64 {
	var values int64
	for _, b := range p.Bufs {
		n := tokenRows
		if b.Rows == LogitRows {
			n = logitRows
		}
		values += int64(b.Width) * int64(n)
	}
	return 4 * values
}

// KVValues is how many numbers one token keeps in the cache, keys and values of
// all layers. Safe for concurrent use.
func (p *Program) KVValues() int64 {
	var n int64
	for _, l := range p.KV {
		n += int64(l.Heads) * int64(l.KeyDim+l.OwnValues())
	}
	return n
}
