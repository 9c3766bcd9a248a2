package nvml

import (
	"os"
	"path/filepath"
)

// candidates are the library's usual names: the system's folder has it, under older
// drivers their own.
func candidates() []string {
	names := []string{"nvml.dll"}
	for _, folder := range []string{os.Getenv("ProgramW6432"), os.Getenv("ProgramFiles")} {
		if folder != "" {
			names = append(names, filepath.Join(folder, "NVIDIA Corporation", "NVSMI", "nvml.dll"))
		}
	}
	return names
}
