// Package servers runs real servers of files for tests: sftp by OpenSSH, http and https by nginx, and
// an S3 of its own that knows who asks. Each listens on a port of the loopback that is chosen at run time, and is gone
// after the test; one that is not installed skips it. A [Proxy] before one breaks its connections.
package servers

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// tool finds a daemon's program, which is not on every user's PATH.
func tool(t testing.TB, name, pkg string) string {
	t.Helper()
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin") {
		p := filepath.Join(dir, name)
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	t.Skipf("there is no %s here: as root, apt-get install %s", name, pkg)
	return ""
}

// address is one on the loopback where nobody listens now.
func address(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// daemon runs a program until the test ends, and waits until it listens.
func daemon(t testing.TB, address, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	must(t, err)
	defer said.Close()
	output := func() string {
		text, _ := os.ReadFile(said.Name())
		return string(text)
	}
	cmd.Stdout, cmd.Stderr = said, said
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
	})
	for deadline := time.Now().Add(time.Minute); ; {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Skipf("%s does not run here: %v: %s", program, err, output())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen: %s", program, output())
		}
	}
}
