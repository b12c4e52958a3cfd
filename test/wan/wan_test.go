package wan

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/test/cluster"
)

// make wan runs all cases; make test the first of them.
var whole = os.Getenv("GBROKER_WAN") != ""

func network(t *testing.T, n int) *Network {
	t.Helper()
	w, err := New(n)
	if err != nil {
		t.Skipf("no network namespaces with TUN here: %v", err)
	}
	t.Cleanup(w.Close)
	return w
}

// A link has the delay, the rate and the loss that it was given, each way for itself, and none passes one that is cut.
func TestLink(t *testing.T) {
	w := network(t, 2)
	var l net.Listener
	if err := w.Hosts[1].In(func() (err error) { l, err = net.Listen("tcp4", "10.77.0.2:0"); return err }); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(io.Discard, c)
			}()
		}
	}()
	dial := func(limit time.Duration) (c net.Conn, d time.Duration, err error) {
		began := time.Now()
		err = w.Hosts[0].In(func() (err error) { c, err = net.DialTimeout("tcp4", l.Addr().String(), limit); return err })
		return c, time.Since(began), err
	}
	w.Set(0, 1, Link{Delay: 40 * time.Millisecond, Rate: 1e6})
	w.Set(1, 0, Link{Delay: 20 * time.Millisecond})
	c, d, err := dial(10 * time.Second)
	if err != nil || d < 60*time.Millisecond {
		t.Fatalf("dialling over 60 ms took %v, %v", d, err)
	}
	began := time.Now()
	c.SetDeadline(time.Now().Add(time.Minute))
	c.Write(make([]byte, 500_000))
	c.(*net.TCPConn).CloseWrite()
	io.Copy(io.Discard, c)
	if took := time.Since(began); took < 450*time.Millisecond {
		t.Errorf("500 kB at 1 MB/s took %v", took)
	}
	c.Close()
	w.Set(1, 0, Link{Cut: true})
	if c, _, err := dial(300 * time.Millisecond); err == nil {
		c.Close()
		t.Error("a link that is cut one way passes")
	}
}

// meshOf starts a full mesh of brokers, one in each namespace, that all see each other.
func meshOf(t *testing.T, w *Network) []*cluster.Site {
	t.Helper()
	dir, err := os.MkdirTemp("", "gw-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	programs, err := cluster.Build(t.Context(), "../..", filepath.Join(dir, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	var sites []*cluster.Site
	for i, h := range w.Hosts {
		s, err := cluster.Init(t.Context(), programs, dir, fmt.Sprintf("s%d", i), cluster.Options{Nodes: 1, Cores: 2, Listen: "/ip4/" + h.IP.String() + "/tcp/4010"})
		if err == nil {
			err = h.In(func() error { return s.Start(t.Context()) })
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Stop(); s.EndJobs() })
		sites = append(sites, s)
	}
	if err := cluster.Mesh(t.Context(), sites...); err != nil {
		t.Fatal(err)
	}
	agreed(t, sites, "after the start")
	return sites
}

// agreed waits until each site sees all others, and tells how long that took.
func agreed(t *testing.T, sites []*cluster.Site, when string) time.Duration {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for i, s := range sites {
		var others []string
		for j, o := range sites {
			if j != i {
				others = append(others, o.Name)
			}
		}
		if err := s.Sees(ctx, 2*time.Minute, others...); err != nil {
			t.Fatalf("%s not all agree: %v", when, err)
		}
	}
	return time.Since(began)
}

// A mesh rejoins after each trouble, and a job that runs over it is there to its end.
func TestRejoin(t *testing.T) {
	sizes := []int{2}
	if whole {
		sizes = []int{2, 3, 8}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := network(t, n)
			sites := meshOf(t, w)
			job := filepath.Join(t.TempDir(), "job.sh")
			if err := os.WriteFile(job, []byte("#!/bin/sh\n#SBATCH --time=10\nsleep 8\necho done\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			r := sites[0].Client(t.Context(), "submit", job)
			if r.Code != 0 {
				t.Fatal(r.Stderr)
			}
			id := strings.TrimSpace(r.Stdout)
			for _, c := range cases(w) {
				if !whole {
					c.lasts = 5 * time.Second
				}
				c.trouble()
				time.Sleep(c.lasts) //house:allow sleep: how long the trouble lasts is what is tested
				c.over()
				t.Logf("| %d | %s, %v | %.1f s |", n, c.name, c.lasts, agreed(t, sites, "after "+c.name).Seconds())
				if !whole {
					break
				}
			}
			if r := sites[0].Client(t.Context(), "wait", id); r.Code != 0 {
				t.Errorf("the job: %d, %s%s", r.Code, r.Stdout, r.Stderr)
			}
		})
	}
}

// trouble is one case.
type trouble struct {
	name          string
	lasts         time.Duration
	trouble, over func()
}

func cases(w *Network) []trouble {
	n := len(w.Hosts)
	each := func(l Link) func() {
		return func() {
			for i := range n {
				for j := range i {
					w.Both(i, j, l)
				}
			}
		}
	}
	clear := each(Link{})
	return []trouble{
		{"partition", 20 * time.Second, func() { w.Split((n+1)/2, true) }, func() { w.Split((n+1)/2, false) }},
		{"long partition", 60 * time.Second, func() { w.Split((n+1)/2, true) }, func() { w.Split((n+1)/2, false) }},
		{"one way cut", 30 * time.Second, func() { w.Set(0, 1, Link{Cut: true}) }, clear},
		{"flapping, 3 s", 30 * time.Second, func() {
			go func() {
				for i := range 9 {
					w.Split((n+1)/2, i%2 == 0)
					time.Sleep(3 * time.Second) //house:allow sleep: the pace of the flapping
				}
			}()
		}, clear},
		{"30 % loss", 30 * time.Second, each(Link{Loss: 0.3}), clear},
		{"20 kB/s, 300 ms", 30 * time.Second, each(Link{Delay: 150 * time.Millisecond, Rate: 20e3}), clear},
	}
}
