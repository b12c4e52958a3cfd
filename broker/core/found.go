package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

// What is found of a job or a group, as it travels: instants as spans, and no more than a message holds.

// fill answers with what was found.
func (c *relay) fill(m *wire.Response, w *Wish, f *Found) {
	m.Outcome, m.Certain = wire.OutcomeDone, f.Certain
	if w.Group != "" {
		m.About = c.aboutOf(f)
	} else {
		s := c.statusOf(&f.Record)
		if m.Status = &s; f.Record.Job.ID != w.Job {
			m.New = f.Record.Job.ID
		}
	}
	for _, e := range latest(f.Events, wire.MaxEvents) {
		m.Events = append(m.Events, wire.Event{At: c.ago(e.At), State: e.State, Site: e.Site, Epoch: e.Epoch, Why: e.Why})
	}
	for _, d := range latest(f.Decisions, wire.MaxDecisions) {
		m.Decisions = append(m.Decisions, wire.Decision{At: c.ago(d.At), Epoch: d.Epoch, Chosen: d.Chosen, Candidates: d.Candidates, Unmoved: d.Unmoved, Stays: d.Stays})
	}
	m.Decisions = latest(m.Decisions, wire.FittingDecisions(m.Decisions))
}

// aboutOf is a group with as many of the jobs found as a message holds.
func (c *relay) aboutOf(f *Found) *wire.GroupStatus {
	g := &f.Group
	s := &wire.GroupStatus{
		Name: g.Name, User: g.User, Jobs: g.Jobs, Entered: g.Entered, AtOnce: g.AtOnce, Coming: g.Coming, Counts: f.Counts, Failing: g.Failing,
		Submitted: c.ago(g.Submitted), Ended: c.ago(g.Ended), Cancel: g.CancelRequested, Next: f.Next,
	}
	for i := range f.Jobs {
		_, n := f.Jobs[i].Job.ID.Group()
		of := c.statusOf(&f.Jobs[i])
		of.Outputs, of.Output, of.Error = nil, "", "" // asked for one by one
		s.Members = append(s.Members, wire.Member{Number: n, Status: of})
	}
	if fit := max(1, wire.FittingMembers(s.Members)); fit < len(s.Members) { // one alone fits always
		s.Members = s.Members[:fit]
		s.Next = s.Members[fit-1].Number
	}
	return s
}

func (c *relay) statusOf(r *grid.Record) wire.Status {
	s := wire.Status{
		Name: r.Job.Name, User: r.Job.User, Home: r.Job.Home, Owner: r.Owner, State: r.State, Epoch: r.Epoch,
		Demand: r.Job.Demand, Walltime: r.Job.Walltime, WalltimeDefaulted: r.Job.WalltimeDefaulted, Queue: r.Job.Queue,
		Submitted: c.ago(r.Submitted), Started: c.ago(r.Started), Finished: c.ago(r.Finished), Ended: c.ago(r.Ended),
		ContactLost: c.ago(r.ContactLost), Predicted: c.ahead(r.PredictedStart), Estimate: c.ahead(r.EstimateNow),
		End: r.End, ExitCode: r.ExitCode, HasExit: r.HasExit, Signal: r.Signal, Reason: r.Why(), Cancel: r.CancelRequested, Usage: r.Usage, Local: r.Local,
		Outline: len(r.Job.Demand.Chunks) == 0,
	}
	s.Output, s.Error = r.Job.Streams()
	if r.End != 0 && (r.Owner == c.cfg.Self || r.State.Terminal()) {
		s.Outputs = r.Outputs
	}
	return s
}

// found is what an answer says.
func (c *relay) found(m wire.Response) Found {
	f := Found{Certain: m.Certain}
	if m.Status != nil {
		id := m.Job
		if m.New != "" {
			id = m.New
		}
		f.Record = c.recordOf(id, *m.Status)
	}
	if s := m.About; s != nil {
		f.Group = grid.Group{
			ID: m.Group, Name: s.Name, User: s.User, Jobs: s.Jobs, Entered: s.Entered, AtOnce: s.AtOnce, Coming: s.Coming, Failing: s.Failing,
			Submitted: c.instant(s.Submitted), Ended: c.instant(s.Ended), CancelRequested: s.Cancel,
		}
		f.Counts, f.Next = s.Counts, s.Next
		for state, n := range s.Counts {
			if grid.State(state).Terminal() {
				f.Group.Ends[state] = n
			}
		}
		for _, one := range s.Members {
			f.Jobs = append(f.Jobs, c.recordOf(m.Group.Job(one.Number), one.Status))
		}
	}
	for _, e := range m.Events {
		f.Events = append(f.Events, grid.Event{At: c.instant(e.At), State: e.State, Site: e.Site, Epoch: e.Epoch, Why: e.Why})
	}
	for _, d := range m.Decisions {
		f.Decisions = append(f.Decisions, grid.Decision{At: c.instant(d.At), Epoch: d.Epoch, Chosen: d.Chosen, Candidates: d.Candidates, Unmoved: d.Unmoved, Stays: d.Stays})
	}
	return f
}

// recordOf is what is known of a job that has no record here.
func (c *relay) recordOf(id grid.JobID, s wire.Status) grid.Record {
	at := func(in wire.In) grid.Tick {
		if !in.Known {
			return 0
		}
		return c.now + in.Span
	}
	streams := grid.Program{Output: s.Output, Error: s.Error}
	var outputs []grid.Output
	for _, name := range []string{s.Output, s.Error} {
		if name != "" {
			outputs = append(outputs, grid.Output{Path: name, Target: name})
		}
	}
	return grid.Record{
		Job: grid.Job{
			Program: streams, Outputs: outputs,
			ID: id, Name: s.Name, Home: s.Home, User: s.User, Demand: s.Demand,
			Walltime: s.Walltime, WalltimeDefaulted: s.WalltimeDefaulted, Queue: s.Queue,
		},
		State:           s.State,
		Submitted:       c.instant(s.Submitted),
		Ended:           c.instant(s.Ended),
		EstimateNow:     at(s.Estimate),
		Reason:          s.Reason,
		CancelRequested: s.Cancel,
		Tenure:          grid.Tenure{Owner: s.Owner, Epoch: s.Epoch, ContactLost: c.instant(s.ContactLost)},
		Run:             grid.Run{Started: c.instant(s.Started), Finished: c.instant(s.Finished), End: s.End, ExitCode: s.ExitCode, HasExit: s.HasExit, Signal: s.Signal, Outputs: s.Outputs, Usage: s.Usage, Local: s.Local},
		AtHome:          grid.AtHome{PredictedStart: at(s.Predicted)},
	}
}
