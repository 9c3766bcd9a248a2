//go:build !noasm && (amd64 || arm64)

package kern

// chooseTiles puts a level's tiles over the portable ones, where it has any.
func chooseTiles(k *Kernels, tiles *[len(formats)][]tile) {
	for i, t := range tiles {
		if len(t) > 0 {
			k.linear[i] = t
		}
	}
}
