package daemon

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

// The doctor tells that another process listens where the daemon is to, for each of its ports; the daemon itself is none.
func TestDoctorOfPorts(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := initSite(t)
	c.Listen = []string{"/ip4/127.0.0.1/tcp/0"} // a broker of the machine may have the usual one
	check := func(change func(*Config)) []Finding {
		return said(t, Embedded, nil, (*doctor).ports, func(to *Config) { *to = c; change(to) })
	}
	expect(t, "free", check(func(*Config) {}), Fine, "can listen on")
	expect(t, "taken", check(func(c *Config) { c.Listen = []string{"/ip4/127.0.0.1/tcp/" + port} }), Mend, "another process listens there", "sport = :"+port, "of listen")
	expect(t, "the API's", check(func(c *Config) { c.API = l.Addr().String() }), Mend, "another process listens there", "of api")
	expect(t, "the pool's", check(func(c *Config) { c.Batch.System, c.Batch.Pool.Listen = Pool, l.Addr().String() }), Mend, "another process listens there", "of batch.listen")
	expect(t, "nobody's", check(func(c *Config) { c.Listen = []string{"/ip4/192.0.2.1/tcp/4010"} }), Mend, "does not have that address")

	socket, err := net.Listen("unix", c.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	remove, err := writeReady(c, Ready{PID: os.Getpid(), Peer: grid.PeerID(peerA), Addresses: []string{"/ip4/127.0.0.1/tcp/" + port}, Socket: c.Socket})
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	expect(t, "its own", check(func(c *Config) { c.Listen = []string{"/ip4/127.0.0.1/tcp/" + port} }), Fine, "the daemon runs", port)
}

// The doctor tells of a folder of the socket that the daemon's user may not make: its first start would end with that.
func TestDoctorOfTheSocket(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	check := func(folder string) []Finding {
		return said(t, Embedded, nil, (*doctor).socket, func(to *Config) { *to = c; to.Socket = filepath.Join(folder, "gbroker.sock") })
	}
	closed := t.TempDir()
	expect(t, "to be made", check(filepath.Join(closed, "a", "b")), Fine, "users find it at "+closed+"/a/b/gbroker.sock")
	if err := errors.Join(os.Chmod(filepath.Dir(closed), 0o755), os.Chmod(closed, 0o555)); err != nil { // others may see it
		t.Fatal(err)
	}
	list := make(chan []Finding)
	go func() {
		if os.Geteuid() == 0 { // no mode keeps root from a folder: this thread is nobody's, and ends with the goroutine
			runtime.LockOSThread()
			if _, _, failed := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); failed != 0 {
				t.Errorf("becoming nobody: %v", failed)
			}
		}
		list <- check(filepath.Join(closed, "a", "b"))
	}()
	expect(t, "not to be made", <-list, Untried, "may not write to "+closed+":", "install -d -o ", closed+"/a/b` as root", "RuntimeDirectory")
}

// nobody is the user who owns nothing.
const nobody = 65534
