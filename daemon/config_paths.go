package daemon

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"gbroker/internal/form"
)

// path makes a path of the file absolute.
func (c *Config) path(s string) (string, error) {
	if s == "" || strings.ContainsRune(s, 0) || len(s) > 4095 {
		return "", fmt.Errorf("%q is no path: write one, relative to the folder of %s or absolute", form.Clip(s), configName)
	}
	if !filepath.IsAbs(s) {
		s = filepath.Join(c.Dir(), s)
	}
	return filepath.Clean(s), nil
}

// socketPath makes the path of a socket absolute and refuses one that the kernel would.
func socketPath(dir, s string) (string, error) {
	if s == "" || strings.ContainsRune(s, 0) {
		return "", fmt.Errorf("%q is no path: write one, such as %s", form.Clip(s), socketName)
	}
	if !filepath.IsAbs(s) {
		s = filepath.Join(dir, s)
	}
	s = filepath.Clean(s)
	if len(s) > maxSocketPath {
		return "", fmt.Errorf("the path of the socket has %d bytes and the kernel takes %d: write a shorter one, such as /run/gbroker/gbroker.sock (it is %s)",
			len(s), maxSocketPath, s)
	}
	return s, nil
}

// loopback checks HOST:PORT to be of this machine alone.
func loopback(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(s)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil {
		return "", fmt.Errorf("%q is no HOST:PORT: write it like 127.0.0.1:4080", form.Clip(s))
	} else if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return "", fmt.Errorf("%q can be reached from outside: the interface is for this machine alone, write 127.0.0.1:%d", form.Clip(s), n)
	}
	return s, nil
}
