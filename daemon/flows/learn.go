package flows

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/flow/enact"
)

// What a Keeper learns of the tasks that have ended: how long those of a kind run, and how long a site takes beside that, from when a task is
// handed in until its end is known at home.

// experience is how a user's tasks of one kind ran, at speed 1.
type experience struct {
	ran, n time.Duration // in all, and how many they were
	// Of those that had said how long they take: how long they ran, and what they had said.
	told, said time.Duration
	// The least that one ran, and that one ran of what it had said; 0 is that there was none.
	least time.Duration
	part  float64
}

// expects is how long another one runs, which has said how long, or 0; 0 is not known.
func (x *experience) expects(said time.Duration) time.Duration {
	switch {
	case x == nil || x.n == 0:
		return 0
	case said > 0 && x.said > 0:
		return time.Duration(float64(said) * float64(x.told) / float64(x.said))
	}
	return x.ran / x.n
}

// atLeast is the same by the one that took the least.
func (x *experience) atLeast(said time.Duration) time.Duration {
	switch {
	case x == nil:
		return 0
	case said > 0 && x.part > 0:
		return time.Duration(float64(said) * min(x.part, 1))
	}
	return x.least
}

func (x *experience) add(ran, said time.Duration) {
	x.ran, x.n = x.ran+ran, x.n+1
	if x.n == 1 || ran < x.least {
		x.least = ran
	}
	if said <= 0 {
		return
	}
	if part := float64(ran) / float64(said); x.said == 0 || part < x.part {
		x.part = part
	}
	x.told, x.said = x.told+ran, x.said+said
}

// kindOf is a name without digits, and the configuration.
func kindOf(name string, way *api.FlowWay) string {
	name = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, name)
	return name + "\n" + way.Name
}

// learned is how a user's tasks ran, by kind.
func (k *Keeper) learned(ctx context.Context, user string) map[string]*experience {
	speed, all := map[string]float64{}, map[string]*experience{}
	if views, err := k.config.Jobs.Sites(ctx); err == nil {
		for _, p := range api.PlacesOf(views) {
			speed[p.Name] = p.Speed
		}
	}
	for _, f := range k.all() {
		if f.spec.User != user {
			continue
		}
		f.mu.Lock()
		for i := range f.rec.Tasks {
			if t := &f.rec.Tasks[i]; t.State == enact.Done && t.Ended > t.Started && t.Started > 0 && speed[t.Site] > 0 {
				kind := kindOf(f.parts[i].Name, f.way(i))
				if all[kind] == nil {
					all[kind] = &experience{}
				}
				all[kind].add(time.Duration(float64(spanOf(t.Ended-t.Started))*speed[t.Site]), f.way(i).Said())
			}
		}
		f.mu.Unlock()
	}
	return all
}

// overhead is what a site took beside the run of a task that has ended; 0 is not known, as it may have waited for cores: of this workflow's
// tasks that came before it, or of others by the estimates that the plan was made with. Its spans are each by one clock. f.mu is held.
func (f *flow) overhead(i int) time.Duration {
	t := &f.rec.Tasks[i]
	at := slices.IndexFunc(f.planned, func(p workflow.Place) bool { return p.Name == t.Site })
	if at < 0 || t.State != enact.Done || t.Handed == 0 || t.Started == 0 {
		return 0
	}
	cores := 0
	for k := range f.rec.Tasks {
		if x := &f.rec.Tasks[k]; x.Site == t.Site && x.Handed != 0 && x.Handed <= t.Handed && (x.State == enact.Given || x.Known > t.Handed) {
			cores += f.cores(k)
		}
	}
	if cores > f.planned[at].Cores || wait(&f.planned[at], cores) > 0 {
		return 0
	}
	return max(spanOf(t.Known-t.Handed)-spanOf(t.Ended-t.Started), 0)
}

// overheads are the last that were seen of each site, the oldest first.
type overheads struct {
	mu   sync.Mutex
	seen map[string][]time.Duration
}

// maxOverheads is how many are kept of a site.
const maxOverheads = 40

// saw takes in a task.
func (o *overheads) saw(t *enact.Task) {
	if t.Overhead == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	list := append(o.seen[t.Site], t.Overhead)
	o.seen[t.Site] = list[max(0, len(list)-maxOverheads):]
}

// of is the overhead of a place, in the median; where no task has ended yet, what is known of sites of its kind.
func (o *overheads) of(p *workflow.Place) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := slices.Sorted(slices.Values(o.seen[p.Name]))
	if len(list) == 0 {
		return p.Overhead
	}
	return list[len(list)/2]
}
