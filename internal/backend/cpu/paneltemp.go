package cpu

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The file that a writer of a panel cache fills is named for its process, so that
// others can tell when nobody will finish it:
//
//	.panels-PLACE-PID-RANDOM.tmp
//
// PLACE is where the process has that number: a folder may be shared by containers
// and machines, each with a process of the same.
const (
	tempStart = ".panels-"
	tempEnd   = ".tmp"
	tempLife  = 24 * time.Hour // of one whose process can't be asked for
)

// tempPattern is for os.CreateTemp.
func tempPattern() string {
	return fmt.Sprintf("%s%s-%d-*%s", tempStart, processPlace(), os.Getpid(), tempEnd)
}

// sweep removes what writers have left in a folder that are gone.
func sweep(dir string) {
	list, _ := os.ReadDir(dir) // what can't be listed is not swept
	for _, e := range list {
		name := e.Name()
		if !strings.HasPrefix(name, tempStart) || !strings.HasSuffix(name, tempEnd) || !e.Type().IsRegular() {
			continue
		}
		if st, err := e.Info(); err == nil && (orphan(name) || time.Since(st.ModTime()) > tempLife) {
			_ = os.Remove(filepath.Join(dir, name)) // another may have been quicker
		}
	}
}

// orphan tells whether a file's name says that its process has ended.
func orphan(name string) bool {
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(name, tempStart), tempEnd), "-")
	if len(parts) != 3 || parts[0] == "" || parts[0] != processPlace() {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	return err == nil && pid > 0 && processEnded(pid)
}
