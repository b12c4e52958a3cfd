package torque

import (
	"os/user"
	"regexp"
	"slices"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// Maui tells a limit of a user or a class where a job meets it, and nowhere else: "violates active HARD MAXJOB limit of 2
// for user alice (R: 1, U: 2)". What was met is believed for a while: the next job will meet it too.

// violation is the reason of such a job in showq -b.
var violation = regexp.MustCompile(`^violates active (?:HARD|SOFT) (MAXJOB|MAXPROC) limit of (\d{1,9}) for (user|class) (\S+)`)

// believed is for how long a limit counts that nobody meets: maui.cfg may have changed.
const believed = time.Hour

// limits are those that jobs have met.
type limits struct {
	mu  sync.Mutex
	met map[limitKey]limit
}

type limitKey struct{ policy, kind, name string }

type limit struct {
	most int64
	at   time.Time // it was met last
}

// maxLimits bounds them.
const maxLimits = 1000

// meet notes the limit that is told in the reason of a job; false where that is another reason.
func (l *limits) meet(reason string, now time.Time) bool {
	m := violation.FindStringSubmatch(reason)
	if m == nil {
		return false
	}
	most, err := number(m[2], 0, 1<<31)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := limitKey{m[1], m[3], m[4]}
	if _, known := l.met[key]; known || len(l.met) < maxLimits {
		if l.met == nil {
			l.met = make(map[limitKey]limit)
		}
		l.met[key] = limit{most, now}
	}
	return true
}

// put puts the limits that count now into a listing.
func (l *limits) put(to *external.Listing, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := ""
	if me, err := user.Current(); err == nil {
		own = me.Username
	}
	for key, met := range l.met {
		if now.Sub(met.at) > believed {
			delete(l.met, key)
			continue
		}
		at := len(to.Caps)
		to.Caps = append(to.Caps, plan.Cap{
			Most: met.most, Cores: key.policy == "MAXPROC", All: key.kind == "class",
			Why: key.policy + " of " + key.kind + " " + key.name + " in maui.cfg",
		})
		for i := range to.Jobs {
			j := &to.Jobs[i]
			if key.kind == "user" && j.User == key.name || key.kind == "class" && string(j.Queue) == key.name {
				j.Caps = append(j.Caps, at)
			}
		}
		if key.kind == "user" && key.name == own {
			to.Ours = append(to.Ours, at)
		}
		if i := slices.IndexFunc(to.Queues, func(q plan.Queue) bool { return key.kind == "class" && q.Name == grid.QueueName(key.name) }); i >= 0 {
			to.Queues[i].Ours = append(to.Queues[i].Ours, at)
		}
	}
}
