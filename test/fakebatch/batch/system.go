// Package batch is the machine under both faces of the fake batch system: virtual nodes, a
// queue, a scheduler, advance reservations, and jobs that are real processes of this
// machine. It knows neither commands nor their words.
//
// Scheduling is strict first come, first served, with backfill: a waiting job that
// cannot start now gets the earliest start that it could have, and later jobs start
// only where they do not move it.
package batch

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// Config of a system.
type Config struct {
	Face  string // torque or openpbs
	Dir   string // of all its files
	Host  string // the server's name
	Nodes []Node
	// Queues beside the face's own.
	Queues []Queue
	// First is the number of the first job; 0 is 1.
	First int
	// Default is the queue of jobs that name none.
	Default string
	// History is how long an ended job is known.
	History time.Duration
	// Grace is from TERM to KILL, when a job is deleted or is over its walltime.
	Grace time.Duration
	// Managers, and Operators, may act on others' jobs; Schedulers may make Maui reservations; nil is everyone.
	Managers, Operators, Schedulers []string
	// Private shows jobs to their owners, operators and managers alone (query_other_jobs = False).
	Private bool
	// Accounts are this machine's: jobs run as them, where this process is root. Else users are names alone.
	Accounts bool
	// NoRoot refuses submissions by root, as the real ones do.
	NoRoot bool
	// Loopback writes localhost into the nodes' file of a job, so that an MPI start works.
	Loopback bool
	// MaxRun is how many jobs of one user run at a time; 0 is any number.
	MaxRun int
	// NoReservations is a system without reservations: TORQUE without Maui.
	NoReservations bool
	// Looks is how often the scheduler looks at its queue besides when a job is submitted (RMPOLLINTERVAL); 0 is whenever
	// anything has changed.
	Looks time.Duration
	// NodeCount is resources_available.nodect: how many nodes a job may ask for, where there are fewer.
	NodeCount int
	// MultiReq lets Maui start jobs of pieces of several sizes (ENABLEMULTIREQJOBS TRUE).
	MultiReq bool
	// ExactNodes puts each node of a request on a node of its own (Maui's
	// JOBNODEMATCHPOLICY EXACTNODE).
	ExactNodes bool
}

// Node is one virtual node.
type Node struct {
	Name       string
	Cores      int
	Memory     string // 16gb
	Properties []string
	Offline    bool
	Down       bool
	Unlisted   bool // by TORQUE: it was made just now, and has not been sent the list of all nodes
	Note       string
	Since      time.Time // of its state
}

// Up reports that jobs may start there.
func (n *Node) Up() bool { return !n.Offline && !n.Down && !n.Unlisted }

// Queue is one queue.
type Queue struct {
	Name     string
	Disabled bool // takes no jobs
	Stopped  bool // starts none
	MaxWall  time.Duration
	MaxNodes int
	Wall     time.Duration // of jobs that ask for none
	Users    []string      // who may submit; nil is everyone
	// Fresh is one just made, of which neither was ever set: it takes and starts nothing.
	// Untyped is one that was not even said to be of a kind. OpenPBS shows them so.
	Fresh, Untyped bool
	Route          []string // where a routing queue sends its jobs: to the first that takes them
}

// Takes and Starts tell what a queue does.
func (q *Queue) Takes() bool { return !q.Disabled && !q.Fresh && !q.Untyped }

// Starts tells that its jobs are considered, or sent on.
func (q *Queue) Starts() bool { return !q.Stopped && !q.Fresh && !q.Untyped }

// System is one batch system. What it holds is read and changed under Lock.
type System struct {
	sync.Mutex
	Config
	Nodes        []*Node
	Queues       []*Queue
	Jobs         []*Job // by age
	Reservations []*Reservation
	Next         int // the next number of a job
	Faults       Faults

	asked   bool      // the scheduler is to look now
	looked  time.Time // it did last
	wake    chan struct{}
	running sync.WaitGroup
}

// New makes a system; Run makes it work.
func New(c Config) *System {
	s := &System{Config: c, Next: max(1, c.First), wake: make(chan struct{}, 1)}
	for i := range c.Nodes {
		n := c.Nodes[i]
		n.Since = time.Now()
		s.Nodes = append(s.Nodes, &n)
	}
	for i := range c.Queues {
		q := c.Queues[i]
		s.Queues = append(s.Queues, &q)
	}
	return s
}

// Run schedules until ctx is done, then ends all jobs and returns when none is left.
func (s *System) Run(ctx context.Context) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.endAll()
			s.running.Wait()
			return
		case <-s.wake:
		case <-tick.C:
		}
		s.Lock()
		s.cycle(time.Now())
		s.Unlock()
	}
}

// Wake asks for a scheduling cycle at once.
func (s *System) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// cycle is one turn: what is over is dropped, what waits and fits is started.
func (s *System) cycle(now time.Time) {
	s.forget(now)
	s.turnReservations(now)
	s.turnLost(now)
	if s.Faults.Down || s.Faults.Unscheduled {
		return
	}
	s.releaseDependents(now)
	if !s.asked && now.Sub(s.looked) < s.Looks {
		return
	}
	s.asked, s.looked = false, now
	for _, p := range s.schedule(now) {
		if p.starts {
			s.start(p.job, p.parts, now)
		}
	}
}

// forget drops the jobs whose history is over.
func (s *System) forget(now time.Time) {
	keep := s.Jobs[:0]
	for _, j := range s.Jobs {
		if !j.Ended() || now.Before(j.Finished.Add(s.history())) {
			keep = append(keep, j)
		}
	}
	clear(s.Jobs[len(keep):])
	s.Jobs = keep
}

func (s *System) history() time.Duration {
	if s.Faults.Forgetful {
		return 0
	}
	return s.History
}

// Node finds a node by name.
func (s *System) Node(name string) *Node {
	for _, n := range s.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// Queue finds a queue by name.
func (s *System) Queue(name string) *Queue {
	for _, q := range s.Queues {
		if q.Name == name {
			return q
		}
	}
	return nil
}

// Cores is the number of cores of all nodes.
func (s *System) Cores() int {
	n := 0
	for _, node := range s.Nodes {
		n += node.Cores
	}
	return n
}

// Job finds a job by its full identifier.
func (s *System) Job(id string) *Job {
	for _, j := range s.Jobs {
		if j.ID == id {
			return j
		}
	}
	return nil
}

// Manager reports whether a user may act on what is not theirs.
func (s *System) Manager(user string) bool { return user == "root" || contains(s.Managers, user) }

// Operator reports whether a user sees all of what is not theirs.
func (s *System) Operator(user string) bool { return s.Manager(user) || contains(s.Operators, user) }

// Number takes the next number; jobs and reservations share one counter.
func (s *System) Number() int {
	n := s.Next
	s.Next++
	return n
}

// UseOn is the number of cores of a node that running jobs hold.
func (s *System) UseOn(node string) int {
	n := 0
	for _, j := range s.Jobs {
		for _, p := range j.Parts {
			if p.Node == node && j.Runs() && !j.Suspended {
				n += len(p.Cores)
			}
		}
	}
	return n
}

// On lists the jobs that run on a node.
func (s *System) On(node string) []*Job {
	var out []*Job
	for _, j := range s.Jobs {
		if j.Runs() && j.on(node) {
			out = append(out, j)
		}
	}
	return out
}

func (s *System) path(kind, id string) string {
	return filepath.Join(s.Dir, kind, fmt.Sprintf("%s.%s", id, kind))
}

func contains(list []string, one string) bool {
	for _, s := range list {
		if s == one {
			return true
		}
	}
	return false
}
