package nvml

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

var errHeld error = windows.ERROR_LOCK_VIOLATION

// lockPath is in the folder of all users' program data.
func lockPath() string {
	dir := os.Getenv("ProgramData")
	if dir == "" {
		dir = `C:\ProgramData`
	}
	return filepath.Join(dir, lockName)
}

// openLock opens the file, another user's for reading alone: that is enough to lock it.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if errors.Is(err, os.ErrPermission) {
		f, err = os.Open(path)
	}
	return f, err
}

// tryLock locks a byte far behind the pid, since what is locked can't be read.
func tryLock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 1}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_IO_PENDING) {
		return errHeld
	}
	return err
}

func alive(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	defer windows.CloseHandle(h)
	var code uint32
	const stillActive = 259
	return windows.GetExitCodeProcess(h, &code) == nil && code == stillActive
}
