//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package nvml

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

var errHeld error = syscall.EWOULDBLOCK

// lockPath is in the first folder that everybody may write to: each user's own
// temporary folder, which the environment may name, would hold a lock for each.
func lockPath() string {
	const everybody = fs.ModeSticky | 0o777
	for _, dir := range []string{"/run/lock", "/dev/shm"} {
		if st, err := os.Stat(dir); err == nil && st.IsDir() && st.Mode()&(fs.ModeSticky|fs.ModePerm) == everybody {
			return filepath.Join(dir, lockName)
		}
	}
	return filepath.Join("/tmp", lockName)
}

// asItIs: no link is followed, and nothing waited for.
const asItIs = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// openLock opens the file, or makes it so that other users can lock it and say so.
// In a folder of everybody, systems refuse to open another user's file where it might
// have to be made, root's attempt included; so that is done apart. Links are refused.
// Nothing is waited for: a pipe that somebody put there would never open.
func openLock(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|asItIs, 0)
		if errors.Is(err, os.ErrPermission) {
			f, err = os.OpenFile(path, os.O_RDONLY|asItIs, 0)
		}
		if !errors.Is(err, os.ErrNotExist) {
			return f, err
		}
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|asItIs, 0o666)
		if errors.Is(err, os.ErrExist) {
			continue // another process made it just now
		}
		if err != nil {
			return nil, err
		}
		if err := f.Chmod(0o666); err != nil { // whatever the umask
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
}

func tryLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// alive tells whether there is a process of this pid, another user's included.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
