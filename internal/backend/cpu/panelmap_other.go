//go:build !linux

package cpu

import (
	"errors"
	"os"
)

const canMapPanels = false

func mapPanels(*os.File, int64, int) (*memory, error) { return nil, errors.ErrUnsupported }

func touchPanels([]byte) {}
