//go:build noasm || !amd64

package kern

// packingOf is a level's way to pack panels; nil: it has none.
func packingOf(l Level) *packing {
	if l == Portable {
		return nil
	}
	return &goPacking
}
