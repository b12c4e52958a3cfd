// Package wan runs real brokers in network namespaces of their own, over links that a relay in user space makes: with delay, jitter,
// loss, a rate, other in each direction, or cut. The kernel's netem is not needed, root and /dev/net/tun are.
//
//	namespace 1: gbroker ── tun 10.77.0.1 ──┐
//	namespace 2: gbroker ── tun 10.77.0.2 ──┤ relay: a queue for each direction of each pair
//	namespace 3: gbroker ── tun 10.77.0.3 ──┘
package wan

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	mtu      = 1500
	maxQueue = 1 << 20 // bytes that wait before the wire of one direction; more are dropped, as a router does
	onTheWay = 1 << 14 // packets, those under way with them
	moved    = 125     // added to the last number of a host's address: that which it has after Move
)

// Link is one direction between two hosts. The zero Link passes all at once.
type Link struct {
	Delay, Jitter time.Duration
	Loss          float64 // share of the packets
	Rate          float64 // bytes per second; 0 is no limit
	Cut           bool
	NoDial        bool // connections that stand pass, new ones of TCP do not: a firewall
}

// Host is a network namespace with one address.
type Host struct {
	IP   net.IP
	work chan func()
	tun  *os.File
}

// In runs f on a thread of the namespace: what it starts or opens is there.
func (h *Host) In(f func() error) error {
	done := make(chan error, 1)
	h.work <- func() { done <- f() }
	return <-done
}

// Network joins hosts.
type Network struct {
	Hosts []*Host

	mu    sync.Mutex
	links map[[2]int]*direction
	ended bool
	all   sync.WaitGroup
}

// direction is a link with what is on its way.
type direction struct {
	link  Link
	free  time.Time // when the wire is free again
	last  time.Time // when the latest packet arrives: none overtakes
	queue chan packet
}

type packet struct {
	at   time.Time
	data []byte
}

// New makes n hosts, each of which reaches each other one at once.
func New(n int) (*Network, error) {
	w := &Network{links: map[[2]int]*direction{}}
	for i := range n {
		h, err := newHost(i)
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("making host %d: %w", i, err)
		}
		w.Hosts = append(w.Hosts, h)
	}
	for i := range n {
		for j := range n {
			w.links[[2]int{i, j}] = &direction{queue: make(chan packet, onTheWay)}
		}
	}
	for between, d := range w.links { // all are there before one of them is used
		w.all.Go(func() { w.deliver(d, w.Hosts[between[1]]) })
	}
	for i := range n {
		w.all.Go(func() { w.read(i) })
	}
	return w, nil
}

func newHost(i int) (*Host, error) {
	h := &Host{IP: net.IPv4(10, 77, byte(i/250), byte(1+i%250)).To4(), work: make(chan func())}
	ready := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread, and its namespace with it, end with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			ready <- fmt.Errorf("a network namespace: %w", err)
			return
		}
		err := h.open()
		ready <- err
		if err != nil {
			return
		}
		for f := range h.work {
			f()
		}
	}()
	return h, <-ready
}

// open makes the interface; it runs on the thread of the namespace.
func (h *Host) open() error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening /dev/net/tun: %w", err)
	}
	var request struct {
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], "wan")
	request.flags = unix.IFF_TUN | unix.IFF_NO_PI
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF, uintptr(unsafe.Pointer(&request))); e != 0 {
		unix.Close(fd)
		return fmt.Errorf("making an interface: %w", e)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	h.tun = os.NewFile(uintptr(fd), "tun")
	for _, line := range []string{
		"link set lo up", fmt.Sprintf("link set wan mtu %d up", mtu), "addr add " + h.IP.String() + "/16 dev wan",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
	}
	return nil
}

// Move gives a host of a small network another address. What is sent to that of before is lost.
func (w *Network) Move(i int) error {
	h := w.Hosts[i]
	to := net.IPv4(h.IP[0], h.IP[1], h.IP[2], h.IP[3]+moved).To4()
	return h.In(func() error {
		for _, line := range []string{"addr del " + h.IP.String() + "/16 dev wan", "addr add " + to.String() + "/16 dev wan"} {
			if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
				return fmt.Errorf("ip %s: %w: %s", line, err, out)
			}
		}
		h.IP = to
		return nil
	})
}

// Set makes a link of one direction.
func (w *Network) Set(from, to int, l Link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links[[2]int{from, to}].link = l
}

// Both makes a link of both directions.
func (w *Network) Both(a, b int, l Link) {
	w.Set(a, b, l)
	w.Set(b, a, l)
}

// Split cuts hosts in two parts: those below at, and the others.
func (w *Network) Split(at int, cut bool) {
	for i := range at {
		for j := at; j < len(w.Hosts); j++ {
			w.Both(i, j, Link{Cut: cut})
		}
	}
}

// read takes what a host sends.
func (w *Network) read(i int) {
	buffer := make([]byte, 4*mtu)
	for {
		n, err := w.Hosts[i].tun.Read(buffer)
		if err != nil {
			return
		}
		if n < 20 || buffer[0]>>4 != 4 {
			continue
		}
		j := int(buffer[18])*250 + int(buffer[19]) - 1
		if j >= moved && len(w.Hosts) <= moved {
			j -= moved
		}
		if j < 0 || j >= len(w.Hosts) || j == i {
			continue
		}
		w.send(i, j, append([]byte(nil), buffer[:n]...))
	}
}

// send puts a packet on its way, unless it is lost.
func (w *Network) send(i, j int, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.links[[2]int{i, j}]
	l, now := d.link, time.Now()
	if w.ended || l.Cut || l.NoDial && dials(data) || rand.Float64() < l.Loss || l.Rate > 0 && d.free.Sub(now).Seconds()*l.Rate > maxQueue {
		return
	}
	at := now
	if l.Rate > 0 {
		if d.free.Before(now) {
			d.free = now
		}
		d.free = d.free.Add(time.Duration(float64(len(data)) / l.Rate * float64(time.Second)))
		at = d.free
	}
	at = at.Add(l.Delay)
	if l.Jitter > 0 {
		at = at.Add(rand.N(l.Jitter))
	}
	if at.Before(d.last) {
		at = d.last
	}
	select {
	case d.queue <- packet{at, data}:
		d.last = at
	default:
	}
}

// dials tells that a packet of IPv4 begins a connection of TCP: SYN without ACK.
func dials(data []byte) bool {
	at := int(data[0]&15)*4 + 13
	return data[9] == unix.IPPROTO_TCP && len(data) > at && data[at]&0x12 == 0x02
}

// deliver hands packets over when they are due.
func (w *Network) deliver(d *direction, to *Host) {
	for p := range d.queue {
		if wait := time.Until(p.at); wait > 0 {
			time.Sleep(wait) //house:allow sleep: the delay of the link itself
		}
		w.mu.Lock()
		cut := d.link.Cut
		w.mu.Unlock()
		if !cut {
			to.tun.Write(p.data) // an interface that is full drops it
		}
	}
}

// Close ends the hosts; what runs there has to be ended before.
func (w *Network) Close() {
	w.mu.Lock()
	w.ended = true
	for _, d := range w.links {
		close(d.queue)
	}
	w.mu.Unlock()
	for _, h := range w.Hosts {
		h.tun.Close()
		close(h.work)
	}
	w.all.Wait()
}
