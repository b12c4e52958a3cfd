package pool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
	"gbroker/pbs/spool"
	"gbroker/plan"
	desks "gbroker/pool"

	"go.uber.org/zap"
)

// System is the pool as a batch system.
type System struct {
	config   Config
	identity *line.Identity
	jobs     spool.Folder
	log      *zap.Logger
	wake     chan struct{} // something changed: run a pass

	admission admission // locked before mu

	mu        sync.Mutex
	known     map[grid.AttemptID]*entry
	byTag     map[string]*entry
	queue     []*entry             // waiting, in order
	kept      map[*computer]*entry // by turns
	computers map[string]*computer
	sequence  uint64
	errors    []misjudged
	watching  grid.Tick // since when what computers do is seen
}

var (
	_ pbs.System = (*System)(nil)
	_ pbs.Holder = (*System)(nil)
)

// New opens the pool over its spool. Nothing starts, and no computer is heard, before Run.
func New(config Config) (*System, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	s := &System{
		config: config.WithDefaults(), wake: make(chan struct{}, 1),
		known: map[grid.AttemptID]*entry{}, byTag: map[string]*entry{}, computers: map[string]*computer{},
	}
	s.log = s.config.Logger
	s.jobs = spool.Folder{Path: filepath.Join(config.Spool, "jobs"), Suffix: recordSuffix, Log: s.log}
	for _, dir := range []string{s.jobs.Path, filepath.Join(config.Spool, computersFolder), filepath.Join(config.Spool, codesFolder), filepath.Join(config.Spool, namesFolder), filepath.Join(config.Spool, tapesFolder)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making the spool of the pool: %w", err)
		}
	}
	var err error
	if s.identity, err = line.OpenPool(filepath.Join(config.Spool, "identity")); err != nil {
		return nil, fmt.Errorf("opening the identity of the pool: %w", err)
	}
	return s, errors.Join(s.loadComputers(), s.load())
}

// Run hears computers and gives them jobs until ctx is done; what they run goes on.
func (s *System) Run(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.Listen)
	if err != nil {
		return fmt.Errorf("listening for the computers of the pool: %w", err)
	}
	server, arriving := s.server(ctx), newArrivals(listener)
	server.ConnState = arriving.note
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(arriving, "", "") }()
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() { defer close(watched); s.watch(watching) }()
	defer func() { stop(); <-watched }()
	s.kick()
	tick := time.NewTicker(max(s.config.Interval/2, 100*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-s.wake:
			s.pass()
		case <-tick.C:
			s.mind()
			s.pass()
		case err := <-served:
			return fmt.Errorf("serving the computers of the pool: %w", err)
		case <-ctx.Done():
			server.Close()
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		}
	}
}

// kick asks for a pass; many become one.
func (s *System) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Snapshot is what the pool holds now.
func (s *System) Snapshot(context.Context) (plan.Snapshot, error) {
	s.mu.Lock()
	shot := s.snapshot(s.queue)
	l := s.look(s.sorted(), shot.At)
	s.mu.Unlock()
	shot.Forecast, shot.Cohorts = l.plan(), desks.Cohorts(l.at, l.computers, func(i int) bool { return l.away[i] == present })
	return shot, nil
}

// Attempts lists what waits and runs.
func (s *System) Attempts(context.Context) ([]grid.AttemptID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]grid.AttemptID, 0, len(s.known))
	for id := range s.known {
		ids = append(ids, id)
	}
	return ids, nil
}

var shapes = plan.Shapes{Pieces: 1, Why: "a job of a pool runs on one computer", Changing: true, None: "no computer is connected to the pool"}

// snapshot is what there is, with some of those that wait; s.mu is held.
func (s *System) snapshot(queue []*entry) plan.Snapshot {
	shot := plan.Snapshot{At: control.Now(), Site: s.config.Site, Policy: s.config.Policy, Shapes: shapes}
	computers := s.sorted()
	for _, c := range computers {
		shot.Nodes = append(shot.Nodes, s.node(c))
	}
	for i, c := range computers {
		for _, e := range c.jobs {
			shot.Running = append(shot.Running, plan.Running{
				Job: e.id.Job, Shares: []plan.Share{e.share(i)}, Start: e.started, End: e.started + e.limitOn(c),
			})
		}
	}
	slices.SortFunc(shot.Running, func(a, b plan.Running) int { return int(a.Start - b.Start) })
	may := openingsOf(computers, s.turns(computers))
	for _, e := range queue {
		shot.Waiting = append(shot.Waiting, plan.Waiting{
			Job: e.id.Job, Demand: may.narrow(e), Queue: e.Queue, Limit: grid.Tick(e.Assignment.Limit), Ineligible: e.Held,
		})
	}
	return shot
}

// share is what a job has of its computer.
func (e *entry) share(node int) plan.Share {
	p := e.whole().Chunks[0]
	if e.Demand.Exclusive {
		p.Cores = e.computer.facts.Cores
	}
	return plan.Share{Node: node, Processes: p.Processes, Cores: p.Cores, Memory: p.Memory, Resources: p.Resources}
}

// drop forgets an attempt whose control directory now says all; s.mu is held.
func (s *System) drop(e *entry) {
	delete(s.known, e.id)
	delete(s.byTag, e.tag)
	s.queue = slices.DeleteFunc(s.queue, func(o *entry) bool { return o == e })
	s.uncopyAll(e)
	s.take(e)
	s.jobs.Remove(e.id)
	s.kick()
}

// give makes a job a computer's; s.mu is held.
func (s *System) give(e *entry, c *computer) {
	for _, x := range c.copies {
		s.uncopy(x)
	}
	e.raced, e.result, e.returning, e.began, e.foreseen = e.Twice && s.distrusts(c), "", false, 0, 0
	e.computer, e.stint, e.started = c, "", control.Now()
	e.report, e.absent = line.Report{}, 0
	e.Assignment.Room = c.room(e)
	c.jobs[e.tag] = e
	c.order()
}

// room is the memory that a job has on a computer, bytes: that of its cores, and what it asked for; all where it runs alone.
func (c *computer) room(e *entry) int64 {
	p, f := e.whole().Chunks[0], c.facts
	if e.Demand.Exclusive || f.Cores < 1 {
		return f.Memory
	}
	return min(max(f.Memory/int64(f.Cores)*int64(max(p.Cores, 1)), p.Memory), f.Memory)
}

// take takes a job from the computer that has it, if any; s.mu is held.
func (s *System) take(e *entry) {
	if e.computer == nil {
		return
	}
	delete(e.computer.jobs, e.tag)
	e.computer.order()
	e.computer, e.stint = nil, ""
	e.brought.drop()
}
