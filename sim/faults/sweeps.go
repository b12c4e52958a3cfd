package faults

import (
	"encoding/json"
	"fmt"

	"gbroker/broker/core"
	"gbroker/grid"
)

// Sweeps: groups that make their jobs from a template, in a window so small that they wait for their turn.
//
//	S13  each number is made once: what is saved of it is one job from its beginning to its end, and none
//	     behind those that have entered has a record, unless a lost part of the journal, or a second broker under
//	     the same name, had made it

// sweepWindow is how many jobs of a sweep are under way at a site.
const sweepWindow = 3

// sweep is the document of a template here.
type sweep struct {
	Walltime   grid.Tick
	Rerunnable bool
	Files      bool
}

// sweepers is the number of the first patron with one, behind those with other groups.
const sweepers = 100

// loadSweeps plans sweeps of the brokers' users, in one history of three.
func (w *world) loadSweeps() {
	r := w.rnd.sweep
	if r.IntN(3) > 0 || w.o.Keep != nil {
		return
	}
	s := w.sites[r.IntN(len(w.sites))]
	p := &patron{w: w, s: s, at: w.asker(s), rnd: r, n: sweepers, sweep: true}
	j := grid.Job{
		Home: s.peer, User: grid.User{Home: s.peer, Name: "carol"}, Walltime: between(r, 5*grid.Second, grid.Minute), Rerunnable: r.IntN(4) == 0, Demand: cores(1),
	}
	if r.IntN(3) == 0 {
		j.Inputs = grid.Manifest{{Path: "data", Size: 1 + r.Int64N(1<<20), Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	}
	for range 2 + r.IntN(3*sweepWindow) {
		p.jobs = append(p.jobs, j)
	}
	w.after(between(r, grid.Second, arrivals), p.submit)
	if r.IntN(3) == 0 {
		w.after(between(r, grid.Second, arrivals+5*grid.Minute), p.cancel)
	}
}

// expand makes the jobs of a template, all alike.
func (w *world) expand(t grid.Template) (core.Expansion, error) {
	var d sweep
	if err := json.Unmarshal([]byte(t.Document), &d); err != nil {
		return nil, fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	return func(n int) (grid.Job, error) {
		j := grid.Job{
			Program: grid.Program{Executable: "/bin/true", Arguments: arguments}, Walltime: d.Walltime + grid.Tick(n)*grid.Second, Rerunnable: d.Rerunnable, Demand: cores(1),
		}
		if d.Files {
			j.Inputs = t.Inputs
		}
		return j, nil
	}, nil
}

// record is the record of a job here, or what its group has of it.
func (d *disk) recordOf(id grid.JobID) *grid.Record {
	if r := d.records[id]; r != nil {
		return r
	}
	name, n := id.Group()
	if g := d.groups[name]; g != nil && n > 0 && !g.Removed && (n > g.Entered || g.Of(d.page(name, n), n).State != 0) {
		r := g.Outline(n, g.Of(d.page(name, n), n))
		return &r
	}
	return nil
}

// turnToCome: the job is one of a sweep that its home makes when others have ended, which are under way.
func (f *fact) turnToCome() bool {
	d := &f.home.disk
	name, n := f.id.Group()
	g := d.groups[name]
	if g == nil || n <= g.Entered {
		return false
	}
	for k := 1; k <= g.Entered; k++ {
		if r := d.records[name.Job(k)]; r != nil && !r.State.Terminal() {
			return true
		}
	}
	return false
}

// page has what became of the n-th job of a group; nil is nothing of any in it.
func (d *disk) page(g grid.GroupID, n int) *grid.Results {
	r, _ := d.beside[besideKey{grid.KindResults, grid.ResultsKey(g, (n-1)/grid.ResultsPage)}].(*grid.Results)
	return r
}

// pageShown: readers see what became of jobs that had no record.
func (t *truth) pageShown(s *site, p *grid.Results) {
	g := s.disk.groups[p.Group]
	if g == nil {
		return
	}
	for n := p.Page*grid.ResultsPage + 1; n <= min(g.Jobs, (p.Page+1)*grid.ResultsPage); n++ {
		if id := p.Group.Job(n); s.disk.records[id] == nil && g.Of(p, n).State != 0 {
			t.shown(s, id, s.disk.recordOf(id))
		}
	}
}

// sweepHolds checks S10, S11 and S13 of a group with a template.
func (t *truth) sweepHolds(s *site, g *grid.Group) {
	over := 0
	for n := 1; n <= g.Jobs; n++ {
		id := g.ID.Job(n)
		r, of := s.disk.records[id], g.Of(s.disk.page(g.ID, n), n)
		if of.State != 0 {
			over++
		}
		switch {
		case r == nil && of.State == 0 && n <= g.Entered:
			s.w.violate("S10", id, "%s counts %d jobs of %s as entered, and does not have its job %d", s.name(), g.Entered, g.ID, n)
		case r != nil && n > g.Entered && !t.facts[id].lostAt(s) && !t.facts[id].madeByOther(s):
			s.w.violate("S13", id, "%s has made job %d of %s, of which %d have entered", s.name(), n, g.ID, g.Entered)
		case r != nil && r.State.Terminal() && of.State != r.State && n <= g.Entered:
			s.w.violate("S11", id, "%s has ended as %s, and %s has it as %s", id, r.State, g.ID, of.State)
		case r != nil && !r.State.Terminal() && of.State != 0 && of.State != grid.Lost:
			s.w.violate("S13", id, "%s has ended as %s, and is made again", id, of.State)
		default:
			continue
		}
		return
	}
	if over != g.Ends.Sum() || (over == g.Jobs) != (g.Ended != 0) {
		s.w.violate("S11", g.ID.Job(1), "%d of %d jobs of %s have ended, it counts %d, and its end is told to be at %d", over, g.Jobs, g.ID, g.Ends.Sum(), g.Ended)
	}
}

// template is what the patron hands in, where it is a sweep.
func (p *patron) template(id grid.GroupID) *grid.Template {
	d := sweep{Walltime: p.jobs[0].Walltime, Rerunnable: p.jobs[0].Rerunnable, Files: len(p.jobs[0].Inputs) > 0}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // numbers only
	}
	return &grid.Template{Group: id, Document: string(text), Inputs: p.jobs[0].Inputs}
}
