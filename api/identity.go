package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

// nameTTL is how long the name of a uid is believed.
const nameTTL = time.Minute

// names gives the user names of uids, remembering them for a while: a directory
// service may take long to answer.
type names struct {
	lookup func(uid string) (*user.User, error)
	now    func() time.Time
	mu     sync.Mutex
	known  map[uint32]knownName
}

type knownName struct {
	name  string
	until time.Time
}

// of is the name of uid; "uid:N" only where it certainly has none, so that nobody
// changes into another user while the directory is down.
func (n *names) of(uid uint32) (string, error) {
	n.mu.Lock()
	k, ok := n.known[uid]
	n.mu.Unlock()
	if ok && n.now().Before(k.until) {
		return k.name, nil
	}
	number := strconv.FormatUint(uint64(uid), 10)
	u, err := n.lookup(number)
	name := "uid:" + number
	var none user.UnknownUserIdError
	switch {
	case err == nil && u.Username != "":
		name = u.Username
	case err == nil || errors.As(err, &none):
	default:
		return "", fmt.Errorf("looking up the user with uid %d: %w: %w", uid, err, grid.ErrUnavailable)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) > 10000 {
		clear(n.known)
	}
	n.known[uid] = knownName{name, n.now().Add(nameTTL)}
	return name, nil
}

// callerKey is the context key of what the listener knows of a connection.
type callerKey struct{}

// caller is where a connection came from.
type caller struct {
	tcp bool
	uid uint32 // of the process that connected, if not tcp
}

// withCaller is an http.Server's ConnContext.
func withCaller(ctx context.Context, c net.Conn) context.Context {
	if b, ok := c.(*boundedConn); ok {
		return context.WithValue(ctx, callerKey{}, b.caller)
	}
	return ctx
}

// peerUID asks the kernel who connected.
func peerUID(c *net.UnixConn) (uint32, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("asking who connected: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, fmt.Errorf("asking who connected: %w", err)
	}
	if credErr != nil {
		return 0, fmt.Errorf("asking who connected: %w", credErr)
	}
	return cred.Uid, nil
}

// minToken is the least length of a token, in bytes: 128 bits in hexadecimal.
const minToken = 32

// ReadToken reads a token file. open tells that others than its owner can read it.
func ReadToken(file string) (token string, open bool, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", false, fmt.Errorf("reading the token: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > 4096 {
		return "", false, fmt.Errorf("reading the token: %s is no small regular file: %w", file, grid.ErrInvalid)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", false, fmt.Errorf("reading the token: %w", err)
	}
	token = strings.TrimSpace(string(b))
	if len(token) < minToken || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", false, fmt.Errorf("reading the token: %s does not hold one of at least %d printable characters: %w", file, minToken, grid.ErrInvalid)
	}
	return token, info.Mode().Perm()&0o077 != 0, nil
}
