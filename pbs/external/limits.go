package external

import (
	"os/user"
	"slices"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/plan"
)

// Limits are those of a scheduler's own configuration that no command tells to everybody: of the jobs of a user, an
// account, a quality of service. A job that meets one waits, with a reason that names it. What was met is believed for
// a while: the next job will meet it too. The zero value knows none.
type Limits struct {
	mu  sync.Mutex
	met map[LimitKey]met
}

// LimitKey is one limit, and whose jobs it counts: those that agree with it in all that is not "".
type LimitKey struct {
	Name    string // in the system's words
	User    string
	Account string
	QOS     string
	Queue   grid.QueueName
	Cores   bool // it counts cores, not jobs
}

type met struct {
	most int64
	at   time.Time // it was met last
}

const (
	// believed is for how long a limit counts that nobody meets: it may have been changed.
	believed = time.Hour
	// maxLimits bounds them.
	maxLimits = 1000
)

// Unknown is the bound of a limit of which the system tells only that it was met: it is what runs under it.
const Unknown = -1

// Meet notes that a job waits for a limit. What runs under one that is Unknown is counted in the listings that it is put into.
func (l *Limits) Meet(key LimitKey, most int64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old, known := l.met[key]
	if !known && len(l.met) >= maxLimits {
		return
	}
	if most == Unknown {
		// The reason is as old as the scheduler's last pass, and something may have ended since: the most
		// that was seen to run is what may run.
		most = max(1, old.most)
	}
	if l.met == nil {
		l.met = make(map[LimitKey]met)
	}
	l.met[key] = met{most, now}
}

// Put puts the limits that count now into a listing.
func (l *Limits) Put(to *Listing, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.met) == 0 {
		return
	}
	own := ""
	if me, err := user.Current(); err == nil {
		own = me.Username
	}
	all := to.owners()
	for key, m := range l.met {
		if now.Sub(m.at) > believed {
			delete(l.met, key)
			continue
		}
		if under := all.under(key); under > m.most { // more runs than was thought to be allowed
			m.most = under
			l.met[key] = m
		}
		to.cap(key, m.most, own, all)
	}
	for i := range to.Jobs {
		j := &to.Jobs[i]
		j.Caps = append(j.Caps, all[keyOf(j)].caps...)
	}
}

// owners are the jobs of a listing by whose they are: all of one user, account, quality of service and queue count for the same limits.
type owners map[LimitKey]*owned

// owned is what runs of them, and the limits that they fall under.
type owned struct {
	jobs, cores int64
	caps        []int
}

// keyOf is whose a job is.
func keyOf(j *Job) LimitKey {
	return LimitKey{User: j.User, Account: j.Account, QOS: j.QOS, Queue: j.Queue}
}

func (l *Listing) owners() owners {
	all := make(owners)
	for i := range l.Jobs {
		j := &l.Jobs[i]
		of := all[keyOf(j)]
		if of == nil {
			of = &owned{}
			all[keyOf(j)] = of
		}
		if j.State == Running {
			of.jobs += j.weight(false)
			of.cores += j.weight(true)
		}
	}
	return all
}

// under is what runs and counts for a limit.
func (all owners) under(key LimitKey) (n int64) {
	for who, of := range all {
		switch {
		case !key.counts(who):
		case key.Cores:
			n += of.cores
		default:
			n += of.jobs
		}
	}
	return n
}

// cap adds a limit, to those who fall under it.
func (l *Listing) cap(key LimitKey, most int64, own string, all owners) {
	at := len(l.Caps)
	l.Caps = append(l.Caps, plan.Cap{Most: most, Cores: key.Cores, All: key.User == "" && key.Account == "" && key.QOS == "", Why: key.String()})
	mine := false
	for who, of := range all {
		if key.counts(who) {
			of.caps = append(of.caps, at)
		}
		mine = mine || who.User == own && key.Account == who.Account && key.QOS == who.QOS
	}
	if key.User != "" && key.User != own || key.Account+key.QOS != "" && !mine {
		return
	}
	if key.Queue == "" {
		l.Ours = append(l.Ours, at)
		return
	}
	if i := slices.IndexFunc(l.Queues, func(q plan.Queue) bool { return q.Name == key.Queue }); i >= 0 {
		l.Queues[i].Ours = append(l.Queues[i].Ours, at)
	}
}

// weight is what a job that runs counts for a limit of cores, or of jobs.
func (j *Job) weight(cores bool) (n int64) {
	if !cores {
		return 1
	}
	for _, p := range j.Places {
		n += int64(p.Cores)
	}
	return n
}

// counts tells that the jobs of somebody count for the limit.
func (k LimitKey) counts(j LimitKey) bool {
	return (k.User == "" || k.User == j.User) && (k.Account == "" || k.Account == j.Account) && (k.QOS == "" || k.QOS == j.QOS) &&
		(k.Queue == "" || k.Queue == j.Queue)
}

// String is the limit for people.
func (k LimitKey) String() string {
	text := k.Name
	for _, part := range [][2]string{{"user", k.User}, {"account", k.Account}, {"QOS", k.QOS}, {"queue", string(k.Queue)}} {
		if part[1] != "" {
			text += " of " + part[0] + " " + part[1]
		}
	}
	return text
}
