package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"golang.org/x/sys/unix"
)

// ports: what the daemon is to listen on must be free, unless it listens there already.
func (d *doctor) ports() {
	if r, err := ReadReady(d.ctx, d.cfg); err == nil {
		d.fine("port", "the daemon runs, and listens on %s", strings.Join(r.Addresses, ", "))
		return
	}
	ill := false
	for _, p := range d.cfg.wanted() {
		if err := d.listenable(p.address); err != nil {
			ill = true
			d.mend("port", "%s of %s: %s", p.written, p.field, portAdvice(err, p.address, p.field))
		}
	}
	if !ill {
		d.fine("port", "the daemon can listen on %s", strings.Join(d.cfg.Listen, ", "))
	}
}

// socket: its folder is made by the daemon, where its user may.
func (d *doctor) socket() {
	folder := filepath.Dir(d.cfg.Socket)
	there := folder
	for there != filepath.Dir(there) {
		if _, err := os.Stat(there); err == nil {
			break
		}
		there = filepath.Dir(there)
	}
	if unix.Access(there, unix.W_OK) == nil {
		d.fine("socket", "users find it at %s", d.cfg.Socket)
		return
	}
	d.untried("socket", "this user may not write to %s: `install -d -o %d %s` as root makes the folder of the socket, and a service has it made at each start by RuntimeDirectory", there, os.Getuid(), folder)
}

// wantedPort is an address that a field of the configuration has the daemon listen on; address is it as HOST:PORT.
type wantedPort struct{ field, written, address string }

func (c *Config) wanted() (list []wantedPort) {
	for _, text := range c.Listen {
		m, err := ma.NewMultiaddr(text)
		if err != nil {
			continue // reading the file has said so
		}
		if a, err := manet.ToNetAddr(m); err == nil {
			list = append(list, wantedPort{"listen", text, a.String()})
		}
	}
	if c.API != "" {
		list = append(list, wantedPort{"api", c.API, c.API})
	}
	if at := cmp.Or(c.Batch.Pool.Listen, DefaultPoolListen); c.Batch.System == Pool {
		list = append(list, wantedPort{"batch.listen", at, at})
	}
	return list
}

// listenable tries an address, and lets it go again.
func (d *doctor) listenable(address string) error {
	l, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(d.ctx), "tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

// portAdvice says why an address cannot be listened on, and the way out.
func portAdvice(err error, address, field string) string {
	_, port, _ := net.SplitHostPort(address)
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Sprintf("another process listens there: `ss -ltnp 'sport = :%s'`, as root, shows which; end it, or write another port", port)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return "this machine does not have that address: `ip address` shows those that it has; 0.0.0.0 is all of them"
	case errors.Is(err, fs.ErrPermission):
		return "this user may not listen there: write a port from 1024 on"
	}
	return fmt.Sprintf("%v: write another one as %s", err, field)
}
