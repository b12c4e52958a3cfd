package faults

import (
	"gbroker/grid"
)

// Options say which history is run.
type Options struct {
	Seed    uint64
	Brokers int
	Jobs    int
	Profile Profile
	Broken  Broken
	Trace   func(line string) // nil: none

	// What a shrunk history goes without.
	Without [kinds]bool  // kinds of faults
	Most    int          // faults after the first so many; 0 is any number
	Keep    map[int]bool // jobs that are handed in; nil is all

	aim *point // instead of the one that the seed aims at
}

// Violation is a property that did not hold.
type Violation struct {
	Seed     uint64 `json:"seed"`
	Property string `json:"property"`
	Step     int    `json:"step"` // steps of Cores before it
	Text     string `json:"text"`

	Job grid.JobID `json:"-"` // that it is about, if about one
}

// Result is what a history came to.
type Result struct {
	Seed      uint64
	Steps     int // of Cores
	Faults    [kinds]int
	Jobs      int // accepted
	Moved     int // of these, started elsewhere than at home
	Coverage  map[string]int
	Violation *Violation

	struck int
}

// Struck is the number of faults.
func (r Result) Struck() int { return r.struck }

// Run runs one history to its end, or to the first violation.
func Run(o Options) Result {
	r, _ := run(o)
	return r
}

func run(o Options) (Result, *world) {
	w := newWorld(o)
	for _, s := range w.sites {
		w.after(between(w.rnd.build, 0, 2*grid.Second), s.host.boot)
	}
	w.load()
	w.loadGroups()
	w.loadTerms()
	w.loadSweeps()
	w.loadCoordinators()
	w.loadWide()
	w.loadFlows()
	w.plan()
	w.storm = true
	w.until(genesis+stormLength, nil)
	w.storm = false
	w.until(w.now+faultLength, nil)
	w.storms = w.now
	w.bury()
	w.after(faultLength, w.bury)   // what was heard of only then
	w.after(2*faultLength, w.bury) // whom jobs wait for since
	w.tell(nil, "the faults are over")
	w.calm()
	w.settle()
	for _, f := range w.truth.sorted() {
		if f.accepted {
			w.result.Jobs++
		}
		if f.moved {
			w.result.Moved++
		}
	}
	return w.result, w
}

// Bounds of what may still take time when the faults are over.
const (
	endBound    = 4 * grid.Hour    // S1: until every job has ended
	queueBound  = 20 * grid.Minute // S9: until a waiting job is in a queue
	settleBound = 45 * grid.Minute // S8: until nothing is left over
)

// calm lets the world go on until every job has ended.
func (w *world) calm() {
	begun := w.now
	for w.result.Violation == nil {
		w.until(w.now+grid.Minute, nil)
		w.queued()
		e, open := w.openFlow(), w.open()
		if e == nil && len(open) == 0 || w.result.Violation != nil {
			return
		}
		for _, f := range open {
			if w.now > begun+endBound+f.longer() {
				w.unended(f, w.now-begun)
				return
			}
		}
		if e != nil && w.now > begun+endBound+w.setBack() {
			w.violate("S18", "", "%s has not ended %v s after the last fault", e.id, (w.now - begun).Seconds())
		}
	}
}

func (w *world) unended(f *fact, since grid.Tick) {
	r := f.home.disk.recordOf(f.id)
	if r == nil {
		w.violate("S1", f.id, "%s has not ended %v s after the last fault, and its home does not know it", f.id, since.Seconds())
		return
	}
	w.violate("S1", f.id, "%s has not ended %v s after the last fault: at its home it is %s", f.id, since.Seconds(), sayRecord(f.home, r))
}

// longer is how much longer than others a job may take. What is not to start before an instant waits for that so much longer as the
// clock of its home was set back, and what depends on it too; what has nodes reserved, or a deadline, as any clock was.
func (f *fact) longer() grid.Tick {
	switch {
	case f.isWhole() || f.isPart() || f.task != nil || f.asked.terms.Deadline != 0:
		return f.home.w.setBack()
	case f.asked.is:
		return f.home.clock.back
	}
	return 0
}

// setBack is by how much a clock was set back, at most.
func (w *world) setBack() (back grid.Tick) {
	for _, s := range w.sites {
		back = max(back, s.clock.back)
	}
	return back
}

// open lists the jobs that have to end and have not.
func (w *world) open() (list []*fact) {
	for _, f := range w.truth.sorted() {
		if f.accepted && !f.removed && f.told == 0 && !w.excused(f) {
			list = append(list, f)
		}
	}
	return list
}

// queued checks S9 once a minute: a job that waits is in a queue, and not held by us.
func (w *world) queued() {
	for _, s := range w.sites {
		for _, l := range s.batch.jobs {
			if f := w.truth.facts[l.sub.ID.Job]; f != nil && !l.ours {
				f.queued = w.now
			}
		}
	}
	for _, f := range w.truth.sorted() {
		if f.keptBack() || f.turnToCome() || f.isWhole() && !f.inOneSite() {
			f.queued = w.now
		}
		bound := queueBound
		if f.asked.terms.Deadline != 0 { // what can end nowhere by then waits for that instant with its owner
			bound += f.longer()
		}
		if f.accepted && !f.removed && f.told == 0 && len(f.starts) == 0 && !w.excused(f) && w.now-max(f.queued, w.storms) > bound {
			w.violate("S9", f.id, "%s waits, and has been in no queue for %.0f s", f.id, (w.now - max(f.queued, w.storms)).Seconds())
			return
		}
	}
}
