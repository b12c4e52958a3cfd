package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/test/cluster"
)

// siteCount is how many sites a run has.
const siteCount = 5

// options of a run.
type options struct {
	form     form
	seed     uint64
	programs cluster.Programs
	isolated bool   // in a box: networks can be cut and disks filled
	keep     string // folder for what remains of the run; "" is none
	verbose  bool
	out      io.Writer
}

// run is one run.
type run struct {
	options
	dir, ledger, mark string
	names             []string
	edges             map[int][]int
	pairs             [][2]int
	ways              map[[2]int]*way
	work              []work
	script            map[faultKind][]fault
	sites             []*site
	peers             map[string]string // names of sites by peer ID and alias
	users             *users
	torment           *torment
	began             time.Time
	settled           time.Duration // from the last fault
	handoffs          int
	histories         map[grid.JobID]string

	say sync.Mutex
}

// torture is a whole run; its error says what was wrong.
func torture(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "gbt-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := newRun(o, dir)
	fmt.Fprintf(o.out, "seed %d: %d jobs, %d faults of each kind; %s\n", o.seed, len(r.work), o.form.faults, graphText(r.edges, r.names))
	defer func() {
		for _, s := range r.sites {
			err = errors.Join(err, s.end())
		}
	}()
	e, err := r.evidence(ctx)
	if err != nil {
		return err
	}
	breaches := check(e)
	r.report(e, breaches)
	return errors.Join(r.verdict(breaches), r.preserve())
}

func (r *run) verdict(breaches []string) error {
	switch {
	case len(breaches) > 0:
		return fmt.Errorf("seed %d: %d breaches; run it again with -seed %d", r.seed, len(breaches), r.seed)
	case r.handoffs < r.form.handoffs:
		return fmt.Errorf("seed %d: only %d handoffs, %d are wanted: too little was tried", r.seed, r.handoffs, r.form.handoffs)
	}
	return nil
}

// newRun draws all that the seed decides.
func newRun(o options, dir string) *run {
	r := &run{
		options: o, dir: dir, ledger: filepath.Join(dir, "ledger"), mark: filepath.Base(dir),
		names: siteNames(siteCount), ways: map[[2]int]*way{}, histories: map[grid.JobID]string{}, began: time.Now(),
	}
	random := rand.New(rand.NewPCG(o.seed, 1))
	r.edges = planGraph(random, siteCount)
	r.pairs = waysOf(r.edges, siteCount)
	r.work = planWork(random, o.form.jobs, o.form.span, r.names, r.edges)
	r.script = planFaults(random, o.form.faults, siteCount, r.pairs)
	r.users = &users{run: r, ids: map[string]grid.JobID{}, told: map[grid.JobID]view{}}
	r.torment = &torment{run: r, done: map[faultKind]int{}}
	return r
}

func (r *run) site(name string) *site { return r.sites[slices.Index(r.names, name)] }

// note tells what is going on, if that is wanted.
func (r *run) note(format string, args ...any) {
	if r.verbose {
		r.say.Lock()
		defer r.say.Unlock()
		fmt.Fprintf(r.out, "%7.2fs %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
	}
}

// evidence runs the sites, the users and the script, and gathers what is known at the end.
func (r *run) evidence(ctx context.Context) (evidence, error) {
	e := evidence{Work: r.work}
	ctx, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	if err := r.makeSites(ctx); err != nil {
		return e, err
	}
	if err := r.connect(ctx, &background); err != nil {
		return e, err
	}
	if err := r.startSites(ctx); err != nil {
		return e, err
	}
	for _, s := range r.sites {
		background.Go(func() { s.watch(ctx) })
		background.Go(func() { r.users.look(ctx, s) })
	}
	var err error
	if e.Views, e.Unsettled, err = r.live(ctx); err != nil {
		return e, err
	}
	e.Outputs = r.users.outputs(ctx)
	e.Files = r.lying()
	cancel()
	background.Wait()
	return r.afterwards(context.WithoutCancel(ctx), e)
}

// live is the run itself: all at once, then all healed, then the wait for the ends.
func (r *run) live(ctx context.Context) ([]view, []string, error) {
	patient, give := context.WithCancel(ctx)
	defer give()
	var hands sync.WaitGroup
	for _, w := range r.work {
		hands.Go(func() { r.users.hand(patient, w) })
	}
	r.torment.play(ctx, r.script)
	healed := time.Now()
	r.note("all is healed")
	handed := make(chan struct{})
	go func() {
		hands.Wait()
		close(handed)
	}()
	late := time.AfterFunc(r.form.settle, give)
	<-handed
	late.Stop()
	views, why, err := r.settle(ctx, max(0, r.form.settle-time.Since(healed)))
	r.settled = time.Since(healed)
	return views, why, err
}

// startSites starts all daemons, side by side.
func (r *run) startSites(ctx context.Context) error {
	errs := make([]error, len(r.sites))
	var all sync.WaitGroup
	for i, s := range r.sites {
		all.Go(func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			errs[i] = s.start(ctx)
		})
	}
	all.Wait()
	r.peers = map[string]string{}
	for _, s := range r.sites {
		if ready, err := s.Ready(); err == nil {
			r.peers[ready.Peer] = s.Name
		}
	}
	return errors.Join(errs...)
}

// afterwards stops the daemons and reads what they have left.
func (r *run) afterwards(ctx context.Context, e evidence) (evidence, error) {
	for _, s := range r.sites {
		s.mu.Lock()
		err := s.Stop()
		s.mu.Unlock()
		if err != nil {
			s.fallen = append(s.fallen, err.Error())
		}
		e.Daemons = append(e.Daemons, s.fallen...)
	}
	e.Processes = r.processes()
	ledger, err := os.ReadFile(r.ledger)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return e, err
	}
	e.Lines, e.Ledger = readLedger(string(ledger))
	if e.Kept, err = r.journals(ctx); err != nil {
		return e, err
	}
	e.IDs, e.Told = r.users.ids, slices.Collect(maps.Values(r.users.told))
	e.Findings = append(r.users.findings, r.torment.findings...)
	return e, nil
}

// report tells what was done and what was found.
func (r *run) report(e evidence, breaches []string) {
	w := r.out
	fmt.Fprintf(w, "faults: ")
	for _, kind := range faultKinds {
		fmt.Fprintf(w, "%s %d, ", kind, r.torment.done[kind])
	}
	refused := 0
	for _, s := range r.sites {
		refused += s.refused
	}
	fmt.Fprintf(w, "starts that failed for a full disk %d\n", refused)
	fmt.Fprintf(w, "their effect, by the logs: a neighbour was thought dead %d times, a save failed %d times\n",
		r.logged(`"liveness": "dead"`), r.logged("a save failed"))
	fmt.Fprintf(w, "handoffs: %d, by the journals\n", r.handoffs)
	outcomes := map[string]int{}
	for _, v := range e.Views {
		if string(v.Job.Site()) == v.Site {
			outcomes[v.State.String()]++
		}
	}
	fmt.Fprintf(w, "jobs: %d, submissions sent again %d, states %v\n", len(e.IDs), r.users.repeated, outcomes)
	fmt.Fprintf(w, "time: %.0f s, of it %.0f s from the last fault until all had ended and agreed\n", time.Since(r.began).Seconds(), r.settled.Seconds())
	for _, b := range breaches {
		fmt.Fprintf(w, "BREACH: %s\n", b)
	}
	told := 0
	for _, id := range slices.Sorted(maps.Keys(r.histories)) {
		if told < 5 && slices.ContainsFunc(breaches, func(b string) bool { return strings.Contains(b, string(id)) }) {
			told++
			fmt.Fprintf(w, "  history of %s:\n%s", id, r.histories[id])
		}
	}
	if len(breaches) == 0 {
		fmt.Fprintln(w, "no breach")
	}
}

// logged counts a text in the logs of all daemons.
func (r *run) logged(text string) (n int) {
	for _, s := range r.sites {
		log, _ := os.ReadFile(s.Log)
		n += bytes.Count(log, []byte(text))
	}
	return n
}

// preserve copies logs and data of the run to the folder that was asked for.
func (r *run) preserve() error {
	if r.keep == "" {
		return nil
	}
	if err := os.CopyFS(r.keep, os.DirFS(r.dir)); err != nil {
		return fmt.Errorf("keeping what is left of the run: %w", err)
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// moduleRoot is the folder of go.mod, upwards from here.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if cluster.Exists(filepath.Join(d, "go.mod")) {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("no go.mod above %s: run it inside the repository, or name the built programs with -bin", dir)
		}
	}
}
