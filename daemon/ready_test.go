package daemon

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestReady(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	if _, err := ReadReady(t.Context(), c); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "does not run") {
		t.Fatalf("no daemon, and ReadReady gave %v", err)
	}
	dir, err := os.MkdirTemp("", "g") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	r := Ready{PID: os.Getpid(), Peer: peerA, Addresses: []string{"/ip4/127.0.0.1/tcp/7"}, Socket: listener.Addr().String()}
	remove, err := writeReady(c, r)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadReady(t.Context(), c); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("ReadReady gave %+v, %v", got, err)
	}
	_ = listener.Close()
	if _, err := ReadReady(t.Context(), c); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nobody at the socket, and ReadReady gave %v", err)
	}
	other := r
	other.PID = 1 << 29 // beyond any pid_max
	if _, err := writeReady(c, other); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadReady(t.Context(), c); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such process, and ReadReady gave %v", err)
	}
	remove()
	if _, err := os.Stat(c.ReadyFile()); err != nil {
		t.Errorf("the word of another daemon was removed: %v", err)
	}
	if remove, err = writeReady(c, r); err != nil {
		t.Fatal(err)
	}
	remove()
	if _, err := os.Stat(c.ReadyFile()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after remove the file is %v", err)
	}
}

func TestDialable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want []string }{
		{nil, nil},
		{[]string{"/ip4/127.0.0.1/tcp/5"}, []string{"/ip4/127.0.0.1/tcp/5"}},
		{[]string{"/ip4/127.0.0.1/tcp/5", "/ip4/192.0.2.1/tcp/5"}, []string{"/ip4/192.0.2.1/tcp/5"}},
		{[]string{"/ip4/192.0.2.1/tcp/0"}, nil},
	} {
		if got, err := Dialable(c.in); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v became %v, %v; want %v", c.in, got, err, c.want)
		}
	}
	all, err := Dialable([]string{"/ip4/0.0.0.0/tcp/5", "/ip4/0.0.0.0/tcp/5"})
	if err != nil || len(all) == 0 {
		t.Fatalf("all networks became %v, %v", all, err)
	}
	seen := map[string]bool{}
	for _, a := range all {
		if strings.Contains(a, "0.0.0.0") || !strings.HasSuffix(a, "/tcp/5") || seen[a] {
			t.Errorf("all networks became %v", all)
		}
		seen[a] = true
	}
}
