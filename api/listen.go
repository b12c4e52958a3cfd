package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"gbroker/grid"
)

// listenUnix listens at path, where a dead daemon may have left its socket, and
// lets every user connect: what each may do is decided by who they are.
func listenUnix(path string) (*net.UnixListener, error) {
	if err := checkSocket(path); err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of socket %s: %w: `install -d -o %d %s` as root makes it for this user, or write another socket", path, err, os.Getuid(), folder)
	}
	if err := clearStale(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening on socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		l.Close()
		return nil, fmt.Errorf("opening socket %s to all users: %w", path, err)
	}
	return l, nil
}

// clearStale removes the socket of a daemon that is gone; one that answers, or a
// file that is no socket, is left alone and refused.
func clearStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at socket %s: %w", path, err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("socket %s: a file that is no socket is there: name another path or remove it", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
		return fmt.Errorf("socket %s: another broker serves there: stop it, or name another path", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("socket %s: cannot tell whether another broker serves there: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing the socket of a broker that is gone: %w", err)
	}
	return nil
}

func listenTCP(address string) (net.Listener, error) {
	if err := checkTCP(address); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listening on %s: another program has that port: choose another (api in gbroker.yaml), or leave it out where the socket is enough", address)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		l.Close()
		return nil, fmt.Errorf("API address %q: it is %s, which others could reach: use 127.0.0.1:PORT: %w", address, l.Addr(), grid.ErrInvalid)
	}
	return l, nil
}

// share counts what is in use, in all and by each user, against limits. The last of it,
// reserve, is for administrators: nobody keeps them from looking what goes on, and ending it.
type share[K comparable] struct {
	max, each, reserve int
	mu                 sync.Mutex
	used               int
	by                 map[K]int
}

func newShare[K comparable](limit, each, reserve int) *share[K] {
	return &share[K]{max: limit, each: each, reserve: reserve, by: make(map[K]int)}
}

// take reports whether k may use n more; then give takes them back.
func (s *share[K]) take(k K, n int, administrator bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.max
	if !administrator {
		most -= s.reserve
	}
	if s.used+n > most || s.by[k]+n > s.each {
		return false
	}
	s.used += n
	s.by[k] += n
	return true
}

func (s *share[K]) give(k K, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	if s.by[k] -= n; s.by[k] <= 0 {
		delete(s.by, k)
	}
}

// boundedListener knows who connects, and closes connections beyond the limits.
type boundedListener struct {
	net.Listener
	conns *share[caller]
	chief func(uid uint32) bool // an administrator's
	log   *slog.Logger
}

type boundedConn struct {
	net.Conn
	caller caller
	once   sync.Once
	give   func()
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := caller{tcp: true}
		if u, ok := c.(*net.UnixConn); ok {
			uid, err := peerUID(u)
			if err != nil {
				l.log.Warn("refused a connection of nobody", "error", err)
				c.Close()
				continue
			}
			from = caller{uid: uid}
		}
		if !l.conns.take(from, 1, !from.tcp && l.chief(from.uid)) { // who comes over TCP has not shown a token yet
			l.log.Warn("refused a connection: too many are open", "tcp", from.tcp, "uid", from.uid)
			c.Close()
			continue
		}
		return &boundedConn{Conn: c, caller: from, give: func() { l.conns.give(from, 1) }}, nil
	}
}

func (c *boundedConn) Close() error {
	c.once.Do(c.give)
	return c.Conn.Close()
}
