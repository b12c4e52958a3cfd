package pool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

// record is a job in the spool, SPOOL/jobs/TAG.json.
type record struct {
	Assignment    line.Assignment
	Work, Control string
	Expected, Age grid.Tick
	Walltime      grid.Tick // asked for, on the reference; 0: the limit
	Priority      int32
	Arrived       grid.Tick
	Sequence      uint64
	Demand        grid.Demand
	Queue         grid.QueueName
	Deadline      grid.Tick
	Rerunnable    bool
	Held          bool
	Twice         bool   // it may run on several computers at once
	Wrote         string // the platform of the computer that brought its last checkpoint
}

// entry is a job that waits or runs.
type entry struct {
	record
	id       grid.AttemptID
	tag      string
	computer *computer // whose it is; nil of one that waits
	stint    string    // of the computer's hold, once that has the start token
	count    int       // computers that had the token
	began    grid.Tick // when its program was started; 0 is not yet, or not known
	foreseen grid.Tick // when it was to end, by the forecast of then
	started  grid.Tick // when it was assigned, then when its program was started
	killed   bool      // its end is wanted
	report   line.Report
	absent   int                  // reports of its computer in a row that do not name it
	refusals map[string]time.Time // computers that would not have it, until when
	ending   bool                 // its end is being written: nothing more of it is taken
	granting sync.Mutex           // one asks for its token at a time
	brought  brought

	of        *entry   // of a copy, the entry of its job
	copies    []*entry // of a job
	raced     bool     // it has or had copies since its computer began: what that brings lies apart
	result    string   // of its computer, which is held to be compared; "" is none
	returning bool     // what its program left has begun to come: it gets no copy
}

// waiting tells that no computer has it.
func (e *entry) waiting() bool { return e.computer == nil }

// rank orders the queue: older first.
func (e *entry) rank(o *entry) int {
	return cmp.Or(cmp.Compare(e.Arrived-e.Age, o.Arrived-o.Age), cmp.Compare(e.Sequence, o.Sequence))
}

func newEntry(r record) *entry {
	id := r.Assignment.ID()
	return &entry{record: r, id: id, tag: id.Tag()}
}

const recordSuffix = ".json"

// spool writes a job's file.
func (s *System) spool(e *entry) error {
	data, err := json.Marshal(&e.record)
	if err != nil {
		return fmt.Errorf("spooling %s: %w", e.id, err)
	}
	return s.jobs.Write(e.id, data)
}

// load takes up the spool.
func (s *System) load() error {
	if err := s.jobs.Load(s.loadJob); err != nil {
		return err
	}
	slices.SortFunc(s.queue, (*entry).rank)
	return nil
}

func (s *System) loadJob(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	e := newEntry(r)
	if name != s.jobs.File(e.id) || !filepath.IsAbs(r.Control) || !filepath.IsAbs(r.Work) || r.Assignment.Limit < 1 {
		return fmt.Errorf("it is of %s and belongs to another file, or is not whole", e.id)
	}
	s.sequence = max(s.sequence, r.Sequence)
	token, taken, err := control.ReadToken(r.Control, e.id)
	if err != nil {
		// It cannot start while that is so.
		s.log.Error("nothing is known of a spooled job", zap.Stringer("attempt", e.id), zap.Error(err))
	}
	if taken && token.Holder == control.Broker {
		s.jobs.Remove(e.id)
		return nil
	}
	if _, ended, err := control.ReadEnd(r.Control, e.id); ended && err == nil {
		s.jobs.Remove(e.id)
		return nil
	}
	if taken {
		s.resume(e)
	}
	s.known[e.id], s.byTag[e.tag] = e, e
	if e.waiting() {
		s.queue = append(s.queue, e)
	}
	return nil
}

// resume finds out, of a job whose token is taken, which computer has it. s.mu is held, or not needed.
func (s *System) resume(e *entry) {
	if asked, err := control.KillAsked(e.Control, e.id); asked || err != nil {
		e.killed = true
	}
	g, there, err := control.ReadGrant(e.Control, e.id)
	if err != nil || !there {
		return // nobody was told to start: it waits on
	}
	s.give(e, s.computerOf(g.Computer))
	e.stint, e.count, e.started = g.Stint, g.Count, g.At
	e.raced = e.raced || e.wasRaced()
	if run, ran, err := control.ReadRun(e.Control, e.id); ran && err == nil {
		e.started, e.began = run.At, run.At
	}
}
