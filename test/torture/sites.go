package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"gbroker/api"
	"gbroker/test/cluster"
)

// site is one of the five: its broker, its network, its disk.
type site struct {
	*cluster.Site
	net    *network // nil without a box
	disk   *disk    // nil without a box
	client *api.Client

	mu      sync.Mutex // held by whoever starts, stops or halts the daemon
	refused int        // starts that failed, as when the disk is full
	fallen  []string   // ends of the daemon that nobody caused
}

// firstPort is that of the first site for the others.
const firstPort = 4801

// config of a site: estimates are waited for shortly, as all are near, and jobs that
// wait move as soon and as often as may be.
const config = `
estimate_deadline: 700ms
reevaluation: {interval: 3s, settle: 500ms, margin: 500ms, cooldown: 2s, soon: 500ms}
netmon: {time_share: 0.02, bytes_per_hour: 1MiB}
architecture: %s
`

// rate of transfers between two sites: low, so that faults fall into them.
const rate = "500kB/s"

// cores and speeds of the sites: the first two get most jobs and have the least to run them.
var (
	cores  = []int{1, 1, 2, 1, 2}
	speeds = []float64{1, 1, 1.2, 0.8, 1}
)

func siteNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("s%d", i))
	}
	return names
}

// makeSites makes the sites of the run, with their networks and disks.
func (r *run) makeSites(ctx context.Context) error {
	for i, name := range r.names {
		s, err := r.makeSite(ctx, i, name)
		if s != nil {
			r.sites = append(r.sites, s)
		}
		if err != nil {
			return err
		}
	}
	for i, a := range r.sites {
		for _, j := range r.edges[i] {
			b := r.sites[j]
			if err := a.Know(ctx, b.Site, "--rate-limit", rate); err != nil {
				return err
			}
			if !slices.Contains(r.edges[j], i) { // it must hear who sends to it
				if err := b.Know(ctx, a.Site, "--send=false", "--rate-limit", rate); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func address(i int) string { return fmt.Sprintf("127.0.0.1:%d", firstPort+i) }

func (r *run) makeSite(ctx context.Context, i int, name string) (*site, error) {
	listen := fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", firstPort+i)
	if !r.isolated {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		listen = fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", port)
	}
	c, err := cluster.Init(ctx, r.programs, r.dir, name, cluster.Options{
		Nodes: 1, Cores: cores[i], Speed: speeds[i], Listen: listen, More: fmt.Sprintf(config, architectures[i]),
	})
	if err != nil {
		return nil, err
	}
	s := &site{Site: c}
	if s.client, err = api.NewClient(api.ClientConfig{Address: c.Address(), Answer: 3 * time.Second, Stall: 5 * time.Second, Resend: time.Second}); err != nil {
		return s, err
	}
	if !r.isolated {
		return s, nil
	}
	c.Detached = true // the box ends it; the thread that starts it goes at once
	if s.net, err = newNetwork(); err != nil {
		return s, err
	}
	s.disk, err = newDisk(filepath.Join(c.Dir, "data"))
	return s, err
}

// connect runs the relays until ctx is done.
func (r *run) connect(ctx context.Context, all *sync.WaitGroup) error {
	for _, w := range r.pairs {
		a, b := w[0], w[1]
		between := newWay(r.names[a], r.names[b])
		r.ways[w] = between
		if !r.isolated {
			continue
		}
		for _, d := range [][2]int{{a, b}, {b, a}} {
			from, to := r.sites[d[0]], r.sites[d[1]]
			relay, err := newRelay(between, from.Name, to.Name, from.net, to.net, address(d[1]))
			if err != nil {
				return err
			}
			all.Go(func() { relay.run(ctx) })
		}
	}
	return nil
}

// start starts the daemon; its lock is held.
func (s *site) start(ctx context.Context) error {
	return s.net.in(func() error { return s.Start(ctx) })
}

// startPatience is how long a daemon may refuse to start, as it may while its disk is full.
const startPatience = time.Minute

// restart starts the daemon, again and again where it ends before it serves. Its lock is held.
func (s *site) restart(ctx context.Context) error {
	deadline := time.Now().Add(startPatience)
	for {
		err := s.start(ctx)
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		s.refused++
		if s.Running() {
			s.Kill()
		}
		if !pause(ctx, 300*time.Millisecond) {
			return err
		}
	}
}

// watch starts the daemon again, as an init system would, when it has ended and
// nobody had ended it.
func (s *site) watch(ctx context.Context) {
	for pause(ctx, 300*time.Millisecond) {
		if !s.mu.TryLock() {
			continue
		}
		if !s.Running() {
			log, _ := os.ReadFile(s.Log)
			s.fallen = append(s.fallen, fmt.Sprintf("%s ended by itself; the end of its log:\n%s", s.Name, log[max(0, len(log)-1500):]))
			if err := s.restart(ctx); err != nil && ctx.Err() == nil {
				s.fallen = append(s.fallen, fmt.Sprintf("%s does not start again: %v", s.Name, err))
			}
		}
		s.mu.Unlock()
	}
}

// end ends the daemon and all that it has started, and takes its network and disk away.
func (s *site) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Running() {
		s.Signal(syscall.SIGCONT)
	}
	s.Kill()
	s.EndJobs()
	if s.client != nil {
		s.client.Close()
	}
	s.net.close()
	return s.disk.remove()
}

// pause waits; false if ctx was done first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
