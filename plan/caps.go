package plan

import (
	"fmt"
	"slices"

	"gbroker/grid"
)

// Cap bounds what runs at one time of the jobs that name it: those of a user, a group, a
// project, an array, a queue. A job whose caps are full is passed over, and stands in nobody's
// way: it comes into the queue when what runs, or stands in the queue before it, leaves room.
type Cap struct {
	Most  int64
	Cores bool // Most counts cores, not jobs
	All   bool // it counts the jobs of everybody
	Why   string
}

// weight is what a job of so many cores counts.
func (c *Cap) weight(cores int64) int64 {
	if c.Cores {
		return cores
	}
	return 1
}

// CapsOf are the caps that one more job of ours falls under.
func (s *Snapshot) CapsOf(queue grid.QueueName) []int { return capsOf(s.Ours, s.Queues, queue) }

func capsOf(ours []int, queues []Queue, queue grid.QueueName) []int {
	for i := range queues {
		if q := &queues[i]; q.Name == queue && len(q.Ours) > 0 {
			return slices.Concat(ours, q.Ours)
		}
	}
	return ours
}

// tickets are what is left of each cap. A waiting job has one of each from when it comes into
// the queue until it ends.
type tickets struct {
	caps    []Cap
	left    []int64
	running []Running
	aside   []int32 // jobs that wait for theirs, in the order of the queue
	given   bool    // some were given back since the last pass
}

// countCaps counts what runs, and sets aside who may not come into the queue.
func (e *schedule) countCaps(s *Snapshot) {
	if len(s.Caps) == 0 {
		return
	}
	t := &e.tickets
	t.caps, t.running, t.left = s.Caps, s.Running, make([]int64, len(s.Caps))
	for i := range t.caps {
		t.left[i] = t.caps[i].Most
	}
	for i := range s.Running {
		e.giveTickets(s.Running[i].Caps, runningCores(&s.Running[i]), -1)
	}
	for p, job := range e.queue.jobs {
		if !e.admit(job) {
			e.leave(p)
			t.aside = append(t.aside, job)
		}
	}
}

func runningCores(r *Running) (cores int64) {
	for i := range r.Shares {
		cores += int64(r.Shares[i].Cores)
	}
	return cores
}

// giveTickets gives the tickets of a job back, or takes them (-1).
func (e *schedule) giveTickets(caps []int, cores, sign int64) {
	for _, c := range caps {
		if c >= 0 && c < len(e.tickets.left) {
			e.tickets.left[c] += sign * e.tickets.caps[c].weight(cores)
		}
	}
}

// admit takes the tickets of a waiting job, if there are enough of each.
func (e *schedule) admit(job int32) bool {
	caps, cores := e.waiting[job].Caps, e.works[job].cores
	for _, c := range caps {
		if c >= 0 && c < len(e.tickets.left) && e.tickets.left[c] < e.tickets.caps[c].weight(cores) {
			return false
		}
	}
	e.giveTickets(caps, cores, -1)
	return true
}

// returnTickets gives back those of an allocation that has ended.
func (e *schedule) returnTickets(id int32) {
	if e.tickets.left == nil {
		return
	}
	switch b := &e.allocations[id]; {
	case b.job >= 0:
		e.giveTickets(e.waiting[b.job].Caps, e.works[b.job].cores, +1)
	case int(id) < len(e.tickets.running):
		r := &e.tickets.running[id]
		e.giveTickets(r.Caps, runningCores(r), +1)
	}
	e.tickets.given = true
}

// readmit lets those into the queue who may come now.
func (e *schedule) readmit() {
	t := &e.tickets
	if !t.given || len(t.aside) == 0 {
		return
	}
	t.given = false
	first := true
	t.aside = slices.DeleteFunc(t.aside, func(job int32) bool {
		if !e.admit(job) {
			return false
		}
		if first && e.policy.many() { // made anew, as who comes may stand before them
			e.unreserve()
		}
		first = false
		e.queue.join(int(e.position[job]), &e.works[job])
		if e.short != nil {
			e.short.join(int(e.shortly[job]), &e.works[job])
		}
		return true
	})
}

// underCap is a job that counts for a cap until an instant.
type underCap struct {
	until  grid.Tick
	weight int64
}

// roomUnderCaps is the first instant from which one more job finds room under its caps, behind
// all who run and wait.
func (f *finder) roomUnderCaps(q *Question, cores int64) (grid.Tick, *grid.Refusal) {
	var from grid.Tick
	for _, c := range capsOf(f.ours, f.queues, q.Queue) {
		if c < 0 || c >= len(f.caps) {
			continue
		}
		limit := &f.caps[c]
		room := limit.Most - limit.weight(cores)
		if room < 0 {
			return 0, &grid.Refusal{Kind: grid.Permanent, Reason: "beyond a limit: " + limit.Why, Asked: fmt.Sprint(limit.weight(cores)), Available: fmt.Sprint(limit.Most)}
		}
		list := f.under(c)
		slices.SortFunc(list, func(a, b underCap) int { return int(min(max(b.until-a.until, -1), 1)) })
		for _, u := range list { // those that end last fill it up
			if room -= u.weight; room < 0 {
				from = max(from, u.until)
				break
			}
		}
	}
	return from, nil
}

// under is who counts for a cap: what runs, what waits and is planned, and in a batch what was
// asked for before.
func (f *finder) under(c int) (list []underCap) {
	limit := &f.caps[c]
	for i := range f.running {
		if r := &f.running[i]; slices.Contains(r.Caps, c) {
			list = append(list, underCap{f.allocations[i].end, limit.weight(runningCores(r))})
		}
	}
	for i := range f.waiting {
		w := &f.waiting[i]
		if f.placed[i] >= 0 && slices.Contains(w.Caps, c) {
			list = append(list, underCap{f.allocations[f.placed[i]].end, limit.weight(int64(w.Demand.Cores()))})
		}
	}
	for _, a := range f.asked {
		if slices.Contains(capsOf(f.ours, f.queues, a.queue), c) {
			list = append(list, underCap{a.until, limit.weight(a.cores)})
		}
	}
	return list
}

// asked is a job of a batch that counts as coming.
type asked struct {
	queue grid.QueueName
	cores int64
	until grid.Tick
}
