package conformance

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain keeps the server's program for all tests of a run.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// programs is the folder that programs are built into.
var programs string

// serverProgram builds examples/server, once; managerProgram examples/manager.
var (
	serverProgram  = sync.OnceValues(func() (string, error) { return buildExample("server") })
	managerProgram = sync.OnceValues(func() (string, error) { return buildExample("manager") })
)

func buildExample(name string) (string, error) {
	bin := filepath.Join(programs, name)
	build := exec.Command("go", "build", "-o", bin, "./examples/"+name)
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return bin, nil
}

// tool finds a program of a package of Debian's. Where it is missing the test is
// skipped and says so; in CI, which installs it, that is a failure.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is not on PATH; CI installs Debian's package prometheus: %v", name, err)
	default:
		t.Skipf("%s is not on PATH (Debian's package prometheus has it): skipped", name)
	}
	return ""
}

// startProcess runs a program until the test ends. The returned function ends it
// earlier.
func startProcess(t *testing.T, c *exec.Cmd) (stop func()) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = c.Process.Signal(os.Interrupt) // it may have ended
		ended := make(chan struct{})
		go func() { _ = c.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = c.Process.Kill()
			<-ended
		}
	})
	t.Cleanup(stop)
	return stop
}

// freeAddress is an address of this machine that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	return free.Addr().String()
}

// serverCommand is the command line of examples/server, with the embedded model.
func serverCommand(t *testing.T, flags ...string) *exec.Cmd {
	t.Helper()
	bin, err := serverProgram()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(bin, append([]string{"--served-model-name", "demo", "--log-level", "warn"}, flags...)...)
	c.Stderr = os.Stderr
	return c
}

// startServer starts examples/server and returns its address. After the test, just
// before it is stopped, its page is held to the strict parser.
func startServer(t *testing.T, flags ...string) string {
	t.Helper()
	server := serverCommand(t, append([]string{"--addr", "127.0.0.1:0"}, flags...)...)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startProcess(t, server)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), " on http://"); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			t.Cleanup(func() { checkOpenMetrics(t, "http://"+at+"/metrics") })
			return at
		}
	}
	t.Fatalf("the server printed no address: %v", lines.Err())
	return ""
}
