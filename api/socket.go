package api

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// socketLook is how often the socket is looked for at its path.
const socketLook = time.Second

// socket is the unix socket of the users. Where somebody has deleted it, it is made
// again; what is there in its place otherwise is left alone.
type socket struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	now    *net.UnixListener
	made   os.FileInfo // what stands at path since
	closed bool
	told   string // the last reason why it could not be made again
}

func openSocket(path string, log *slog.Logger) (*socket, error) {
	s := &socket{path: path, log: log}
	return s, s.open()
}

// open makes the socket; s.mu is held, but at the start.
func (s *socket) open() error {
	l, err := listenUnix(s.path)
	if err != nil {
		return err
	}
	info, err := os.Lstat(s.path)
	if err != nil {
		l.Close()
		return err
	}
	s.now, s.made = l, info
	return nil
}

// Accept takes a connection, and looks from time to time whether one can still come.
func (s *socket) Accept() (net.Conn, error) {
	for {
		s.mu.Lock()
		l := s.now
		s.mu.Unlock()
		if err := l.SetDeadline(time.Now().Add(socketLook)); err != nil {
			return nil, err
		}
		c, err := l.Accept()
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return c, err
		}
		s.look()
	}
}

// stands tells that what was made is still there; inodes are used again, so the time
// counts too. s.mu is held.
func (s *socket) stands() bool {
	info, err := os.Lstat(s.path)
	return err == nil && os.SameFile(info, s.made) && info.ModTime().Equal(s.made.ModTime())
}

// look makes the socket again if it has gone.
func (s *socket) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.stands() {
		return
	}
	before := s.now
	if err := s.open(); err != nil {
		if s.told != err.Error() {
			s.told = err.Error()
			s.log.Error("the users' socket has gone and cannot be made again", "error", err)
		}
		return
	}
	s.told = ""
	before.SetUnlinkOnClose(false) // what is there now is the new one
	before.Close()
	s.log.Warn("the users' socket had gone and is made again", "path", s.path)
}

// Close removes the socket, if it is still the one that was made.
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.now.SetUnlinkOnClose(s.stands())
	return s.now.Close()
}

func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }
