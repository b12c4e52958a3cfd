package counted

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/plan"

	"pgregory.net/rapid"
)

// logJob is a job of a log, index by index in the order of (submit, id).
type logJob struct {
	submit, run, limit grid.Tick
	cores              int32
	priority           int64
}

// runCounted drives a scheduler over a log and returns the starts.
func runCounted(cores int32, p plan.Policy, jobs []logJob, copies bool) []grid.Tick {
	c := New(cores, p)
	starts := make([]grid.Tick, len(jobs))
	ends := make(map[grid.Tick][]Running)
	for next, now := 0, grid.Tick(-1); next < len(jobs) || len(ends) > 0 || c.Waiting() > 0; {
		now = never
		if next < len(jobs) {
			now = jobs[next].submit
		}
		for at := range ends {
			now = min(now, at)
		}
		if wake, ok := c.Wake(); ok {
			now = min(now, wake)
		}
		for _, h := range ends[now] {
			c.End(now, h)
		}
		delete(ends, now)
		for ; next < len(jobs) && jobs[next].submit == now; next++ {
			j := jobs[next]
			c.Arrive(Job{Ref: int32(next), Cores: j.cores, Limit: j.limit, Priority: j.priority})
		}
		if copies {
			old := c
			c = New(1, plan.Policy{})
			c.CopyFrom(old)
			old.Pass(now)
		}
		for _, h := range c.Pass(now) {
			starts[h.Ref] = now
			end := now + jobs[h.Ref].run
			ends[end] = append(ends[end], h)
		}
	}
	return starts
}

// secondly is the naive scheduler: it goes second by second, and reads the definitions of
// the policies off the page. Only what is free at one second is ever reckoned.
type secondly struct {
	cores    int32
	policy   plan.Policy
	jobs     []logJob
	now      grid.Tick
	starts   map[int]grid.Tick // of what was started
	waiting  []int
	reserved map[int]grid.Tick
	passed   map[int]int // how often a waiting job was overtaken
}

// freeAt is what is free at an instant by what the scheduler believes.
func (w *secondly) freeAt(at grid.Tick) int32 {
	free := w.cores
	for i, s := range w.starts {
		if s+w.jobs[i].run > w.now || w.jobs[i].run == 0 && s == w.now { // it runs now
			if at < max(s+w.jobs[i].limit, w.now+1) { // one that runs on ends at the next instant
				free -= w.jobs[i].cores
			}
		}
	}
	for i, s := range w.reserved {
		if s <= at && at < s+w.jobs[i].limit {
			free -= w.jobs[i].cores
		}
	}
	return free
}

func (w *secondly) fits(i int, from grid.Tick) bool {
	for at := from; at < from+w.jobs[i].limit; at++ {
		if w.freeAt(at) < w.jobs[i].cores {
			return false
		}
	}
	return true
}

func (w *secondly) earliest(i int) grid.Tick {
	at := w.now
	for !w.fits(i, at) {
		at++
	}
	return at
}

func (w *secondly) start(i int) {
	w.starts[i] = w.now
	w.waiting = slices.DeleteFunc(w.waiting, func(k int) bool { return k == i })
}

// sorted is a queue in an order; ties by submit time and identifier.
func (w *secondly) sorted(queue []int, o plan.Order) []int {
	queue = slices.Clone(queue)
	slices.SortFunc(queue, func(a, b int) int {
		x, y := w.jobs[a], w.jobs[b]
		by := 0
		switch o {
		case plan.ShortestFirst:
			by = cmp.Compare(x.limit, y.limit)
		case plan.LongestFirst:
			by = cmp.Compare(y.limit, x.limit)
		case plan.SmallestFirst:
			by = cmp.Compare(x.cores, y.cores)
		case plan.LargestFirst:
			by = cmp.Compare(y.cores, x.cores)
		case plan.ByPriority:
			by = cmp.Compare(y.priority, x.priority)
		}
		return cmp.Or(by, cmp.Compare(x.submit, y.submit), cmp.Compare(a, b))
	})
	return queue
}

func (w *secondly) pass(ended bool, arrived []int) {
	queue := w.sorted(w.waiting, w.policy.Order)
	switch w.policy.Kind {
	case plan.FCFS:
		for _, i := range queue {
			if !w.fits(i, w.now) {
				return
			}
			w.start(i)
		}
	case plan.FirstFit:
		w.firstFit(queue)
	case plan.EASY:
		if w.policy.Reservations <= 1 {
			w.easy(queue, false)
			return
		}
		w.inOrder(queue, w.policy.Reservations)
	case plan.EASYSJBF:
		w.easy(queue, true)
	case plan.ConsRebuild:
		w.inOrder(queue, len(queue))
	case plan.ConsCompress:
		w.compress(queue, ended, arrived)
	}
}

func (w *secondly) firstFit(queue []int) {
	var before []int
	for _, i := range queue {
		for _, k := range before {
			if w.policy.Overtakes > 0 && w.passed[k] >= w.policy.Overtakes {
				return
			}
		}
		if !w.fits(i, w.now) {
			before = append(before, i)
			continue
		}
		w.start(i)
		for _, k := range before {
			w.passed[k]++
		}
	}
}

// easy is EASY by shadow time and extra processors.
func (w *secondly) easy(queue []int, shortest bool) {
	for len(queue) > 0 && w.freeAt(w.now) >= w.jobs[queue[0]].cores {
		w.start(queue[0])
		queue = queue[1:]
	}
	if len(queue) == 0 {
		return
	}
	head := w.jobs[queue[0]].cores
	shadow := w.now
	for w.freeAt(shadow) < head {
		shadow++
	}
	extra := w.freeAt(shadow) - head
	queue = queue[1:]
	if shortest {
		queue = w.sorted(queue, plan.ShortestFirst)
	}
	for _, i := range queue {
		j := w.jobs[i]
		switch {
		case j.cores > w.freeAt(w.now):
		case w.now+j.limit <= shadow:
			w.start(i)
		case j.cores <= extra:
			w.start(i)
			extra -= j.cores
		}
	}
}

func (w *secondly) inOrder(queue []int, reservations int) {
	clear(w.reserved)
	for _, i := range queue {
		if w.fits(i, w.now) {
			w.start(i)
		} else if len(w.reserved) < reservations {
			w.reserved[i] = w.earliest(i)
		}
	}
	clear(w.reserved)
}

func (w *secondly) compress(queue []int, ended bool, arrived []int) {
	place := func(fresh bool) {
		for _, i := range queue {
			if slices.Contains(arrived, i) == fresh {
				delete(w.reserved, i)
				w.reserved[i] = w.earliest(i)
			}
		}
	}
	if ended {
		place(false)
	}
	place(true)
	for _, i := range queue {
		if w.reserved[i] == w.now {
			delete(w.reserved, i)
			w.start(i)
		}
	}
}

func runTwin(cores int32, p plan.Policy, jobs []logJob) []grid.Tick {
	w := &secondly{cores: cores, policy: p, jobs: jobs, starts: map[int]grid.Tick{}, reserved: map[int]grid.Tick{}, passed: map[int]int{}}
	arrived := make(map[int]bool)
	for ; len(w.starts) < len(jobs); w.now++ {
		var came []int
		ended := false
		for i, j := range jobs {
			if s, ok := w.starts[i]; ok && s+j.run == w.now {
				ended = true
			}
			if j.submit == w.now && !arrived[i] {
				arrived[i] = true
				came = append(came, i)
			}
		}
		w.waiting = append(w.waiting, came...)
		due := slices.Contains(slices.Collect(maps.Values(w.reserved)), w.now)
		if ended || due || len(came) > 0 {
			w.pass(ended, came)
		}
	}
	out := make([]grid.Tick, len(jobs))
	for i := range out {
		out[i] = w.starts[i]
	}
	return out
}

func drawLog(t *rapid.T) (int32, []logJob) {
	cores := rapid.Int32Range(1, 8).Draw(t, "cores")
	n := rapid.IntRange(1, 14).Draw(t, "jobs")
	jobs := make([]logJob, n)
	var submit grid.Tick
	for i := range jobs {
		submit += grid.Tick(rapid.SampledFrom([]int{0, 0, 1, 1, 2, 5}).Draw(t, "pause"))
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		run := limit
		if rapid.Bool().Draw(t, "early") {
			run = rapid.IntRange(1, limit).Draw(t, "run")
		}
		jobs[i] = logJob{
			submit: submit, run: grid.Tick(run), limit: grid.Tick(limit),
			cores: rapid.Int32Range(1, cores).Draw(t, "job's cores"), priority: int64(rapid.IntRange(0, 3).Draw(t, "priority")),
		}
	}
	return cores, jobs
}

func drawOrder(t *rapid.T) plan.Order {
	return plan.Order(rapid.IntRange(int(plan.ByArrival), int(plan.ByPriority)).Draw(t, "order"))
}

func drawPolicy(t *rapid.T, kind plan.Kind) plan.Policy {
	p := plan.Policy{Kind: kind, Order: drawOrder(t)}
	switch kind {
	case plan.FirstFit:
		p.Overtakes = rapid.IntRange(0, 3).Draw(t, "overtakes")
	case plan.EASY:
		p.Reservations = rapid.IntRange(1, 4).Draw(t, "reservations")
	}
	return p
}

func TestCountedLikeNaiveTwin(t *testing.T) {
	t.Parallel()
	for kind := plan.FCFS; kind <= plan.ConsCompress; kind++ {
		t.Run(plan.Policy{Kind: kind}.String(), func(t *testing.T) {
			t.Parallel()
			for range 30 { // what is rare needs some thousand logs
				rapid.Check(t, func(t *rapid.T) { likeTwin(t, kind) })
			}
		})
	}
}

func likeTwin(t *rapid.T, kind plan.Kind) {
	p := drawPolicy(t, kind)
	cores, jobs := drawLog(t)
	if kind != plan.ConsCompress && rapid.Bool().Draw(t, "overruns") {
		jobs[rapid.IntRange(0, len(jobs)-1).Draw(t, "who overruns")].run += 7
	}
	got := runCounted(cores, p, jobs, rapid.Bool().Draw(t, "copies"))
	if want := runTwin(cores, p, jobs); !slices.Equal(got, want) {
		t.Fatalf("policy %+v: starts\n%v, the twin says\n%v", p, got, want)
	}
}

// What the machine can never hold is not taken.
func TestCountedRefuses(t *testing.T) {
	t.Parallel()
	c := New(4, plan.Policy{Kind: plan.EASY})
	for _, e := range []Job{{Cores: 5, Limit: 1}, {Cores: 0, Limit: 1}, {Cores: -1, Limit: 1}, {Cores: 1}, {Cores: 1, Limit: longest + 1}} {
		if c.Arrive(e) {
			t.Errorf("%+v is taken", e)
		}
	}
	if c.Waiting() != 0 || len(c.Pass(0)) != 0 {
		t.Error("something waits or starts")
	}
}

// FirstFit:2 by hand. A machine of 2; job 0 holds one core until 10, job 1 wants both.
// Jobs 2 and 3 overtake it on the other core; after them it is a barrier, and job 4
// waits although it would fit.
func TestOvertakenTwice(t *testing.T) {
	t.Parallel()
	jobs := []logJob{
		{submit: 0, run: 10, limit: 10, cores: 1}, {submit: 1, run: 5, limit: 5, cores: 2},
		{submit: 2, run: 1, limit: 1, cores: 1}, {submit: 3, run: 1, limit: 1, cores: 1}, {submit: 4, run: 1, limit: 1, cores: 1},
	}
	got := runCounted(2, plan.Policy{Kind: plan.FirstFit, Overtakes: 2}, jobs, false)
	if want := []grid.Tick{0, 10, 2, 3, 15}; !slices.Equal(got, want) {
		t.Errorf("starts %v, want %v", got, want)
	}
}
