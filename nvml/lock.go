package nvml

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// lockName is the file's name in the folder that every user finds.
const lockName = "paddock-nvml.lock"

// A holder writes its pid after it has the lock: one who finds the lock held waits
// for the pid a moment.
const (
	pidTries = 20
	pidWait  = 10 * time.Millisecond
)

// fileLock is a lock that the system frees when its process ends, however it ends.
// The file stays: taking it away would let two processes lock two files of one name.
type fileLock struct {
	f *os.File
}

// pidMost is longer than any pid, and than what a lock may hold.
const pidMost = 32

// takeLock locks the file at path, or at the machine's place. The error is a
// *HeldError where another has it, a *LockFileError where something else than a lock
// is there. Of the machine's place, which anybody may fill, no other is tried then:
// two processes that found it filled and not filled would both poll.
func takeLock(path string) (*fileLock, error) {
	if path == "" {
		path = lockPath()
	}
	f, err := openLock(path)
	if err != nil {
		return nil, fmt.Errorf("nvml: the lock of the machine's polling process: %w; name another file", err)
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(&LockFileError{path, "it is not a regular file"}, err, f.Close())
	}
	if err := tryLock(f); err != nil {
		held := &HeldError{Path: path}
		if errors.Is(err, errHeld) {
			held.PID = holder(f)
		}
		if cerr := f.Close(); !errors.Is(err, errHeld) {
			return nil, fmt.Errorf("nvml: locking %s: %w", path, errors.Join(err, cerr))
		}
		return nil, held
	}
	if !onlyPID(f) {
		return nil, errors.Join(&LockFileError{path, "it holds something else than a pid"}, f.Close())
	}
	// Where the file is another user's and not ours to write, it says no pid, which
	// is better than the pid of its last holder: that one left none.
	if err := writePID(f, strconv.Itoa(os.Getpid())); err != nil && !errors.Is(err, os.ErrPermission) {
		return nil, errors.Join(fmt.Errorf("nvml: writing the pid to %s: %w", path, err), f.Close())
	}
	return &fileLock{f}, nil
}

// onlyPID tells whether a file is what a lock is: empty, or a pid. Nothing else is to
// be emptied.
func onlyPID(f *os.File) bool {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, pidMost+1))
	return err == nil && len(b) <= pidMost && strings.Trim(strings.TrimSpace(string(b)), "0123456789") == ""
}

// free lets go of the lock.
func (l *fileLock) free() error {
	err := writePID(l.f, "")
	if errors.Is(err, os.ErrPermission) {
		err = nil
	}
	return errors.Join(err, l.f.Close())
}

func writePID(f *os.File, pid string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(pid), 0)
	return err
}

// holder is the pid in a file that is held, 0 if it says none that lives: then it is
// the last holder's, which did not end well.
func holder(f *os.File) int {
	for range pidTries {
		b, err := io.ReadAll(io.NewSectionReader(f, 0, pidMost))
		if err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && pid > 0 && alive(pid) {
				return pid
			}
		}
		time.Sleep(pidWait)
	}
	return 0
}
