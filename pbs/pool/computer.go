package pool

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
	"gbroker/pbs/pool/tape"
	"gbroker/pbs/spool"
	"gbroker/plan"
	desks "gbroker/pool"

	"go.uber.org/zap"
)

// computer is one of the pool.
type computer struct {
	name         string
	facts        *line.Computer // never changed: another takes its place
	registered   bool
	registration string // of the agent that said the facts
	session      string
	seen         time.Time // its last word, or when the pool was opened
	status       line.Status
	since        time.Time // when its availability changed last
	jobs         map[string]*entry
	copies       map[string]*entry // of jobs of others, for as long as it has nothing else to do
	tallies      tallies           // of what was seen of it
	forecast     desks.Forecast    // of one of its cores
	learned      grid.Tick         // when that was made
	version      uint64            // of its orders
	news         chan struct{}     // closed when the orders change
}

// computerOf is the computer of a name, which need not have said anything yet; s.mu is held.
func (s *System) computerOf(name string) *computer {
	c := s.computers[name]
	if c == nil {
		c = &computer{name: name, facts: &line.Computer{}, seen: time.Now(), jobs: map[string]*entry{}, copies: map[string]*entry{}, news: make(chan struct{}), tallies: tallies{next: tape.Number(control.Now())}}
		s.computers[name] = c
	}
	return c
}

// order tells a computer that its orders have changed; s.mu is held.
func (c *computer) order() {
	c.version++
	close(c.news)
	c.news = make(chan struct{})
}

// ready tells that it takes jobs now.
func (s *System) ready(c *computer) bool {
	return c.registered && c.session != "" && c.status.Availability == line.Free && time.Since(c.seen) < s.absent()
}

// absence is why a computer takes no jobs now, if it takes none.
type absence int

const (
	present absence = iota // it takes jobs
	silent
	inUse
	closed
	paused
)

// String is how people are told of it.
func (a absence) String() string {
	return [...]string{present: "", silent: "not heard", inUse: "in use by its owner", closed: "closed by its owner's rules", paused: "paused by its owner"}[a]
}

// away is whether a computer takes jobs now, and why not.
func (s *System) away(c *computer) absence {
	switch {
	case s.ready(c):
		return present
	case c.session == "" || time.Since(c.seen) >= s.absent():
		return silent
	case c.status.Availability == line.Active:
		return inUse
	case c.status.Availability == line.Barred:
		return closed
	}
	return paused
}

// back is when a computer is presumed to take jobs again. Of owners at work, and of their rules, its forecast knows; a pause and a silence are
// presumed to last as long again as they have, and no shorter than until a next report.
func (s *System) back(c *computer, now grid.Tick) grid.Tick {
	var lasts time.Duration
	switch s.away(c) {
	case present:
		return now
	case silent:
		lasts = time.Since(c.seen)
	case paused:
		lasts = time.Since(c.since)
	default:
		return now + 1
	}
	return now + grid.Span(max(lasts, s.config.Interval))
}

// absent is after how long without a word a computer gets no more jobs.
func (s *System) absent() time.Duration { return 3*s.config.Interval + 2*time.Second }

// sorted are all registered computers by their names; s.mu is held.
func (s *System) sorted() (list []*computer) {
	for _, name := range slices.Sorted(maps.Keys(s.computers)) {
		if c := s.computers[name]; c.registered {
			list = append(list, c)
		}
	}
	return list
}

func (s *System) node(c *computer) plan.Node {
	away := s.away(c)
	return plan.Node{
		Name: grid.NodeName(c.name), Cores: c.facts.Cores, Memory: c.facts.Memory, Resources: c.facts.Named(), Speed: c.facts.Speed,
		Architecture: c.facts.Architecture, System: c.facts.System, Properties: c.facts.Properties, Down: away != present, Why: away.String(),
	}
}

// admits tells whether the owner of a computer lets a job onto it.
func (c *computer) admits(e *entry) bool {
	if len(c.facts.Users) > 0 && !slices.Contains(c.facts.Users, e.Assignment.Owner) {
		return false
	}
	return (!e.Assignment.Network || c.facts.Network) && e.Demand.Disk <= c.facts.Disk
}

// alone tells that nobody else's jobs are on a computer: all that run at a time do so under one account.
func (c *computer) alone(e *entry) bool {
	for _, o := range c.jobs {
		if o.Assignment.Owner != e.Assignment.Owner {
			return false
		}
	}
	return true
}

func (s *System) computerFile(name string) string {
	return filepath.Join(s.config.Spool, computersFolder, name+recordSuffix)
}

// registered is what is kept of a computer.
type registered struct {
	line.Computer
	Registration string `json:"registration,omitempty"`
}

func (s *System) saveComputer(name string, r registered) error {
	data, err := json.Marshal(r)
	if err == nil {
		err = line.WriteFile(s.computerFile(name), data)
	}
	if err != nil {
		return fmt.Errorf("%w: keeping what computer %s is: %w", grid.ErrUnavailable, name, err)
	}
	return nil
}

// loadComputers takes up the computers that have registered. A record that makes no sense is moved aside, to NAME.json.corrupt: its computer
// registers again. One that could not be read is left, and refused: it tells by what registration the jobs of its computer run.
func (s *System) loadComputers() error {
	names, err := os.ReadDir(filepath.Join(s.config.Spool, computersFolder))
	if err != nil {
		return fmt.Errorf("reading the computers of the pool: %w", err)
	}
	now := control.Now()
	for _, n := range names {
		name, is := strings.CutSuffix(n.Name(), recordSuffix)
		if !is {
			continue
		}
		r, err := registered{}, spool.ErrFolder
		if !n.IsDir() {
			r, err = s.readComputer(name)
		}
		if spool.Unread(err) != nil {
			return fmt.Errorf("what computer %s is could not be read, and is left where it is: %w; mend that (the limit of open files, the memory, the disk, the file's owner) and start again", name, err)
		}
		if err != nil {
			file := s.computerFile(name)
			s.log.Error("what a computer is cannot be read: it is moved aside, and the computer will register again", zap.String("file", file), zap.Error(err),
				zap.NamedError("moving", os.Rename(file, file+".corrupt")))
			continue
		}
		c := s.computerOf(name)
		c.facts, c.registration, c.registered, c.learned = &r.Computer, r.Registration, true, now
		c.forecast = s.foresee(name, &r.Computer, now)
	}
	return nil
}

func (s *System) readComputer(name string) (r registered, err error) {
	if err := grid.CheckName(name); err != nil {
		return r, err
	}
	data, err := os.ReadFile(s.computerFile(name))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil {
		err = r.Check()
	}
	return r, err
}
