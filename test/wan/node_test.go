package wan

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/netmon"
	"gbroker/overlay"
	"gbroker/stage"
	"gbroker/wire"
)

// A node is the part of a broker that moves and measures, in a process of its own in the namespace of a host: overlay, stage and
// netmon, as the daemon joins them. It is this very test binary, told by lines what to do, and beside it serves plain TCP to compare with.
type node struct {
	t    *testing.T
	host *Host
	peer grid.PeerID
	in   io.WriteCloser
	out  *bufio.Reader
}

const (
	nodeVariable     = "GBROKER_WAN_NODE"     // the node's address; its folder is the working one
	intervalVariable = "GBROKER_WAN_INTERVAL" // after which a node measures a size again
)

// order is one line to a node.
type order struct {
	Do       string
	Peer     grid.PeerID
	Address  string
	Size     int64
	Streams  int
	Manifest grid.Manifest
	Rate     int64
}

// told is the line that answers it.
type told struct {
	Error    string
	Peer     grid.PeerID
	Seconds  float64
	Manifest grid.Manifest
	Link     grid.Link
	Age      []grid.Tick // of the rates of Link
}

const (
	overlayPort = 4010
	plainPort   = 5001
	nodeJob     = grid.JobID("alpha.01ARZ3NDEKTSV4RRFFQ69G5FAV")
)

func TestMain(m *testing.M) {
	if ip := os.Getenv(nodeVariable); ip != "" {
		if err := serveNode(ip); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startNode starts a node on a host.
func startNode(t *testing.T, h *Host) *node {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeVariable+"="+h.IP.String())
	cmd.Dir, cmd.Stderr = t.TempDir(), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.In(cmd.Start); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	n := &node{t: t, host: h, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	n.peer = n.does(order{Do: "id"}).Peer
	return n
}

// does gives one order and waits for its end.
func (n *node) does(o order) (r told) {
	n.t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := n.in.Write(append(b, '\n')); err != nil {
		n.t.Fatal(err)
	}
	line, err := n.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err == nil && r.Error != "" {
		err = fmt.Errorf("%s", r.Error)
	}
	if err != nil {
		n.t.Fatalf("%s at %v: %v", o.Do, n.host.IP, err)
	}
	return r
}

// meet makes two nodes members of each other.
func meet(a, b *node) {
	a.does(order{Do: "member", Peer: b.peer, Address: b.host.IP.String()})
	b.does(order{Do: "member", Peer: a.peer, Address: a.host.IP.String()})
	a.does(order{Do: "alive", Peer: b.peer})
	b.does(order{Do: "alive", Peer: a.peer})
}

// served is the inside of a node.
type served struct {
	over    *overlay.Overlay
	stager  *stage.Stager
	monitor *netmon.Monitor
	held    grid.Manifest
	stands  net.Conn // for copies
}

func serveNode(ip string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	key, err := overlay.NewKey()
	if err != nil {
		return err
	}
	n := &served{}
	hello := wire.Hello{Site: grid.Site{Name: "node"}}
	n.over, err = overlay.New(overlay.Config{
		Key: key, Listen: []string{fmt.Sprintf("/ip4/%s/tcp/%d", ip, overlayPort)}, Site: grid.Site{Name: "node"},
		Hello: func() wire.Hello { return hello }, Receive: func(grid.PeerID, wire.Message) {},
		PeerChanged: func(p grid.PeerID, l grid.Liveness) { n.monitor.SetAlive(p, l == grid.Alive) },
	})
	if err != nil {
		return err
	}
	if n.stager, err = stage.New(stage.Config{Root: "jobs", Dialer: n.over, Delivered: func(to grid.PeerID, _ stage.Set, bytes int64, took time.Duration) {
		n.monitor.Observe(to, bytes, took)
	}, Authorize: func(grid.PeerID, grid.JobID, stage.Set) (stage.Grant, error) {
		return stage.Grant{Files: n.held}, nil
	}}); err != nil {
		return err
	}
	interval, err := time.ParseDuration(os.Getenv(intervalVariable))
	if err != nil {
		interval = 15 * time.Second
	}
	if n.monitor, err = netmon.New(netmon.Config{Dialer: n.over, Streams: n.stager.Streams, Busy: n.stager.Moving, Interval: interval, TimeShare: 0.5, BytesPerHour: 1 << 40}); err != nil {
		return err
	}
	if err := n.over.Handle(stage.Protocol, n.stager.Serve); err != nil {
		return err
	}
	if err := n.over.Handle(netmon.Protocol, n.monitor.Serve); err != nil {
		return err
	}
	go n.over.Run(ctx)
	go n.monitor.Run(ctx)
	<-n.over.Ready()
	go servePlain(ip)
	orders := json.NewDecoder(os.Stdin)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			return nil // the test has ended
		}
		r, err := n.obey(ctx, o)
		if err != nil {
			r.Error = err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
	}
}

func (n *served) obey(ctx context.Context, o order) (r told, err error) {
	began := time.Now()
	switch o.Do {
	case "id":
		r.Peer = n.over.Peer()
	case "member":
		m := []grid.Member{{Name: "other", Peer: o.Peer, Addresses: []string{fmt.Sprintf("/ip4/%s/tcp/%d", o.Address, overlayPort)}, RateLimit: o.Rate}}
		n.monitor.SetPeers(m)
		err = n.over.SetMembers(m)
	case "alive":
		for n.over.Liveness(o.Peer) != grid.Alive {
			if time.Since(began) > time.Minute {
				return r, fmt.Errorf("%s is not alive after a minute", o.Peer)
			}
			time.Sleep(10 * time.Millisecond) //house:allow sleep: a question to ourselves, in a process without a test's clock
		}
	case "hold":
		if _, err = n.stager.Receive(ctx, nodeJob, "file", o.Size, 0o600, 0, io.LimitReader(rand.NewChaCha8([32]byte{}), o.Size)); err == nil {
			n.held, err = n.stager.Received(nodeJob)
		}
		r.Manifest = n.held
	case "fetch":
		err = n.stager.Fetch(ctx, o.Peer, nodeJob, stage.Inputs, o.Manifest, grid.User{})
		r.Seconds = time.Since(began).Seconds()
	case "discard":
		err = n.stager.Discard(nodeJob)
	case "copy":
		r.Seconds, err = copyPlain(o.Address, o.Size, max(o.Streams, 1))
	case "again": // copies over the connection that stands, and beside it over new ones
		r.Seconds, err = n.copyAgain(o.Address, o.Size, max(o.Streams, 1))
	case "stop": // measuring
		n.monitor.SetPeers(nil)
	case "link":
		r.Link = n.monitor.Link(o.Peer)
		for _, q := range n.monitor.Qualities(o.Peer) {
			r.Age = append(r.Age, q.Age)
		}
	default:
		err = fmt.Errorf("no such order: %q", o.Do)
	}
	return r, err
}

// servePlain sends as many bytes as each connection asks for, from memory.
func servePlain(ip string) {
	l, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", ip, plainPort))
	if err != nil {
		return
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			var size [8]byte
			noise := make([]byte, 64<<10)
			for {
				if _, err := io.ReadFull(c, size[:]); err != nil {
					return
				}
				for left := int64(binary.BigEndian.Uint64(size[:])); left > 0; {
					k, err := c.Write(noise[:min(left, int64(len(noise)))])
					if err != nil {
						return
					}
					left -= int64(k)
				}
			}
		}()
	}
}

// copyPlain takes size bytes over some plain connections, and tells the time from the question to the last byte.
func copyPlain(ip string, size int64, streams int) (float64, error) {
	conns := make([]net.Conn, streams)
	for i := range conns {
		c, err := dialPlain(ip)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		conns[i] = c
	}
	began := time.Now()
	errs := make(chan error, streams)
	for _, c := range conns {
		go func() {
			errs <- pullPlain(c, size/int64(streams))
		}()
	}
	for range conns {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds(), nil
}

// copyAgain is copyPlain over a connection that stands from the copy before, as that of a broker does; the time includes to dial others.
func (n *served) copyAgain(ip string, size int64, streams int) (float64, error) {
	if n.stands == nil {
		c, err := dialPlain(ip)
		if err != nil {
			return 0, err
		}
		n.stands = c
	}
	began := time.Now()
	errs := make(chan error, streams)
	for i := range streams {
		go func() {
			c := n.stands
			if i > 0 {
				var err error
				if c, err = dialPlain(ip); err != nil {
					errs <- err
					return
				}
				defer c.Close()
			}
			errs <- pullPlain(c, size/int64(streams))
		}()
	}
	for range streams {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds(), nil
}

func dialPlain(ip string) (net.Conn, error) {
	return net.DialTimeout("tcp4", fmt.Sprintf("%s:%d", ip, plainPort), 10*time.Second)
}

func pullPlain(c net.Conn, size int64) error {
	if _, err := c.Write(binary.BigEndian.AppendUint64(nil, uint64(size))); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, c, size)
	return err
}

// control makes a congestion control that of all new connections of a host.
func control(t *testing.T, h *Host, name string) {
	t.Helper()
	line := fmt.Sprintf("route change 10.77.0.0/16 dev wan proto kernel scope link src %v congctl %s", h.IP, name)
	if err := h.In(func() error {
		out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
		return nil
	}); err != nil {
		t.Skip(err)
	}
}
