package external

import (
	"fmt"
	"time"

	"gbroker/grid"
	"gbroker/plan"
)

// passed learns of limits that neither a command nor a reason tells: a job that stands before another in the queue, and
// asks for the same, has been passed over where the other was started and it was not. The scheduler knows of something
// that keeps it back: what runs of its user then is taken to be a limit, as where a limit is named. Where nothing of his
// runs, or the other was his too, it is a matter of the job: it counts as not considered. Nobody's cores are kept for it then.
// Who of two users goes first is known of a Ranked listing alone: elsewhere one who has used much may have to wait for one
// who has used little, and only jobs of one user are compared.
// The zero value knows of none. Whoever polls uses it, one at a time.
type passed struct {
	over   map[grid.LocalID]*passings
	limits Limits
	from   int // of the caps of the last listing, those from here on are of these limits
}

// passings is how often others were started before a job.
type passings struct {
	times int
	own   bool // one of them was of the same user
	at    time.Time
}

const (
	// oftenPassed is how often a job must have been passed over: one start may have been decided before it came.
	oftenPassed = 2
	untold      = "a limit that is not told"
	passedOver  = "others that came later and ask for the same were started before it: what keeps it back is not told"
)

// see takes what two listings, one after the other, show, and puts what is known into the second. There is no first one at the start.
func (p *passed) see(before, now *Listing, at time.Time) {
	if before != nil {
		p.count(before, now, at)
	}
	p.judge(now, at)
	p.from = len(now.Caps)
	p.limits.Put(now, at)
}

// judge takes those that were passed over to be at a limit, or not considered; who waits no more is forgotten.
func (p *passed) judge(now *Listing, at time.Time) {
	if len(p.over) == 0 {
		return
	}
	owners := now.owners()
	waits := make(map[grid.LocalID]bool, len(p.over))
	for i := range now.Jobs {
		j := &now.Jobs[i]
		over := p.over[j.Local]
		if over == nil || j.State != Queued {
			continue
		}
		waits[j.Local] = true
		if over.times < oftenPassed || over.old(at) {
			continue
		}
		key := keyOf(j)
		key.Name = untold
		if over.own || owners.under(key) == 0 {
			j.PassedOver = true
			continue
		}
		p.limits.Meet(key, Unknown, over.at)
	}
	for id := range p.over {
		if !waits[id] {
			delete(p.over, id)
		}
	}
}

// old tells that the job has not been passed over for so long that it says nothing any more.
func (o *passings) old(at time.Time) bool { return at.Sub(o.at) > believed }

// note counts that others were started before a job.
func (p *passed) note(w *waiter, at time.Time) {
	if p.over == nil {
		p.over = make(map[grid.LocalID]*passings)
	}
	o := p.over[w.now.Local]
	if o == nil || o.old(at) {
		o = &passings{}
		p.over[w.now.Local] = o
	}
	o.times, o.own, o.at = o.times+w.times, o.own || w.own, at
}

// count notes who was passed over between two listings. What started at once was never seen to wait.
func (p *passed) count(before, now *Listing, at time.Time) {
	l := p.line(before, now)
	if l.length == 0 {
		return
	}
	for i := range now.Jobs {
		k := &now.Jobs[i]
		if k.Started == 0 || k.State != Running && k.State != Done || k.Reservation != "" {
			continue
		}
		ahead, seen := l.ahead[k.Local]
		if !seen {
			ahead = l.length
		}
		if ahead == 0 {
			continue
		}
		for _, w := range l.alike[shapeOf(k)] {
			if w.place >= ahead {
				break
			}
			if precedes(w.before, k, now.Ranked) && precedes(w.now, k, now.Ranked) {
				w.times, w.own = w.times+1, w.own || w.now.User == k.User
			}
		}
	}
	for _, alike := range l.alike {
		for _, w := range alike {
			if w.times > 0 {
				p.note(w, at)
			}
		}
	}
}

// line is the head of a queue: the jobs that waited in one listing, wait in the next, and are at no limit that is told.
type line struct {
	alike  map[string][]*waiter // by what they ask for
	ahead  map[grid.LocalID]int
	length int
}

// waiter is such a job, in both listings.
type waiter struct {
	place       int // how many are before it
	before, now *Job
	times       int // others were started before it
	own         bool
}

// maxEarlier bounds with how many jobs at the head of a queue each that starts is compared.
const maxEarlier = 1000

// line makes it. Ahead of a job that did not wait to be considered is nobody.
func (p *passed) line(before, now *Listing) line {
	waits := make(map[grid.LocalID]*Job)
	for i := range now.Jobs {
		if now.Jobs[i].State == Queued {
			waits[now.Jobs[i].Local] = &now.Jobs[i]
		}
	}
	l := line{alike: make(map[string][]*waiter), ahead: make(map[grid.LocalID]int, len(before.Jobs))}
	used := before.used()
	for i := range before.Jobs {
		j := &before.Jobs[i]
		if j.State != Queued || !j.NeverStarted || j.Reservation != "" {
			l.ahead[j.Local] = 0
			continue
		}
		l.ahead[j.Local] = l.length
		if still := waits[j.Local]; still != nil && l.length < maxEarlier && !p.meets(before, used, j) {
			shape := shapeOf(j)
			l.alike[shape] = append(l.alike[shape], &waiter{place: l.length, before: j, now: still})
			l.length++
		}
	}
	return l
}

// shapeOf is equal for jobs that ask for the same.
func shapeOf(j *Job) string { return fmt.Sprintf("%q %d %+v", j.Queue, j.Limit, j.Demand) }

// precedes tells that a scheduler which could start both of two jobs, that ask for the same, would not start the second alone. A priority
// of 0 is one that is not told.
func precedes(j, k *Job, ranked bool) bool {
	if j.Priority < k.Priority || j.Submitted >= k.Submitted || max(j.Submitted, j.Eligible) >= max(k.Submitted, k.Eligible) {
		return false
	}
	return ranked && k.Priority > 0 || j.User == k.User && j.Account == k.Account && j.QOS == k.QOS
}

// used is what runs under each of the caps.
func (l *Listing) used() []int64 {
	used := make([]int64, len(l.Caps))
	for i := range l.Jobs {
		j := &l.Jobs[i]
		if j.State != Running {
			continue
		}
		for _, c := range j.Caps {
			used[c] += j.weight(l.Caps[c].Cores)
		}
	}
	return used
}

// meets tells that a limit which the system tells keeps a job back.
func (p *passed) meets(l *Listing, used []int64, j *Job) bool {
	for _, c := range j.Caps {
		if c < p.from && used[c]+need(j, l.Caps[c]) > l.Caps[c].Most { // those from there on are our own word
			return true
		}
	}
	return false
}

// need is what a job that waits would count for a limit.
func need(j *Job, of plan.Cap) int64 {
	if of.Cores {
		return int64(j.Demand.Cores())
	}
	return 1
}
