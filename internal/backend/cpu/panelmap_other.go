//go:build !linux

package cpu

import (
	"errors"
	"os"
)

const canMapPanels = false

func openPanels(path string) (*os.File, error) { return os.Open(path) }

func processPlace() string { return "" }

func processEnded(int) bool { return false }

func mapPanels(*os.File, int64, int) (*memory, error) { return nil, errors.ErrUnsupported }

func touchPanels([]byte) {}
