package workflow

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"gbroker/flow"
	"gbroker/grid"
)

// Periodic is how often a workflow runs: instance k begins floor(k Per / Rate) microseconds after the first, so that no period drifts.
type Periodic struct {
	Rate     int64         // times in each Per
	Per      time.Duration // 0 is a second
	Count    int           // instances in all; 0 is until it is cancelled
	Deadline time.Duration // of each, from its beginning; 0 is none
	// Folder, at the home, is watched in place of a rate: each file that appears in it begins an instance, whose tasks know it As an input.
	Folder, As string
	Reserve    bool // the slots of its instances, one period ahead
}

// Bounds of a periodic workflow: the least time between two instances, and how many there may be.
const (
	leastPeriod  = 100 * time.Millisecond
	leastHeld    = time.Minute // where slots are reserved
	maxInstances = flow.MaxInstances
)

// Check says what is wrong.
func (p *Periodic) Check() error {
	switch {
	case p.Folder != "" || p.As != "":
		return p.checkFolder()
	case p.Rate < 1 || p.Rate > 1e6 || p.Per < 0 || p.Per > 366*24*time.Hour || p.Period() < leastPeriod:
		return fmt.Errorf("%d times in %s: at most once in %s", p.Rate, p.per(), leastPeriod)
	case p.Reserve && p.Period() < leastHeld:
		return fmt.Errorf("%d times in %s, with reservations: whole nodes are held for each task, for minutes: at most once in %s", p.Rate, p.per(), leastHeld)
	case p.Count < 0 || p.Count > maxInstances || p.Deadline < 0:
		return fmt.Errorf("%d instances with a deadline of %s: 0 to %d", p.Count, p.Deadline, maxInstances)
	}
	return nil
}

func (p *Periodic) checkFolder() error {
	switch {
	case !isPath(p.Folder) || !isPath(p.As):
		return fmt.Errorf("the folder %.80q, whose files are known as %.80q: relative paths, without .. or control characters, of at most %d bytes and 255 between two slashes, both", p.Folder, p.As, grid.MaxPath)
	case p.Reserve:
		return errors.New("a folder is watched: nobody knows when files come, and nothing can be reserved for them")
	case p.Rate != 0 || p.Per != 0:
		return fmt.Errorf("a folder is watched, and there are %d times in %s: one of the two", p.Rate, p.per())
	case p.Count < 0 || p.Count > maxInstances || p.Deadline < 0:
		return fmt.Errorf("%d instances with a deadline of %s: 0 to %d", p.Count, p.Deadline, maxInstances)
	}
	return nil
}

// isPath tells whether a file system takes a name, below a folder.
func isPath(name string) bool {
	long := func(part string) bool { return len(part) > 255 }
	return filepath.IsLocal(name) && len(name) <= grid.MaxPath && strings.IndexFunc(name, unicode.IsControl) < 0 && !slices.ContainsFunc(strings.Split(name, "/"), long)
}

func (p *Periodic) per() time.Duration {
	if p.Per == 0 {
		return time.Second
	}
	return p.Per
}

// Period is the mean time between two instances.
func (p *Periodic) Period() time.Duration { return p.per() / time.Duration(max(p.Rate, 1)) }

// Instant is when an instance begins, after the first.
func (p *Periodic) Instant(k int) time.Duration {
	v := flow.Vertex{Rate: p.Rate, Per: micro(p.per())}
	return spanOf(v.Instant(k))
}

// Last is the number of the last instance that has begun so long after the first.
func (p *Periodic) Last(since time.Duration) int {
	per := max(uint64(micro(p.per())), 1)
	high, low := bits.Mul64(uint64(max(since, 0)/time.Microsecond)+1, uint64(p.Rate))
	low, carry := bits.Sub64(low, 1, 0)
	high -= carry
	if high >= per {
		return math.MaxInt - 1 // more than any count
	}
	n, _ := bits.Div64(high, low, per)
	return int(min(n, math.MaxInt-1))
}

// plannedInstances is how many instances are planned to see whether the sites sustain the rate.
const plannedInstances = 40

// PlanPeriodic plans the instances of a workflow beside each other: by instance and task, where it runs, and how. An error that wraps
// flow.ErrOverload names what is short.
func (w *Workflow) PlanPeriodic(places []Place, every *Periodic) (sites [][]PlannedTask, err error) {
	if err := w.checkResources(); err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	places = slices.Clone(places)
	for i := range places {
		places[i].Overhead = 0 // it delays an instance, and takes no cores
	}
	g, p := w.Graph(places, nil)
	source := len(w.Tasks) // the files: what a task that needs no other waits for, is its period
	g.Vertices[source].Rate, g.Vertices[source].Per = every.Rate, micro(every.per())
	fed := make([]bool, len(g.Vertices))
	for _, e := range g.Edges {
		fed[e.To] = true
	}
	for i := range w.Tasks {
		if !fed[i] {
			g.Edges = append(g.Edges, flow.Edge{From: source, To: i})
		}
	}
	n := plannedInstances
	if every.Count > 0 {
		n = min(n, every.Count)
	}
	list, err := flow.PlanPeriodic(g, p, flow.Pipeline{Count: n, Deadline: micro(every.Deadline)})
	if err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	for _, i := range list {
		row := make([]PlannedTask, len(w.Tasks))
		for k := range row {
			at := i.Placements[k]
			row[k] = PlannedTask{Name: w.Tasks[k].Name, Site: places[at.Executor].Name, Way: at.Configuration, Start: spanOf(at.Start), End: spanOf(at.End)}
		}
		sites = append(sites, row)
	}
	return sites, nil
}
