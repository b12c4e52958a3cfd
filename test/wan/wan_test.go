package wan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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

// sitesOf starts brokers, one in each namespace, that know nobody yet.
func sitesOf(t *testing.T, w *Network, cores func(i int) int, change ...func(*cluster.Site)) (sites []*cluster.Site) {
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
	for i, h := range w.Hosts {
		s, err := cluster.Init(t.Context(), programs, dir, fmt.Sprintf("s%d", i), cluster.Options{Nodes: 1, Cores: cores(i), Listen: "/ip4/0.0.0.0/tcp/4010"})
		if err == nil {
			for _, f := range change {
				f(s)
			}
			err = h.In(func() error { return s.Start(t.Context()) })
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Stop(); s.EndJobs() })
		sites = append(sites, s)
	}
	return sites
}

// meshOf starts a full mesh of brokers that all see each other.
func meshOf(t *testing.T, w *Network) []*cluster.Site {
	t.Helper()
	sites := sitesOf(t, w, func(int) int { return 2 }, func(s *cluster.Site) { s.OwnClock = cluster.Clocks() == nil })
	if err := cluster.Mesh(t.Context(), sites...); err != nil {
		t.Fatal(err)
	}
	agreed(t, sites, "after the start")
	return sites
}

// know makes sites members of each other.
func know(t *testing.T, a, b *cluster.Site, options ...string) {
	t.Helper()
	if err := errors.Join(a.Know(t.Context(), b, options...), b.Know(t.Context(), a, options...)); err != nil {
		t.Fatal(err)
	}
}

// A site that can only dial out works with one that can be dialled, and two such sites through that one, where it relays: a job goes
// from one to the other with its files and comes back.
func TestSitesThatOnlyDialOut(t *testing.T) {
	if !whole {
		t.Skip("make wan runs it; TestRelay in overlay is its short form")
	}
	w := network(t, 3)
	shut := Link{Delay: 20 * time.Millisecond, NoDial: true}
	w.Both(1, 2, shut)
	for i := range 2 {
		w.Set(0, i+1, shut)
		w.Set(i+1, 0, Link{Delay: 20 * time.Millisecond})
	}
	sites := sitesOf(t, w, func(i int) int { return 1 + i/2 }) // only the last has two cores
	hub, a, b := sites[0], sites[1], sites[2]
	know(t, hub, a)
	know(t, hub, b)
	file := filepath.Join(hub.Dir, "neighbours.yaml")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append([]byte("relay: {rate: 20MB/s}\n"), text...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	know(t, a, b, "--via", hub.Name)
	t.Logf("| sites that only dial out | all see each other after %.1f s |", agreed(t, sites, "after the start").Seconds())
	dir := t.TempDir()
	job, in := filepath.Join(dir, "job.sh"), filepath.Join(dir, "in.bin")
	script := "#!/bin/sh\n#SBATCH --ntasks=2\n#SBATCH --time=1\n#SBATCH --input=in.bin\n#SBATCH --output=out.bin\ncat\n"
	if err := errors.Join(os.WriteFile(job, []byte(script), 0o755), os.WriteFile(in, bytes.Repeat([]byte("0123456789abcdef"), 1<<18), 0o644)); err != nil {
		t.Fatal(err)
	}
	r := a.Client(t.Context(), "submit", job)
	if r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	id := strings.TrimSpace(r.Stdout)
	began := time.Now()
	if r := a.Client(t.Context(), "wait", id); r.Code != 0 {
		t.Fatalf("the job: %d, %s%s", r.Code, r.Stdout, r.Stderr)
	}
	t.Logf("| sites that only dial out | a job with 4 MiB there and back through the member: %.1f s |", time.Since(began).Seconds())
	if r := a.Client(t.Context(), "output", id, filepath.Join(dir, "back")); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	want, _ := os.ReadFile(in)
	if got, err := os.ReadFile(filepath.Join(dir, "back", "out.bin")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("other bytes came back: %d, %v", len(got), err)
	}
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
func TestRejoin(t *testing.T) { rejoins(t, cases, 1) }

// So it does where wall clocks are apart.
func TestRejoinWithClocksApart(t *testing.T) {
	if err := cluster.Clocks(); err != nil {
		t.Skip(err)
	}
	rejoins(t, clocksApart, math.MaxInt)
}

// rejoins brings meshes into some troubles; into the first few of them where not all is to run.
func rejoins(t *testing.T, cases func(*testing.T, *Network, []*cluster.Site) []trouble, few int) {
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
			for i, c := range cases(t, w, sites) {
				if !whole {
					c.lasts = min(c.lasts, 5*time.Second)
				}
				c.trouble()
				time.Sleep(c.lasts) //house:allow sleep: how long the trouble lasts is what is tested
				c.over()
				t.Logf("| %d | %s, %v | %.1f s |", n, c.name, c.lasts, agreed(t, sites, "after "+c.name).Seconds())
				if !whole && i+1 == few {
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

func cases(t *testing.T, w *Network, _ []*cluster.Site) []trouble {
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
		{"another address", time.Minute, func() { // for so long that the others have noticed
			if err := w.Move(0); err != nil {
				t.Error(err)
			}
		}, func() {}},
	}
}

// clocksApart are the cases of wall clocks that differ: by minutes while brokers run and do not see each other, and by hours when one of them starts.
func clocksApart(t *testing.T, w *Network, sites []*cluster.Site) []trouble {
	set := func(i int, ahead time.Duration) {
		if err := sites[i].SetClock(ahead); err != nil {
			t.Error(err)
		}
	}
	again := func(ahead time.Duration) {
		s := sites[0]
		s.Kill()
		s.Ahead = ahead
		if err := w.Hosts[0].In(func() error { return s.Start(t.Context()) }); err != nil {
			t.Error(err)
		}
	}
	n := len(sites)
	return []trouble{
		{"clocks 20 min apart, and a partition", 20 * time.Second, func() {
			set(0, 10*time.Minute)
			set(1, -10*time.Minute)
			w.Split((n+1)/2, true)
		}, func() { w.Split((n+1)/2, false) }},
		{"clocks that go right again", 5 * time.Second, func() { set(0, 0); set(1, 0) }, func() {}},
		{"a start with a clock 3 h ahead", time.Second, func() { again(3 * time.Hour) }, func() {}},
		{"a start with a clock 3 h behind", time.Second, func() { again(-3 * time.Hour) }, func() {}},
	}
}
