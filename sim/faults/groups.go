package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// Groups of jobs, and what must hold of them:
//
//	S10  a group is whole or absent: in each state of its home's journal, its record and those of
//	     all of its jobs are there, or none
//	S11  its end is told once, when all of its jobs have ended, and stays
//	S12  once its cancel is told to be recorded, that of each of its jobs is
//
// The second chance for a member of S10 is the home that has lost a part of its journal: it may
// learn single jobs of a group again from other sites, and never makes a group of them.

// patron is a user who hands in a group.
type patron struct {
	w        *world
	s        *site
	at       *site // that is asked for its end
	rnd      *rand.Rand
	n, tries int
	sweep    bool // its jobs are made from a template: all are as the first, but for their walltime
	jobs     []grid.Job
	id       grid.GroupID // once it is accepted
}

// loadGroups plans groups of the brokers' users, in one history of three.
func (w *world) loadGroups() {
	r := w.rnd.group
	if r.IntN(3) > 0 || w.o.Keep != nil {
		return
	}
	for n := range 1 + r.IntN(2) {
		s := w.sites[r.IntN(len(w.sites))]
		p := &patron{w: w, s: s, at: w.asker(s), rnd: r, n: n}
		for range 2 + r.IntN(4) {
			j := grid.Job{
				Home: s.peer, User: grid.User{Home: s.peer, Name: "carol"}, Program: grid.Program{Executable: "/bin/true", Arguments: arguments},
				Walltime: between(r, 5*grid.Second, grid.Minute), Rerunnable: r.IntN(4) == 0, Demand: cores(1),
			}
			if r.IntN(3) == 0 {
				j.Inputs = grid.Manifest{{Path: "data", Size: 1 + r.Int64N(1<<20), Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
			}
			p.jobs = append(p.jobs, j)
		}
		w.after(between(r, grid.Second, arrivals), p.submit)
		if r.IntN(3) == 0 {
			w.after(between(r, grid.Second, arrivals+5*grid.Minute), p.cancel)
		}
	}
}

// submit hands the group in, under one key, until that is answered.
func (p *patron) submit() {
	if p.id != "" || p.s.gone || p.tries > 200 {
		return
	}
	p.tries++
	if p.s.reaches() && !p.s.disk.full {
		e := core.SubmitGroup{Group: grid.Group{
			ID:   grid.NewGroupID(p.s.name(), fmt.Sprintf("G%015d%010d", p.n, p.tries)),
			User: p.jobs[0].User, Key: fmt.Sprint("group", p.n),
		}}
		for i, j := range p.jobs {
			j.ID = e.Group.ID.Job(i + 1)
			if !p.sweep {
				e.Jobs = append(e.Jobs, j)
			}
			p.w.truth.add(newFact(j.ID, p.s, &j))
		}
		if p.sweep {
			e.Template, e.Group.Jobs, e.Group.Template = p.template(e.Group.ID), len(p.jobs), grid.Hash{byte(p.n + 1)}
		}
		p.w.tell(p.s, "a user submits the group %s", e.Group.ID)
		p.s.host.request(func(t core.Token) core.Request { e.Token = t; return e }, p.accepted)
	}
	p.w.after(between(p.rnd, 5*grid.Second, 30*grid.Second), p.submit)
}

func (p *patron) accepted(a core.Answer) {
	if a.Err != nil {
		return
	}
	p.w.tell(p.s, "TELLS that the group %s is accepted", a.Group.ID)
	p.id = a.Group.ID
	for n := range a.Group.Jobs {
		p.w.truth.facts[p.id.Job(n+1)].accepted = true
	}
	p.upload()
}

// upload brings the files of all jobs that wait for them, as often as they do: a broker that was
// set back has forgotten that they came.
func (p *patron) upload() {
	w := p.w
	if p.s.gone {
		return
	}
	if g := p.s.disk.groups[p.id]; p.sweep && g != nil && slices.Contains(g.Coming, 0) && p.s.reaches() {
		id, files := p.id.Template(), p.jobs[0].Inputs
		p.s.disk.folder(id).inputs = true
		p.s.host.request(func(t core.Token) core.Request { return core.Uploaded{Token: t, Job: id, Inputs: files} }, func(core.Answer) {})
	}
	for i, j := range p.jobs {
		id := p.id.Job(i + 1)
		r := p.s.host.view[id]
		if p.sweep {
			break
		}
		if len(j.Inputs) == 0 || !p.s.reaches() || r == nil || r.State != grid.StageIn {
			continue
		}
		p.s.disk.folder(id).inputs = true
		p.s.host.request(func(t core.Token) core.Request { return core.Uploaded{Token: t, Job: id, Inputs: j.Inputs} }, func(core.Answer) {})
	}
	if w.now-genesis < stormLength+queueBound {
		w.after(between(p.rnd, 5*grid.Second, 20*grid.Second), p.upload)
	}
}

// cancel asks for the end of the group until that is told to be recorded.
func (p *patron) cancel() {
	w := p.w
	if p.s.gone || p.tries > 400 {
		return
	}
	p.tries++
	recorded, asked := false, w.now
	p.at = p.at.orHome(p.s)
	if p.id != "" && p.at.reaches() {
		for n := range p.jobs {
			w.truth.facts[p.id.Job(n+1)].wished = true
		}
		w.tell(p.at, "a user cancels the group %s", p.id)
		p.s.ask(p.at, func(t core.Token) core.Request { return core.CancelGroup{Token: t, Group: p.id, By: "carol"} },
			core.Wish{Group: p.id, User: "carol", Ask: wire.WishCancel},
			func(a core.Answer) {
				// A home may have lost what it has said by the time that it is heard elsewhere.
				lost := slices.ContainsFunc(p.s.lapses, func(l lapse) bool { return l.at >= asked })
				if recorded = a.Err == nil; recorded && (p.at == p.s || !lost && p.s.copied == 0) {
					w.truth.groupCancelled(p.s, p.id, len(p.jobs))
				}
			})
	}
	w.after(between(p.rnd, 3*grid.Second, 20*grid.Second), func() {
		if !recorded {
			p.cancel()
		}
	})
}

// groupCancelled checks S12: readers are told what is durable.
func (t *truth) groupCancelled(s *site, id grid.GroupID, jobs int) {
	for n := range jobs {
		f, r := t.facts[id.Job(n+1)], s.disk.recordOf(id.Job(n+1))
		switch {
		case r == nil || f.torn():
		case !r.CancelRequested && !r.State.Terminal() && r.End == 0:
			s.w.violate("S12", f.id, "the cancel of %s is told to be recorded, and %s knows nothing of it", id, f.id)
		case f.cancel == 0 && r.CancelRequested:
			f.cancel = s.w.now
		}
	}
}

// groupsHold checks S10 and S11 of what the journal of s holds now.
func (t *truth) groupsHold(s *site) {
	for _, id := range sortedGroups(s.disk.groups) {
		g := s.disk.groups[id]
		if g.Made() {
			if t.sweepHolds(s, g); s.w.result.Violation != nil {
				return
			}
			continue
		}
		over := 0
		for n := 1; n <= g.Jobs; n++ {
			r := s.disk.records[id.Job(n)]
			if r == nil && !g.Removed {
				s.w.violate("S10", id.Job(n), "%s has the group %s, and not its job %d", s.name(), id, n)
				return
			}
			if r == nil || r.State.Terminal() {
				over++
			}
		}
		if (over == g.Jobs) != (g.Ended != 0) {
			s.w.violate("S11", id.Job(1), "%d of %d jobs of %s have ended, and its end is told to be at %d", over, g.Jobs, id, g.Ended)
		}
	}
	for id := range s.disk.records {
		name, n := id.Group()
		if f := t.facts[id]; n > 0 && f != nil && !f.isPart() && f.home == s && s.disk.groups[name] == nil && !f.lostAt(s) {
			s.w.violate("S10", id, "%s has the job %s of a group, and not the group", s.name(), id)
		}
	}
}

// groupsSaved checks the groups of which something was saved.
func (t *truth) groupsSaved(s *site, changes []grid.Change) {
	for _, c := range changes {
		if _, n := grid.JobID(c.Key).Group(); n > 0 && !partOf(c) || c.Kind == grid.KindGroup || c.Kind == grid.KindResults {
			t.groupsHold(s)
			return
		}
	}
}

// partOf tells a change of a part of a job over several sites, whose name is as that of a job of a group.
func partOf(c grid.Change) bool {
	_, r, is := c.Job()
	return is && r != nil && r.Job.Part != nil
}

// changesGroup checks S11 before a change is durable: an end that was told stays as it is.
func (t *truth) changesGroup(s *site, changes []grid.Change) {
	for _, c := range changes {
		if c.Kind != grid.KindGroup {
			continue
		}
		before := s.disk.groups[grid.GroupID(c.Key)]
		g, _ := c.Record.(*grid.Group)
		s.w.tell(s, "saves the group %s: %+v", c.Key, g)
		if before != nil && before.Ended != 0 && g != nil && g.Ended != before.Ended {
			s.w.violate("S11", before.ID.Job(1), "the end of %s was told to be at %d, and is told again", before.ID, before.Ended)
		}
	}
}

func sortedGroups(all map[grid.GroupID]*grid.Group) []grid.GroupID {
	list := make([]grid.GroupID, 0, len(all))
	for id := range all {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}
