package pool

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gbroker/grid"
	"gbroker/pool"
)

// Bag is a model of a bag of tasks on computers whose owners come and go, and that fail.
//
// Computers have an effective performance H uniform in [0.1, 1] while the owner is away, and none while the owner is there: a task stands still then. Now
// and then a computer fails and stays down for a while: what it ran is cut off. Spans are exponential. Tasks have work uniform in [150, 750], and all wait at the
// beginning. The bag is done when all tasks are, but for those that are lost: cut off, and of no kind of replication that begins them again.
//
// A rule is told of each computer the mean of all ([None]), its own mean with its owner's habits ([Forecast]), or all that will happen until it fails ([Full]).
type Bag struct {
	Computers, Tasks int
	Away, There      float64 // mean spans of owners, in seconds
	Up, Down         float64 // and until a failure, and of it
	Checkpoint       float64 // work between two checkpoints
	Rule             pool.Replication
	Knows            Information
}

// StandardBag is the model of the experiments.
func StandardBag() Bag {
	return Bag{Computers: 100, Tasks: 200, Away: 3600, There: 900, Up: 4 * 3600, Down: 600, Checkpoint: 60, Knows: None}
}

// BagOutcome is of one run.
type BagOutcome struct {
	Makespan float64 // seconds until the last task ended
	Stretch  float64 // by what the bag would take if all computers shared it to the end
	Lost     int     // tasks that never ended
	Wasted   float64 // part of all work that was done and served no task's end
}

// life is what happens to a computer: its performance in truth, and when it fails.
type life struct {
	pool.Forecast
	mean  float64 // of H, with the owner's habits
	fails []grid.Tick
	back  []grid.Tick // after each failure
}

// live draws a life until far.
func (b *Bag) live(r *rand.Rand, far grid.Tick) (l life) {
	h := uniform(r, 0.1, 1)
	l.mean = h * b.Away / (b.Away + b.There)
	var comes, goes []grid.Tick // the owner
	for at := grid.Tick(0); at < far; {
		at += 1 + grid.FromSeconds(r.ExpFloat64()*b.Away)
		comes = append(comes, at)
		at += 1 + grid.FromSeconds(r.ExpFloat64()*b.There)
		goes = append(goes, at)
	}
	for at := grid.Tick(0); at < far; {
		at += 1 + grid.FromSeconds(r.ExpFloat64()*b.Up)
		l.fails = append(l.fails, at)
		at += 1 + grid.FromSeconds(r.ExpFloat64()*b.Down)
		l.back = append(l.back, at)
	}
	steps := []pool.Step{{H: h}}
	for _, at := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(comes, goes, l.fails, l.back)))) {
		step := pool.Step{From: at, H: h}
		if within(at, comes, goes) || within(at, l.fails, l.back) {
			step.H = 0
		}
		steps = append(steps, step)
	}
	l.Forecast = pool.NewForecast(0, 0, steps...)
	return l
}

// within tells that an instant lies in one of the spans that begin and end so.
func within(at grid.Tick, begins, ends []grid.Tick) bool {
	n, _ := slices.BinarySearch(begins, at+1)
	return n > 0 && at < ends[n-1]
}

// failure is when a computer that is up fails next; [pool.Never] where it does not.
func (l *life) failure(now grid.Tick) grid.Tick {
	at, _ := slices.BinarySearch(l.fails, now+1)
	if at == len(l.fails) {
		return pool.Never
	}
	return l.fails[at]
}

// until is the life as who knows it until its next failure sees it.
func (l *life) until(now grid.Tick) pool.Forecast {
	fails := l.failure(now)
	if fails == pool.Never {
		return l.Forecast
	}
	steps := l.Steps()
	n, _ := slices.BinarySearchFunc(steps, fails, func(s pool.Step, t grid.Tick) int { return int(min(max(s.From-t, -1), 1)) })
	return pool.NewForecast(0, 0, append(slices.Clone(steps[:n]), pool.Step{From: fails})...)
}

// bagRun is a simulation under way.
type bagRun struct {
	*Bag
	lives     []life
	computers []pool.Computer
	tasks     []pool.Task // not done
	copies    []bagCopy
	busy      []bool  // computers, that run one
	ideal     float64 // makespan, if all computers shared the bag to the end
	now       grid.Tick
	done      float64 // work that served
	spent     float64 // all work
	out       BagOutcome
}

// bagCopy is a task on a computer.
type bagCopy struct {
	task     string
	computer int
	from     grid.Tick
	work     float64 // for it
	end      grid.Tick
	foreseen grid.Tick
	fails    bool
}

// Run simulates the bag of a seed; ok is false where stop said so.
func (b Bag) Run(seed uint64, stop func() bool) (out BagOutcome, ok bool) {
	r := b.begin(seed)
	for len(r.tasks) > 0 {
		if stop() {
			return r.out, false
		}
		r.assign()
		if !r.advance() {
			break
		}
	}
	r.out.Lost, r.out.Stretch = len(r.tasks), r.out.Makespan/r.ideal
	r.out.Wasted = 1 - r.done/max(r.spent, 1)
	return r.out, true
}

func (b *Bag) begin(seed uint64) *bagRun {
	r := &bagRun{Bag: b}
	tasks, lives := rand.New(rand.NewPCG(seed, 19)), rand.New(rand.NewPCG(seed, 20))
	work, power := 0.0, 0.0
	for i := range b.Tasks {
		j := pool.Job{Name: strconv.Itoa(i), Work: uniform(tasks, 150, 750), Twice: true, Rerunnable: b.Rule.Kind >= pool.WQRR, Checkpoints: true}
		work += j.Work
		r.tasks = append(r.tasks, pool.Task{Job: j})
	}
	far := grid.FromSeconds(1e5 + 20*work/float64(b.Computers))
	for range b.Computers {
		l := b.live(lives, far)
		power += l.mean
		r.lives, r.computers = append(r.lives, l), append(r.computers, pool.Computer{})
	}
	for i := range r.computers {
		r.computers[i].Forecast = pool.Constant(power / float64(b.Computers))
		if b.Knows == Forecast {
			r.computers[i].Forecast = pool.Constant(r.lives[i].mean)
		}
	}
	r.ideal = work / power
	return r
}

// assign begins what the rule says.
func (r *bagRun) assign() {
	busy := make([]bool, len(r.computers))
	for _, c := range r.copies {
		busy[c.computer] = true
	}
	for i := range r.computers {
		c, l := &r.computers[i], &r.lives[i]
		if c.Free = 0; busy[i] || l.At(r.now) == 0 {
			c.Free = pool.Never
		} else if r.Knows == Full {
			c.Forecast = l.until(r.now)
		}
	}
	r.foresee()
	for _, s := range r.Rule.Begin(r.now, r.computers, r.tasks) {
		t, l := &r.tasks[s.Task], &r.lives[s.Computer]
		c := bagCopy{task: t.Name, computer: s.Computer, from: r.now, work: s.Work, end: l.End(r.now, s.Work)}
		c.foreseen = r.computers[s.Computer].Forecast.End(r.now, s.Work)
		if fails := l.failure(r.now); fails < c.end {
			c.end, c.fails = fails, true
		}
		r.copies = append(r.copies, c)
		t.Lost, t.On = false, append(t.On, s.Computer)
	}
}

// foresee tells of tasks when they are foreseen to end. As in the real pool, what stands still or is overdue is not, unless the rule knows all.
func (r *bagRun) foresee() {
	ends := map[string]grid.Tick{}
	for _, c := range r.copies {
		end := c.foreseen
		if r.Knows != Full && (r.lives[c.computer].At(r.now) == 0 || end <= r.now) {
			end = pool.Never
		}
		if was, known := ends[c.task]; !known || end < was {
			ends[c.task] = end
		}
	}
	for i := range r.tasks {
		r.tasks[i].Ends = ends[r.tasks[i].Name]
	}
}

// advance goes to the next instant at which something happens; false where nothing will.
func (r *bagRun) advance() bool {
	next := pool.Never
	for _, c := range r.copies {
		next = min(next, c.end)
	}
	for i := range r.lives {
		next = min(next, r.lives[i].change(r.now))
	}
	if next == pool.Never || len(r.copies) == 0 && !slices.ContainsFunc(r.tasks, r.waits) {
		return false
	}
	r.now = next
	for at := 0; at < len(r.copies); {
		if c := r.copies[at]; c.end <= r.now {
			r.copies = slices.Delete(r.copies, at, at+1)
			r.ended(c)
			at = 0
			continue
		}
		at++
	}
	return true
}

// waits tells that a task will begin again.
func (r *bagRun) waits(t pool.Task) bool {
	return len(t.On) == 0 && (!t.Lost || r.Rule.Kind >= pool.WQRR)
}

// change is when the performance of a computer changes next.
func (l *life) change(now grid.Tick) grid.Tick {
	steps := l.Steps()
	at, _ := slices.BinarySearchFunc(steps, now+1, func(s pool.Step, t grid.Tick) int { return int(min(max(s.From-t, -1), 1)) })
	if at == len(steps) {
		return pool.Never
	}
	return steps[at].From
}

// ended takes the end of a copy, or its being cut off.
func (r *bagRun) ended(c bagCopy) {
	at := slices.IndexFunc(r.tasks, func(t pool.Task) bool { return t.Name == c.task })
	t := &r.tasks[at]
	done := r.lives[c.computer].Done(c.from, c.end)
	r.spent += done
	t.On = slices.DeleteFunc(t.On, func(i int) bool { return i == c.computer })
	if c.fails {
		if saved := t.Work - c.work + math.Floor(done/r.Bag.Checkpoint)*r.Bag.Checkpoint; r.Rule.Kind == pool.WQRFT && saved > t.Checkpoint {
			t.Checkpoint, t.Wrote = saved, r.computers[c.computer].Platform()
		}
		t.Lost = len(t.On) == 0
		return
	}
	r.done += t.Work
	for _, o := range r.copies {
		if o.task == c.task {
			r.spent += r.lives[o.computer].Done(o.from, r.now)
		}
	}
	r.copies = slices.DeleteFunc(r.copies, func(o bagCopy) bool { return o.task == c.task })
	r.tasks = slices.Delete(r.tasks, at, at+1)
	r.out.Makespan = r.now.Seconds()
}
