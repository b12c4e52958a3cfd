package api

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"gbroker/grid"
)

// maxSocketPath is what sockaddr_un holds, in bytes, on Linux.
const maxSocketPath = 107

// DefaultSocket is the well-known path of a broker's socket: for root
// /run/gbroker/gbroker.sock, for others $XDG_RUNTIME_DIR/gbroker.sock. It fails
// where there is no such folder.
func DefaultSocket() (string, error) {
	if os.Geteuid() == 0 {
		return "/run/gbroker/gbroker.sock", nil
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gbroker.sock"), nil
	}
	return "", fmt.Errorf("XDG_RUNTIME_DIR is not set, so there is no well-known socket: name the broker's as unix:///path: %w", grid.ErrInvalid)
}

// checkSocket says why path cannot be a unix socket.
func checkSocket(path string) error {
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("socket %.120q: its path must be absolute: %w", path, grid.ErrInvalid)
	case len(path) > maxSocketPath:
		return fmt.Errorf("socket %q: the path has %d bytes, a unix socket's has at most %d: choose a shorter one: %w",
			path, len(path), maxSocketPath, grid.ErrInvalid)
	case strings.ContainsRune(path, 0):
		return fmt.Errorf("socket %q: the path has a zero byte: %w", path, grid.ErrInvalid)
	}
	return nil
}

// parseAddress takes unix:///path or http://LOOPBACK:PORT.
func parseAddress(address string) (network, target string, err error) {
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		return "unix", path, checkSocket(path)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Port() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return "", "", fmt.Errorf("broker address %q: use unix:///path or http://127.0.0.1:PORT: %w", address, grid.ErrInvalid)
	}
	if !loopbackName(u.Hostname()) {
		// The token would cross a network in the clear.
		return "", "", fmt.Errorf("broker address %q: http is for loopback only; reach other machines through an SSH tunnel: %w", address, grid.ErrInvalid)
	}
	return "tcp", u.Host, nil
}

// loopbackName reports that host, without port or brackets, is this machine to itself.
func loopbackName(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// checkTCP refuses addresses that others could reach.
func checkTCP(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return fmt.Errorf("API address %q: use 127.0.0.1:PORT: %w", address, grid.ErrInvalid)
	}
	if !loopbackName(host) {
		return fmt.Errorf("API address %q: only a loopback address is served, such as 127.0.0.1:%s: %w", address, port, grid.ErrInvalid)
	}
	return nil
}
