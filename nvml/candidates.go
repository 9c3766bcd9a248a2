//go:build !windows

package nvml

// candidates are the library's usual names. Under WSL the driver is the host's, and
// its library lies in a folder of its own; a Linux driver installed there by mistake
// has one that loads and can't work, which is why that folder comes first.
func candidates() []string {
	return []string{"/usr/lib/wsl/lib/libnvidia-ml.so.1", "libnvidia-ml.so.1", "libnvidia-ml.so"}
}
