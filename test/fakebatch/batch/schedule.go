package batch

import (
	"sort"
	"time"
)

// forever is what a job without a walltime counts as: five years.
const forever = 5 * 365 * 24 * time.Hour

// depth is how many waiting jobs get a planned start.
const depth = 24

// span is cores of a node that are taken over a time.
type span struct {
	node     string
	cores    int
	memory   int64
	from, to time.Time
}

// view is what is taken, as one job sees it.
type view []span

// plan is what a cycle decides for a job.
type plan struct {
	job    *Job
	starts bool // now
	parts  []Part
	at     time.Time // the earliest start; zero is never
}

// Length is how long a job counts for.
func (j *Job) Length() time.Duration {
	if j.Wall <= 0 {
		return forever
	}
	return j.Wall
}

// schedule goes through the queue once.
func (s *System) schedule(now time.Time) []plan {
	var out []plan
	var shadows []span
	ahead := 0
	runs := s.runners()
	for _, j := range s.waiting(now) {
		p := plan{job: j}
		if s.MaxRun > 0 && runs[j.User] >= s.MaxRun { // it stands in nobody's way
			j.Capped, j.Earliest = true, time.Time{}
			continue
		}
		j.Capped = false
		seen := append(s.sees(j, now), shadows...)
		p.at, p.parts = s.earliest(j, seen, now, ahead < depth)
		if p.starts = p.at.Equal(now); p.starts {
			runs[j.User]++
		}
		j.Earliest = p.at
		if !p.at.IsZero() {
			if !p.starts {
				ahead++
			}
			// What one start takes is kept from all that are looked at later in this cycle.
			if j.Reservation == "" || p.starts {
				shadows = append(shadows, s.spansOf(j, p.parts, p.at, p.at.Add(j.Length()))...)
			}
		}
		out = append(out, p)
	}
	return out
}

// runners is how many jobs of each user run.
func (s *System) runners() map[string]int {
	n := map[string]int{}
	for _, j := range s.Jobs {
		if j.Runs() {
			n[j.User]++
		}
	}
	return n
}

// waiting is the queue in the order in which it is looked at.
func (s *System) waiting(now time.Time) []*Job {
	var out []*Job
	for _, j := range s.Jobs {
		j.Settle(now)
		q := s.Queue(j.Queue)
		if s.block(j); j.State == Queued && j.Blocked == "" && (q == nil || q.Starts() && q.Route == nil) {
			out = append(out, j)
		}
	}
	sort.SliceStable(out, func(a, b int) bool { return out[a].Priority > out[b].Priority })
	return out
}

// block is Maui's hold of what it will not start: several requests in one job, and more nodes than there are.
func (s *System) block(j *Job) {
	switch {
	case s.Face != "torque" || s.NoReservations || j.State != Queued || j.Blocked != "":
	case !s.MultiReq && len(j.Chunks) > 1:
		j.Blocked = "BatchHold"
	case j.Scatter && !s.Feasible(j):
		j.Blocked = "Deferred"
	}
}

// earliest is the first instant at which a job fits, and where; only now unless all is asked for.
func (s *System) earliest(j *Job, seen view, now time.Time, all bool) (time.Time, []Part) {
	var b *Reservation
	if j.Reservation != "" {
		if b = s.Reservation(j.Reservation); b == nil || !b.Confirmed || !s.mayUse(j, b) {
			return time.Time{}, nil
		}
	}
	for _, at := range candidates(seen, b, now) {
		if !all && !at.Equal(now) {
			break
		}
		if b != nil && (at.Before(b.From) || at.Add(j.Length()).After(b.To)) {
			continue
		}
		if parts := s.fit(j, seen, at, b); parts != nil {
			return at, parts
		}
	}
	return time.Time{}, nil
}

// candidates are the instants at which something becomes free.
func candidates(seen view, b *Reservation, now time.Time) []time.Time {
	out := []time.Time{now}
	for _, sp := range seen {
		if sp.to.After(now) {
			out = append(out, sp.to)
		}
	}
	if b != nil && b.From.After(now) {
		out = append(out, b.From)
	}
	sort.Slice(out, func(i, k int) bool { return out[i].Before(out[k]) })
	return out
}

// fit places a job at an instant; nil if it does not fit. Maui lays pieces of different sizes on one node where they find no other.
func (s *System) fit(j *Job, seen view, at time.Time, b *Reservation) []Part {
	used := make(map[string]bool)
	taken := make(map[string]int)
	memory := make(map[string]int64)
	parts := []Part{}
	for _, c := range byName(j.Chunks) {
		alike := make(map[string]bool)
		for range c.Count {
			beside := func(barred map[string]bool) *Node {
				return s.choose(j, c, seen, at, b, func(n *Node) (int, int64, bool) {
					return taken[n.Name], memory[n.Name], (j.Scatter || j.Exclusive) && barred[n.Name]
				})
			}
			n := beside(used)
			if n == nil && s.Face == "torque" && !j.Exclusive {
				n = beside(alike)
			}
			if n == nil {
				return nil
			}
			used[n.Name], alike[n.Name] = true, true
			taken[n.Name] += c.Cores
			memory[n.Name] += c.Memory
			parts = append(parts, Part{Node: n.Name, Cores: make([]int, c.Cores), Lines: c.Lines, Memory: c.Memory})
		}
	}
	return parts
}

// byName puts the chunks that name a node first, so that others do not take its place.
func byName(in []Chunk) []Chunk {
	out := append([]Chunk{}, in...)
	sort.SliceStable(out, func(a, b int) bool { return out[a].Node != "" && out[b].Node == "" })
	return out
}

// choose finds a node for one chunk.
func (s *System) choose(j *Job, c Chunk, seen view, at time.Time, b *Reservation, own func(*Node) (int, int64, bool)) *Node {
	for i := range s.Nodes {
		n := s.Nodes[i]
		if s.Face == "torque" { // Maui begins with the last
			n = s.Nodes[len(s.Nodes)-1-i]
		}
		cores, memory, skip := own(n)
		if skip || !n.Up() || !n.serves(c) {
			continue
		}
		limit := n.Cores
		if b != nil {
			limit = b.on(n.Name)
		}
		busy, used := seen.most(n.Name, at, at.Add(j.Length()))
		if j.Exclusive && (busy > 0 || limit < n.Cores) {
			continue
		}
		if busy+cores+c.Cores <= limit && (c.Memory == 0 || used+memory+c.Memory <= KiB(n.Memory)) {
			return n
		}
	}
	return nil
}

func (n *Node) serves(c Chunk) bool {
	if c.Node != "" && c.Node != n.Name {
		return false
	}
	for _, p := range c.Properties {
		if !contains(n.Properties, p) {
			return false
		}
	}
	return c.Cores <= n.Cores
}

// Feasible reports whether the empty machine, with all nodes up, could hold the job.
func (s *System) Feasible(j *Job) bool {
	up := &System{Config: s.Config}
	for _, n := range s.Nodes {
		c := *n
		c.Offline, c.Down = false, false
		up.Nodes = append(up.Nodes, &c)
	}
	return up.fit(j, nil, time.Time{}, nil) != nil
}

// most is the largest number of cores, and of memory, that is taken of a node at one time within an interval.
func (v view) most(node string, from, to time.Time) (int, int64) {
	var cores int
	var memory int64
	at := func(t time.Time) {
		var c int
		var m int64
		for _, sp := range v {
			if sp.node == node && !sp.from.After(t) && sp.to.After(t) {
				c += sp.cores
				m += sp.memory
			}
		}
		cores, memory = max(cores, c), max(memory, m)
	}
	at(from)
	for _, sp := range v {
		if sp.node == node && sp.from.After(from) && sp.from.Before(to) {
			at(sp.from)
		}
	}
	return cores, memory
}

// sees is what running jobs and reservations take, for a job; nil sees all of it.
func (s *System) sees(j *Job, now time.Time) view {
	var out view
	inside := ""
	if j != nil {
		inside = j.Reservation
	}
	for _, r := range s.Jobs {
		if !r.Runs() || r.Suspended {
			continue
		}
		if r.Reservation != "" && r.Reservation != inside && s.Reservation(r.Reservation) != nil {
			continue // its reservation counts for it
		}
		if inside != "" && r.Reservation != inside {
			continue
		}
		end := r.Started.Add(r.Length())
		if !end.After(now) {
			end = now.Add(time.Second)
		}
		out = append(out, s.spansOf(r, r.Parts, now, end)...)
	}
	if inside != "" {
		return out // within a reservation only its own jobs count
	}
	for _, b := range s.Reservations {
		for _, h := range b.Held {
			if b.Confirmed && b.To.After(now) && !s.open(b, h.Node, j) {
				out = append(out, span{node: h.Node, cores: h.Cores, from: b.From, to: b.To})
			}
		}
	}
	return out
}

// spansOf is what a job takes with its parts.
func (s *System) spansOf(j *Job, parts []Part, from, to time.Time) []span {
	var out []span
	for _, p := range parts {
		cores := len(p.Cores)
		if n := s.Node(p.Node); j.Exclusive && n != nil {
			cores = n.Cores
		}
		out = append(out, span{node: p.Node, cores: cores, memory: p.Memory, from: from, to: to})
	}
	return out
}

// take gives the parts of a job that starts their processors.
func (s *System) take(parts []Part) {
	for i := range parts {
		busy := make(map[int]bool)
		for _, j := range s.Jobs {
			for _, p := range j.Parts {
				for _, c := range p.Cores {
					if j.Runs() && !j.Suspended && p.Node == parts[i].Node {
						busy[c] = true
					}
				}
			}
		}
		for _, p := range parts[:i] {
			for _, c := range p.Cores {
				if p.Node == parts[i].Node {
					busy[c] = true
				}
			}
		}
		next := 0
		for k := range parts[i].Cores {
			for busy[next] {
				next++
			}
			parts[i].Cores[k] = next
			next++
		}
	}
}

// Start is the earliest start of a job that is not in the queue, as things are.
func (s *System) Start(j *Job, now time.Time) time.Time {
	at, _ := s.earliest(j, s.sees(j, now), now, true)
	return at
}

// Free is the number of processors that a user could have now, for a time.
func (s *System) Free(who string, d time.Duration, now time.Time) int {
	seen, sum := s.sees(&Job{User: who, Wall: d}, now), 0
	for _, n := range s.Nodes {
		if busy, _ := seen.most(n.Name, now, now.Add(d)); n.Up() && busy < n.Cores {
			sum += n.Cores - busy
		}
	}
	return sum
}
