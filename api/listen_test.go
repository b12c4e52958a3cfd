package api

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The last connections are for administrators on the unix socket.
func TestConnectionsForAdministrators(t *testing.T) {
	t.Parallel()
	for _, chief := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "s")
		u, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		l := &boundedListener{u, newShare[caller](2, 2, 1), func(uint32) bool { return chief }, slog.New(slog.DiscardHandler)}
		taken := make(chan net.Conn)
		go func() {
			defer close(taken)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				taken <- c
			}
		}()
		dial := func() net.Conn {
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		first := dial()
		kept := <-taken
		second := dial()
		if chief {
			c := <-taken
			c.Close()
		} else if n, err := second.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Error("the last connection went to somebody")
		}
		for _, c := range []net.Conn{first, second, kept} {
			c.Close()
		}
		u.Close()
		<-taken
	}
}

func TestChiefs(t *testing.T) {
	t.Parallel()
	s := &Server{chiefs: map[uint32]bool{}, administrators: map[string]bool{}}
	s.appoint([]string{"root", "no such user"})
	if !s.chief(0) || s.chief(1) || !s.administrators["no such user"] {
		t.Errorf("%+v %+v", s.chiefs, s.administrators)
	}
}

// A port that is taken has a way out.
func TestATakenPortHasAWayOut(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := listenTCP(l.Addr().String()); err == nil || !strings.Contains(err.Error(), "another program has that port: choose another (api in gbroker.yaml)") {
		t.Errorf("%v", err)
	}
}

// A folder of the socket that cannot be made is told with the way out.
func TestFolderOfTheSocket(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := listenUnix(filepath.Join(file, "sub", "s"))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("`install -d -o %d %s/sub` as root makes it for this user, or write another socket", os.Getuid(), file)) {
		t.Errorf("%v", err)
	}
}
