package pool

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
)

// still is a pool that does not run: passes are made by its test.
type still struct {
	*testing.T
	*System
}

func newStill(t *testing.T) *still {
	s, err := New(Config{Site: grid.Site{Name: "here", Speed: 1}, Spool: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	return &still{t, s}
}

// add gives the pool a computer that takes jobs.
func (s *still) add(name string, f line.Computer) *computer {
	f.Cores, f.Speed, f.Memory, f.Disk, f.Dedicated = max(f.Cores, 1), max(f.Speed, 1), 1<<34, 1<<40, true
	c := s.computerOf(name)
	c.facts, c.registered, c.session, c.seen, c.status.Availability = &f, true, "session", time.Now(), line.Free
	c.forecast = s.foresee(name, &f, control.Now())
	return c
}

// wait puts a job of one hour into the queue; within is until its deadline, 0 for none.
func (s *still) wait(user string, within grid.Tick, resources ...grid.Resource) *entry {
	s.sequence++
	r := record{
		Demand:   grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1, Resources: resources}}},
		Walltime: grid.Hour, Arrived: grid.Tick(s.sequence), Sequence: s.sequence,
	}
	if within > 0 {
		r.Deadline = control.Now() + within
	}
	r.Assignment = line.Assignment{Attempt: fmt.Sprint(s.sequence), Job: fmt.Sprint("here.", s.sequence), Number: 1, Owner: user, Limit: int64(grid.Hour)}
	e := newEntry(r)
	s.queue = append(s.queue, e)
	return e
}

// end lets what a computer has end.
func (s *still) end(c *computer) {
	for _, e := range c.jobs {
		s.take(e)
	}
}

// withdrawn takes a job out of the queue.
func (s *still) withdrawn(e *entry) *entry {
	s.queue = slices.DeleteFunc(s.queue, func(o *entry) bool { return o == e })
	return e
}
