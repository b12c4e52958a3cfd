package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// load plans what users do: M jobs of the brokers' users, and jobs of local users who
// know nothing of brokers.
func (w *world) load() {
	r := w.rnd.user
	for n := range w.o.Jobs {
		s := w.sites[r.IntN(len(w.sites))]
		if r.IntN(4) > 0 {
			s = w.sites[s.i/3*3] // the small ones
		}
		c := w.customer(s, n)
		at := between(r, grid.Second, arrivals)
		if w.o.Jobs-n > 0 && w.leftOut(n) {
			continue
		}
		w.after(at, c.submit)
	}
	for _, s := range w.sites {
		for range 2 + r.IntN(4) {
			l := w.foreign(s)
			w.after(between(r, 0, arrivals), func() { s.batch.add(l) })
		}
	}
}

// arrivals is how long new jobs come.
const arrivals = 12 * grid.Minute

// leftOut tells that a shrunk history goes without the n-th job.
func (w *world) leftOut(n int) bool { return w.o.Keep != nil && !w.o.Keep[n] }

func (w *world) foreign(s *site) *local {
	r := w.rnd.user
	span := between(r, 10*grid.Second, 5*grid.Minute)
	return &local{foreign: true, span: span, sub: grid.Submission{
		Limit: span * 2, Job: grid.Job{Demand: cores(1 + r.IntN(s.facts.Processes))},
	}}
}

func cores(n int) grid.Demand {
	return grid.Demand{Chunks: []grid.Chunk{{Count: n, Processes: 1, Cores: 1}}}
}

// most is how many processors a job of the users of s may ask for: what one of the sites
// that it may be sent to has, and that is not gone.
func (w *world) most(s *site) int {
	most := s.facts.Processes
	for _, m := range s.members {
		if o := w.byPeer[m.Peer]; m.Send && !o.gone {
			most = max(most, o.facts.Processes)
		}
	}
	return most
}

// customer is a user with one job.
type customer struct {
	w        *world
	s        *site
	rnd      *rand.Rand
	n, tries int
	asked    int // for its end, and its removal
	job      grid.Job
	key      string
	id       grid.JobID // once it is accepted
	waiting  bool
}

func (w *world) customer(s *site, n int) *customer {
	r := w.rnd.user
	most := w.most(s)
	j := grid.Job{
		Home: s.peer, User: grid.User{Home: s.peer, Name: "alice"}, Program: grid.Program{Executable: "/bin/true", Arguments: arguments},
		Walltime: between(r, 5*grid.Second, 2*grid.Minute), Rerunnable: r.IntN(4) == 0,
		Demand: cores(1 + r.IntN(min(most, 4))),
	}
	if r.IntN(4) == 0 {
		j.Inputs = grid.Manifest{{Path: "data", Size: 1 + r.Int64N(4<<20), Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	}
	return w.plans(&customer{w: w, s: s, n: n, job: j, rnd: r})
}

// plans plans what a user does beside handing his job in.
func (w *world) plans(c *customer) *customer {
	r := c.rnd
	c.key = fmt.Sprint("key", c.n)
	if r.Float64() < max(0.1, w.rates[UserCancels]) {
		w.after(between(r, grid.Second, arrivals+5*grid.Minute), c.cancel)
	}
	if w.rates[UserRemoves] > 0 && r.Float64() < w.rates[UserRemoves] {
		w.after(between(r, grid.Second, arrivals+5*grid.Minute), c.remove)
	}
	return c
}

// submit hands the job in; where no answer comes it is handed in again, under the same
// key; now and then twice at once.
func (c *customer) submit() {
	w, h := c.w, &c.s.host
	if c.id != "" || c.s.gone || c.tries > 200 {
		return
	}
	again := between(c.rnd, 5*grid.Second, 30*grid.Second)
	times := 1
	if c.rnd.IntN(12) == 0 {
		times = 2
	}
	for range times {
		c.tries++
		job := c.job
		job.ID = grid.NewJobID(c.s.name(), fmt.Sprintf("%016d%010d", c.n, c.tries))
		if !h.up || h.Core() == nil || c.s.disk.full {
			continue
		}
		w.truth.add(newFact(job.ID, c.s, &job))
		w.after(between(c.rnd, 0, 30), func() { c.hand(job) })
	}
	w.after(again, c.submit)
}

func (c *customer) hand(job grid.Job) {
	h := &c.s.host
	if !h.up {
		return
	}
	h.soon(func() {
		if !h.up {
			return
		}
		c.w.tell(c.s, "a user submits %s", job.ID)
		h.request(func(t core.Token) core.Request { return core.Submit{Token: t, Job: job, Key: c.key} }, c.accepted)
	})
}

// accepted: S5, one key is one job.
func (c *customer) accepted(a core.Answer) {
	w := c.w
	if a.Err != nil {
		w.tell(c.s, "the user of key %s is refused: %v", c.key, a.Err)
		return
	}
	id := a.Record.Job.ID
	f := w.truth.facts[id]
	if c.id != "" && c.id != id && !w.truth.facts[c.id].unknown {
		w.violate("S5", id, "key %s was accepted as %s, and is told to be %s", c.key, c.id, id)
		return
	}
	w.tell(c.s, "TELLS that %s is accepted", id)
	first := c.id == ""
	c.id = id
	f.accepted = true
	if first && len(c.job.Inputs) > 0 {
		w.after(between(c.rnd, 10, 5*grid.Second), c.upload)
	}
}

// upload brings the files, and says so until that is answered.
func (c *customer) upload() {
	w, h := c.w, &c.s.host
	f := w.truth.facts[c.id]
	if c.s.gone || f.told != 0 || f.unknown && !w.storm {
		return
	}
	retry := between(c.rnd, 5*grid.Second, 20*grid.Second)
	again := func() { w.after(retry, c.upload) }
	if f.unknown || !h.up || h.Core() == nil || h.frozen { // a later backup may know it again
		again()
		return
	}
	if h.view[c.id] != nil {
		c.s.disk.folder(c.id).inputs = true
	}
	answered := false
	h.request(func(t core.Token) core.Request { return core.Uploaded{Token: t, Job: c.id, Inputs: c.job.Inputs} },
		func(a core.Answer) {
			answered = a.Err == nil
			f.uploaded = f.uploaded || answered
		})
	w.after(retry, func() {
		if !answered {
			c.upload()
		}
	})
}

// forget is an administrator's word that another site will not come back.
func (s *site) forget(lost *site, fenced bool) {
	h, answered := &s.host, false
	if h.up && h.Core() != nil && !h.frozen {
		s.w.tell(s, "its administrator forgets %s, fenced: %v", lost.name(), fenced)
		s.forgot[lost.peer], s.forgetting[lost.peer] = s.w.now, true
		if fenced {
			s.fenced[lost.peer] = s.w.now
		}
		h.request(func(t core.Token) core.Request {
			return core.Forget{Token: t, Site: lost.peer, Fenced: fenced, By: "root"}
		},
			func(a core.Answer) {
				answered = a.Err == nil
				s.forgot[lost.peer], s.forgetting[lost.peer] = s.w.now, false // a slow disk may have held it up
			})
	}
	if fenced && !lost.gone { // true only now
		return
	}
	s.w.after(5*grid.Second, func() {
		if !answered && !s.gone {
			s.forget(lost, fenced)
		}
	})
}

// drain is an administrator's word; it is repeated until it is answered.
func (s *site) drain(on bool) {
	h, answered := &s.host, false
	s.drained = on
	if h.up && h.Core() != nil && !h.frozen {
		h.request(func(t core.Token) core.Request { return core.DrainRequest{Token: t, On: on} },
			func(a core.Answer) { answered = a.Err == nil })
	}
	s.w.after(5*grid.Second, func() {
		if !answered && !s.gone && s.drained == on {
			s.drain(on)
		}
	})
}

// cancel asks for the end, at any broker, until the wish is told to be recorded. Where the
// home is not asked, it hears of it from the owner, and the promise is the home's from
// then on: an owner that is gone for ever takes the wish along.
func (c *customer) cancel() {
	w, r := c.w, c.rnd
	at, to := c.s, c.s
	if n := len(c.s.members); n > 0 && r.IntN(3) == 0 {
		at = w.byPeer[c.s.members[r.IntN(n)].Peer]
	}
	again := between(r, 3*grid.Second, 20*grid.Second)
	if c.s.gone || c.asked > 200 {
		return
	}
	if f := w.truth.facts[c.id]; f != nil && w.rates[UserCancels] > 0 && r.IntN(4) == 0 {
		if at, to = w.sites[r.IntN(len(w.sites))], f.owner(); to == nil {
			to = c.s
		}
	}
	c.asked++
	recorded, asked := false, w.now
	if h := &at.host; c.id != "" && h.up && h.Core() != nil && !h.frozen {
		f := w.truth.facts[c.id]
		f.wished = true
		w.tell(at, "a user cancels %s", c.id)
		if w.storm && w.rates[UserCancels] > 0 {
			w.happens(UserCancels)
		}
		h.request(func(t core.Token) core.Request {
			if at == to {
				return core.CancelRequest{Token: t, Job: c.id, By: "alice"}
			}
			return core.Forward{Token: t, To: to.peer, Wish: core.Wish{Job: c.id, User: "alice", Ask: wire.WishCancel}}
		}, func(a core.Answer) {
			if a.Err == nil {
				recorded = true
				if f.cancel == 0 && a.Record.CancelRequested && to == c.s && c.s.recorded(c.id, asked) {
					f.cancel = w.now
				}
			}
		})
	}
	w.after(again, func() {
		if !recorded {
			c.cancel()
		}
	})
}

// recorded tells that a wish that was said to be recorded at the home is to be in the journal of s. Where s
// has had a duplicate, that one may have answered: nobody can tell s of it before somebody has met both. And s may have
// lost it, with what it had written beside, while its answer was on the way: since the wish was asked for.
func (s *site) recorded(id grid.JobID, asked grid.Tick) bool {
	r := s.disk.records[id]
	lost := slices.ContainsFunc(s.lapses, func(l lapse) bool { return l.at >= asked && (l.words || r == nil) })
	return s.copied == 0 && !lost || r != nil && r.CancelRequested
}

// owner is the site that has the job by the journals, if one has.
func (f *fact) owner() *site {
	for _, s := range f.home.w.sites {
		if _, owns := f.owning[s]; owns {
			return s
		}
	}
	return nil
}

// remove has the job deleted at its home, once it has ended.
func (c *customer) remove() {
	w, h := c.w, &c.s.host
	if c.s.gone || c.asked > 200 {
		return
	}
	c.asked++
	removed := false
	if f := w.truth.facts[c.id]; f != nil && h.up && h.Core() != nil && !h.frozen {
		h.request(func(t core.Token) core.Request { return core.RemoveRequest{Token: t, Job: c.id} }, func(a core.Answer) {
			if removed = a.Err == nil; removed {
				w.tell(c.s, "TELLS that %s is removed", c.id)
				w.happens(UserRemoves)
				f.gone(w.now)
			}
		})
	}
	w.after(between(c.rnd, 5*grid.Second, grid.Minute), func() {
		if !removed {
			c.remove()
		}
	})
}
