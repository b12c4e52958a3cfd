package external

import (
	"reflect"
	"slices"
	"time"

	"gbroker/grid"
)

// passed learns of limits that neither a command nor a reason tells: a job that stands before another in the queue, and
// asks for the same, has been passed over where the other was started and it was not. The scheduler knows of something
// that keeps it back: what runs of its user then is taken to be a limit, as where a limit is named. Where nothing of his
// runs, or the other was his too, it is a matter of the job: it counts as not considered. Nobody's cores are kept for it then.
// The zero value knows of none. A poller's lock guards it.
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

// see takes what two listings, one after the other, show, and puts what is known into the second.
func (p *passed) see(before, now *Listing, at time.Time) {
	p.count(before, now, at)
	waits := make(map[grid.LocalID]bool, len(p.over))
	for i := range now.Jobs {
		j := &now.Jobs[i]
		over := p.over[j.Local]
		if over == nil || j.State != Queued {
			continue
		}
		waits[j.Local] = true
		if over.times < oftenPassed || at.Sub(over.at) > believed {
			continue
		}
		key := LimitKey{Name: untold, User: j.User, Account: j.Account, QOS: j.QOS, Queue: j.Queue}
		if over.own || now.under(key) == 0 {
			j.State, j.Reason = Held, passedOver
			continue
		}
		p.limits.Meet(key, Unknown, now, over.at)
	}
	for id := range p.over {
		if !waits[id] {
			delete(p.over, id)
		}
	}
	p.from = len(now.Caps)
	p.limits.Put(now, at)
}

// count notes who was passed over between two listings. What started at once was never seen to wait.
func (p *passed) count(before, now *Listing, at time.Time) {
	waits := make(map[grid.LocalID]bool)
	for i := range now.Jobs {
		if now.Jobs[i].State == Queued {
			waits[now.Jobs[i].Local] = true
		}
	}
	var earlier []*Job // those that wait still, in the order of the queue
	ahead := make(map[grid.LocalID]int)
	for i := range before.Jobs {
		j := &before.Jobs[i]
		ahead[j.Local] = len(earlier)
		switch {
		case j.State != Queued || !j.NeverStarted || j.Reservation != "":
			ahead[j.Local] = 0 // nobody
		case waits[j.Local] && len(earlier) < maxEarlier && !p.meets(before, j):
			earlier = append(earlier, j)
		}
	}
	for i := range now.Jobs {
		k := &now.Jobs[i]
		if k.Started == 0 || k.State != Running && k.State != Done || k.Reservation != "" {
			continue
		}
		n, seen := ahead[k.Local]
		if !seen {
			n = len(earlier)
		}
		for _, j := range earlier[:n] {
			if precedes(j, k) {
				p.note(j, k, at)
			}
		}
	}
}

// note counts that one job was started before another.
func (p *passed) note(j, k *Job, at time.Time) {
	if p.over == nil {
		p.over = make(map[grid.LocalID]*passings)
	}
	o := p.over[j.Local]
	if o == nil {
		o = &passings{}
		p.over[j.Local] = o
	}
	o.times, o.own, o.at = o.times+1, o.own || j.User == k.User, at
}

// maxEarlier bounds with how many jobs at the head of a queue each that starts is compared.
const maxEarlier = 1000

// precedes tells that the first of two jobs, which stands before the other, would start no later by any policy.
func precedes(j, k *Job) bool {
	return j.Queue == k.Queue && j.Limit == k.Limit && j.Priority >= k.Priority && j.Submitted < k.Submitted &&
		reflect.DeepEqual(j.Demand, k.Demand)
}

// meets tells that a limit which the system tells keeps a job back.
func (p *passed) meets(l *Listing, j *Job) bool {
	for _, c := range j.Caps {
		if c >= p.from {
			continue // our own word
		}
		most, running := l.Caps[c], int64(0)
		for i := range l.Jobs {
			if k := &l.Jobs[i]; k.State == Running && slices.Contains(k.Caps, c) {
				running += k.weight(most.Cores)
			}
		}
		need := int64(1)
		if most.Cores {
			need = int64(j.Demand.Cores())
		}
		if running+need > most.Most {
			return true
		}
	}
	return false
}
