package flow

import (
	"errors"
	"fmt"

	"gbroker/steps"
)

// Time is an instant since the beginning of a plan, or a span, in microseconds.
type Time int64

// Spans of time. Forever is later than any instant.
const (
	Millisecond Time = 1000
	Second           = 1000 * Millisecond
	Forever          = Time(steps.Never)
)

// Bounds of what is planned.
const (
	MaxVertices = 1_000_000
	MaxEdges    = 10_000_000
	MaxTime     = 100 * 366 * 24 * 3600 * Second // of one job, and of releases and offsets
	MaxSize     = int64(1) << 60                 // bytes of an edge
	MaxAmount   = int64(1) << 60
)

// Kind is what a vertex is.
type Kind uint8

// Kinds of vertices.
const (
	Job         Kind = iota
	Source           // data that is there at an executor from an instant on, or again and again
	Destination      // where data has to get to
)

// Graph is what is to be planned: vertices, and edges that carry data between them. It has no cycle.
type Graph struct {
	Vertices []Vertex
	Edges    []Edge
}

// Vertex is a job, a source or a destination.
type Vertex struct {
	Name           string
	Kind           Kind
	Configurations []Configuration // of a job: in any one of them it may run
	// Rerunnable: a job that may run more than once, at several executors too.
	Rerunnable bool
	At         int  // executor of a source or destination
	Release    Time // of a job or source: not before
	// Rate is how often a source gives data in each Per; 0 is once, at Release. Instance k is there at
	// Release + floor(k Per / Rate).
	Rate int64
	Per  Time // 0 is one second
}

// Configuration is one way to run a job.
type Configuration struct {
	Name  string
	Needs []int64 // amounts, by the platform's resources; shorter is 0 of the rest
	GPUs  int     // whole ones, any
	Run   []Time  // by executor; negative: not there
}

// Edge is data that one vertex makes and another needs. Size 0 is an order without data.
type Edge struct {
	From, To int
	Size     int64 // bytes
}

// Platform is where it is to run.
type Platform struct {
	Resources []string // what amounts are of, as cores and memory
	Executors []Executor
	Bandwidth [][]int64 // bytes a second from the first to the second; of one to itself it has no meaning
}

// Executor is a place where jobs run, several at once as far as its resources go.
type Executor struct {
	Name     string
	Capacity []int64  // by resource
	GPUs     []string // their identities, which a program is told
	Latency  Time     // before a transfer from here begins
	Taken    []Taken  // what others have of it
}

// Taken is what somebody else has of an executor for a time.
type Taken struct {
	From, To Time
	Amounts  []int64
	GPUs     []int // by index
}

// ErrInvalid is the kind of errors that say why something cannot be planned as it is.
var ErrInvalid = errors.New("not valid")

// Check says why there is no plan of the graph on the platform.
func (p *Platform) Check() error {
	if len(p.Executors) == 0 {
		return fmt.Errorf("%w: no executor", ErrInvalid)
	}
	if len(p.Bandwidth) != len(p.Executors) {
		return fmt.Errorf("%w: the bandwidths have %d rows for %d executors", ErrInvalid, len(p.Bandwidth), len(p.Executors))
	}
	for i := range p.Executors {
		e := &p.Executors[i]
		if len(e.Capacity) != len(p.Resources) {
			return fmt.Errorf("%w: executor %s has %d amounts for %d resources", ErrInvalid, e.Name, len(e.Capacity), len(p.Resources))
		}
		if e.Latency < 0 || e.Latency > MaxTime || len(p.Bandwidth[i]) != len(p.Executors) {
			return fmt.Errorf("%w: executor %s: a latency of %d us, and %d bandwidths for %d executors", ErrInvalid, e.Name, e.Latency, len(p.Bandwidth[i]), len(p.Executors))
		}
		for j, b := range p.Bandwidth[i] {
			if i != j && b <= 0 {
				return fmt.Errorf("%w: the bandwidth from %s to %s is %d: give one above 0", ErrInvalid, e.Name, p.Executors[j].Name, b)
			}
		}
		for _, t := range e.Taken {
			if err := e.checkTaken(&t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Executor) checkTaken(t *Taken) error {
	if t.From < 0 || t.To <= t.From || len(t.Amounts) > len(e.Capacity) {
		return fmt.Errorf("%w: executor %s: taken from %d to %d: an interval ends after it begins", ErrInvalid, e.Name, t.From, t.To)
	}
	for _, g := range t.GPUs {
		if g < 0 || g >= len(e.GPUs) {
			return fmt.Errorf("%w: executor %s has no GPU %d", ErrInvalid, e.Name, g)
		}
	}
	return nil
}

// can tells that a configuration can run at an executor when nobody else does.
func (p *Platform) can(c *Configuration, e int) bool {
	x := &p.Executors[e]
	if c.Run[e] < 0 || c.GPUs > len(x.GPUs) {
		return false
	}
	for r, n := range c.Needs {
		if n > x.Capacity[r] {
			return false
		}
	}
	return true
}

// Check says why the graph cannot be planned on the platform.
func (g *Graph) Check(p *Platform) error {
	if len(g.Vertices) > MaxVertices || len(g.Edges) > MaxEdges {
		return fmt.Errorf("%w: %d vertices and %d edges: at most %d and %d", ErrInvalid, len(g.Vertices), len(g.Edges), MaxVertices, MaxEdges)
	}
	for i := range g.Vertices {
		if err := g.Vertices[i].check(p); err != nil {
			return err
		}
	}
	for _, e := range g.Edges {
		if e.From < 0 || e.From >= len(g.Vertices) || e.To < 0 || e.To >= len(g.Vertices) || e.Size < 0 || e.Size > MaxSize {
			return fmt.Errorf("%w: an edge from %d to %d of %d bytes, among %d vertices", ErrInvalid, e.From, e.To, e.Size, len(g.Vertices))
		}
		if g.Vertices[e.From].Kind == Destination || g.Vertices[e.To].Kind == Source {
			return fmt.Errorf("%w: an edge from %s to %s: nothing leaves a destination or enters a source", ErrInvalid, g.Vertices[e.From].Name, g.Vertices[e.To].Name)
		}
	}
	return nil
}

func (v *Vertex) check(p *Platform) error {
	switch {
	case v.Release < 0 || v.Release > MaxTime || v.Rate < 0 || v.Per < 0 || v.Per > MaxTime:
		return fmt.Errorf("%w: %s: release %d us, %d times in %d us", ErrInvalid, v.Name, v.Release, v.Rate, v.Per)
	case v.Kind != Job && (v.At < 0 || v.At >= len(p.Executors)):
		return fmt.Errorf("%w: %s is at executor %d of %d", ErrInvalid, v.Name, v.At, len(p.Executors))
	case v.Kind != Job:
		return nil
	}
	for i := range v.Configurations {
		c := &v.Configurations[i]
		if len(c.Run) != len(p.Executors) || len(c.Needs) > len(p.Resources) || c.GPUs < 0 {
			return fmt.Errorf("%w: %s, configuration %d: %d run times and %d amounts for %d executors and %d resources", ErrInvalid, v.Name, i+1, len(c.Run), len(c.Needs), len(p.Executors), len(p.Resources))
		}
		for _, n := range c.Needs {
			if n < 0 || n > MaxAmount {
				return fmt.Errorf("%w: %s, configuration %d needs %d of something", ErrInvalid, v.Name, i+1, n)
			}
		}
		for _, t := range c.Run {
			if t > MaxTime {
				return fmt.Errorf("%w: %s, configuration %d runs for %d us: at most %d", ErrInvalid, v.Name, i+1, t, MaxTime)
			}
		}
	}
	for i := range v.Configurations {
		for e := range p.Executors {
			if p.can(&v.Configurations[i], e) {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: %s can run at none of the executors in any of its configurations", ErrInvalid, v.Name)
}
