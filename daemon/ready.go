package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sort"
	"strings"
	"time"

	ma "github.com/multiformats/go-multiaddr"
	"golang.org/x/sys/unix"

	"gbroker/grid"
	"gbroker/internal/localfs"
)

// Ready is what the file "ready" in the site's folder says while the daemon
// serves. It is written whole, and removed at the end; a daemon that was killed
// leaves it behind, so [ReadReady] tells whether its writer lives.
type Ready struct {
	PID       int         `json:"pid"`
	Peer      grid.PeerID `json:"peer"`
	Addresses []string    `json:"addresses"` // multiaddresses as really listened on, without /p2p
	Socket    string      `json:"socket"`
	API       string      `json:"api"` // HOST:PORT as really listened on; "" if none
}

// writeReady tells that the daemon serves, until remove is called.
func writeReady(c Config, r Ready) (remove func(), err error) {
	if r.Addresses == nil {
		r.Addresses = []string{}
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("telling that the daemon serves: %w", err)
	}
	if err := localfs.Replace(c.ReadyFile(), append(data, '\n'), 0o644); err != nil {
		return nil, err
	}
	return func() {
		// The word of a daemon that was started since is not ours to take back.
		if now, err := readReady(c); err == nil && now.PID == r.PID {
			_ = os.Remove(c.ReadyFile()) // one left behind is known as stale by its process
		}
	}, nil
}

// ReadReady is what a daemon that serves now says; fs.ErrNotExist if none does. Its
// process must live and its socket must answer, as process numbers are used again.
func ReadReady(ctx context.Context, c Config) (Ready, error) {
	r, err := readReady(c)
	if err != nil {
		return Ready{}, err
	}
	gone := fmt.Errorf("the daemon that wrote %s (process %d) is gone: %w", c.ReadyFile(), r.PID, fs.ErrNotExist)
	if err := unix.Kill(r.PID, 0); r.PID <= 0 || errors.Is(err, unix.ESRCH) {
		return Ready{}, gone
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", r.Socket)
	switch {
	case err == nil:
		_ = conn.Close()
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return Ready{}, gone
	}
	return r, nil
}

func readReady(c Config) (Ready, error) {
	data, err := readBounded(c.ReadyFile())
	if errors.Is(err, fs.ErrNotExist) {
		return Ready{}, fmt.Errorf("the daemon of %s does not run: %w", c.Site, fs.ErrNotExist)
	}
	if err != nil {
		return Ready{}, fmt.Errorf("asking whether the daemon serves: %w", err)
	}
	var r Ready
	if err := json.Unmarshal(data, &r); err != nil {
		return Ready{}, fmt.Errorf("%s is damaged; remove it if no daemon runs: %w", c.ReadyFile(), err)
	}
	return r, nil
}

// Dialable turns addresses listened on into those that others can dial: one in all
// networks becomes one for each interface, loopback only where there is nothing
// else. Ports not yet chosen (tcp/0) are left out.
func Dialable(listen []string) ([]string, error) {
	var far, near []string
	for _, s := range listen {
		a, err := tcpAddress(s)
		if err != nil {
			return nil, err
		}
		if a[1].Value() == "0" {
			continue
		}
		hosts, err := hostsOf(a)
		if err != nil {
			return nil, err
		}
		for _, ip := range hosts {
			family := "ip4"
			if ip.To4() == nil {
				family = "ip6"
			}
			address := fmt.Sprintf("/%s/%s/tcp/%s", family, ip, a[1].Value())
			if ip.IsLoopback() {
				near = append(near, address)
			} else {
				far = append(far, address)
			}
		}
	}
	if len(far) == 0 {
		far = near
	}
	sort.Strings(far)
	return compact(far), nil
}

// hostsOf is the IP address of a, or those of all interfaces if it is unspecified.
func hostsOf(a ma.Multiaddr) ([]net.IP, error) {
	ip := net.ParseIP(a[0].Value())
	if ip == nil {
		return nil, fmt.Errorf("%s does not begin with an IP address", a)
	}
	if !ip.IsUnspecified() {
		return []net.IP{ip}, nil
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("listing this machine's addresses: %w", err)
	}
	var hosts []net.IP
	for _, one := range all {
		n, ok := one.(*net.IPNet)
		if ok && !n.IP.IsLinkLocalUnicast() && (n.IP.To4() != nil) == (ip.To4() != nil) {
			hosts = append(hosts, n.IP)
		}
	}
	return hosts, nil
}

func compact(sorted []string) []string {
	var out []string
	for i, s := range sorted {
		if i == 0 || s != sorted[i-1] {
			out = append(out, s)
		}
	}
	return out
}

// Line is the one line that another site's `gbroker neighbour add` takes.
func Line(site grid.SiteName, peer grid.PeerID, addresses []string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", site, peer, strings.Join(addresses, ",")))
}
