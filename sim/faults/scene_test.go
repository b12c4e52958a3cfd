package faults

import (
	"testing"

	"gbroker/grid"
)

// scene is a world of three sites that know each other, a job of the first one, and a
// clock at 1000 s.
type scene struct {
	w       *world
	a, b, c *site
	f       *fact
	term    uint32 // of what is judged; 0 is the first
}

func newScene(t *testing.T) *scene {
	t.Helper()
	w := newWorld(Options{Seed: 1, Brokers: 3, Profile: profile(t, "calm")})
	w.now = genesis + 1000*grid.Second
	x := &scene{w: w, a: w.sites[0], b: w.sites[1], c: w.sites[2]}
	for _, s := range w.sites {
		s.members = nil
		s.facts.Processes = 4
	}
	for _, s := range w.sites {
		for _, o := range w.sites {
			if o != s {
				w.join(s, o, true)
			}
		}
	}
	x.f = newFact("job", x.a, &grid.Job{Demand: cores(1)})
	x.f.accepted = true
	w.truth.facts["job"] = x.f
	return x
}

// at is an instant, in seconds since the beginning.
func at(s int) grid.Tick { return genesis + grid.Tick(s)*grid.Second }

// began is a start at a site, in some term.
func began(when int, where *site, term uint32) start {
	return start{at: at(when), queued: at(when), where: where, id: grid.AttemptID{Job: "job", Epoch: grid.Epoch{Term: term}, Attempt: 1}}
}

// lost notes that a site has lost what it wrote between two instants.
func (s *site) lost(since, until int, files bool) {
	s.lapses = append(s.lapses, lapse{since: at(since), at: at(until), files: files, words: files})
}

// cutOff: a job was given away, and what its home wrote from 50 to 80 is gone after a power cut; somebody who had seen that was
// heard at an instant, if at all; and the job is submitted again.
func (x *scene) cutOff(given, heard, queued int) (first, second start) {
	x.f.given[grid.Epoch{Term: 1}] = giving{at(given), x.a, x.b}
	l := lapse{since: at(50), at: at(80), words: true, unnoticed: true}
	if heard > 0 {
		l.heard = at(heard)
	}
	x.a.lapses = []lapse{l}
	second = began(950, x.a, 1)
	second.queued = at(queued)
	first = began(100, x.b, 1)
	first.queued = at(70)
	return first, second
}

// waited: a job was given to b, which its home has lost as in cutOff, and then to c, where it was queued soon, at an instant, and started; then b starts it.
func (x *scene) waited(queued int) (first, second start) {
	_, second = x.cutOff(60, 0, 65)
	x.gave(1, 60, x.a, x.b)
	x.gave(2, queued-10, x.a, x.c)
	first = began(940, x.c, 1)
	first.queued, first.id.Epoch.Hop = at(queued), 2
	second.where, second.id.Epoch.Hop = x.b, 1
	return first, second
}

// gave notes a handoff, at a hop of the first term.
func (x *scene) gave(hop uint32, when int, by, to *site) {
	x.f.given[grid.Epoch{Term: 1, Hop: hop}] = giving{at(when), by, to}
}

// bothWrote: the home and b have saved something of the job, which b has had for a while.
func (x *scene) bothWrote(when int) {
	x.f.had[x.b] = at(60)
	x.f.wrote[x.a], x.f.wrote[x.b] = []grid.Tick{at(when)}, []grid.Tick{at(when)}
	x.f.turned[x.a], x.f.turned[x.b] = x.f.wrote[x.a], x.f.wrote[x.b]
}

// watches: the home has saved that a site has the job, at a term.
func (x *scene) watches(s *site, term uint32) {
	x.f.had[s], x.f.last[x.a] = at(60), turn{role: grid.Watching, owner: s.peer, epoch: grid.Epoch{Term: term}}
}

// lostOf is a record of the job that is LOST, with a site, at a term.
func (x *scene) lostOf(s *site, term uint32) []grid.Change {
	return []grid.Change{grid.Saved(&grid.Record{Job: grid.Job{ID: "job"}, State: grid.Lost, Tenure: grid.Tenure{Role: grid.Watching, Owner: s.peer, Epoch: grid.Epoch{Term: term}}})}
}

// forgets: the administrator of a site forgets another, and its home saves that the job is LOST, as with a third, at a term.
func (x *scene) forgets(by, s *site, term uint32) {
	by.forgetting[s.peer] = true
	x.w.truth.saved(x.a, []grid.Change{grid.Saved(&grid.Record{Job: grid.Job{ID: "job"}, State: grid.Lost, Tenure: grid.Tenure{Role: grid.Owning, Owner: x.a.peer, Epoch: grid.Epoch{Term: term}}})})
	by.forgetting[s.peer] = false
}

// forgetsSuccessor: the home has raised the term, and saves that the job is LOST while its administrator forgets b.
func (x *scene) forgetsSuccessor(attempt uint32) {
	x.a.forgetting[x.b.peer] = true
	x.w.truth.saved(x.a, []grid.Change{grid.Saved(&grid.Record{
		Job: grid.Job{ID: "job"}, State: grid.Lost, Tenure: grid.Tenure{Role: grid.Owning, Owner: x.a.peer, Epoch: grid.Epoch{Term: 1}},
		Run: grid.Run{Attempt: attempt}, AtHome: grid.AtHome{RaisedFrom: grid.Epoch{Term: 1, Hop: 7}},
	})})
	x.a.forgetting[x.b.peer] = false
}

// forgetsInOne: the home saves a job as LOST with a site, which it has offered it to at the third hop; in the same save it has let go of that handoff.
func (x *scene) forgetsInOne(s *site, owned uint32) {
	x.w.truth.saved(x.a, []grid.Change{grid.Saved(&grid.Record{
		Job: grid.Job{ID: "job"}, State: grid.Lost,
		Tenure: grid.Tenure{
			Role: grid.Watching, Owner: s.peer, Epoch: grid.Epoch{Term: 1, Hop: owned},
			Handoff: grid.Handoff{To: s.peer, Epoch: grid.Epoch{Term: 1, Hop: 3}},
		},
	})})
}

// passedOn: b has given the job on to c, as their home knows, and c has it in some role.
func (x *scene) passedOn(role grid.Role) {
	x.watches(x.c, 1)
	x.f.had[x.b] = at(60)
	x.c.disk.records["job"] = &grid.Record{Job: grid.Job{ID: "job"}, Tenure: grid.Tenure{Role: role, Owner: x.b.peer}}
}

// forgetsGiver: the home saves that the job is LOST with c, to which b gave it, while its administrator forgets b.
func (x *scene) forgetsGiver() {
	x.a.forgetting[x.b.peer] = true
	x.w.truth.saved(x.a, []grid.Change{grid.Saved(&grid.Record{Job: grid.Job{ID: "job"}, State: grid.Lost, Tenure: grid.Tenure{
		Role: grid.Watching, Owner: x.c.peer, Epoch: grid.Epoch{Term: 1, Hop: 2}, Certificates: []grid.Certificate{{To: x.b.peer}, {To: x.c.peer}},
	}})})
	x.a.forgetting[x.b.peer] = false
}
