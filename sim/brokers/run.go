package brokers

import (
	"fmt"

	"gbroker/grid"
	"gbroker/plan"
)

// epoch is the instant of arrival 0 on the clocks of the brokers: some morning of 2026.
const epoch = grid.Tick(1_767_225_600_000)

// run is one run under way.
type run struct {
	w       World
	now     grid.Tick
	later   agenda
	soon    row
	due     []*batch // whose schedulers look at their queues at the end of this instant
	came    int      // of World.Jobs
	nodes   [][]plan.Node
	sites   []*batch
	rule    brokering
	result  Result
	alive   grid.Tick // when a job ended last
	away    []bool    // by site
	copies  map[int32][]int32
	lingers grid.Tick // for how long records of ended jobs are kept
	err     error
}

// brokering finds sites for jobs that arrive.
type brokering interface {
	arrive(n int32)
	cancel(n int32)
}

// Run runs the world until all jobs have ended, or stop says so; then the result is what came of it so far. It calls
// seen now and then. Either may be nil. An error is a world that makes no sense, or a rule broken: each job runs once,
// no core is had by two, and what was worked is what was asked.
func Run(w World, stop func() bool, seen func(done, all int, now grid.Tick)) (Result, error) {
	if err := w.check(); err != nil {
		return Result{}, err
	}
	r := newRun(w)
	err := r.toTheEnd(stop, seen)
	return r.result, err
}

// toTheEnd runs until all jobs have ended, or stop says so.
func (r *run) toTheEnd(stop func() bool, seen func(done, all int, now grid.Tick)) error {
	jobs := len(r.w.Jobs)
	for k := 0; r.result.Done < jobs && r.err == nil; k++ {
		if k%lookAfter == 0 {
			if stop != nil && stop() {
				return nil
			}
			if seen != nil {
				seen(r.result.Done, jobs, r.now-epoch)
			}
		}
		r.step()
	}
	if r.err == nil {
		r.err = r.conserved()
	}
	return r.err
}

// lookAfter is how many instants there are between two looks at what goes on outside.
const lookAfter = 1 << 8

func newRun(w World) *run {
	r := &run{w: w, now: epoch, alive: epoch}
	r.result.Jobs = make([]Ended, len(w.Jobs))
	r.result.Busy = make([]float64, len(w.Sites))
	for i := range w.Jobs {
		j := &w.Jobs[i]
		r.result.Jobs[i] = Ended{Arrival: j.Arrival, Home: int32(j.Home), Site: -1, Cores: int32(j.Cores)}
	}
	for i := range w.Sites {
		r.nodes = append(r.nodes, []plan.Node{{Name: "node", Cores: w.Sites[i].Cores}})
		r.sites = append(r.sites, newBatch(r, i))
	}
	r.copies = copiesOf(w.Jobs)
	r.away, r.lingers = make([]bool, len(w.Sites)), w.lingers()
	switch w.Brokering.Rule {
	case Core, Published:
		n := newNeighbourhood(r)
		r.rule = n
		r.planAbsences(n.left)
	default:
		r.rule = newDirect(r)
		r.planAbsences(func(int, bool) {})
	}
	return r
}

// facts is what a broker says of its site.
func (r *run) facts(i int) grid.Site {
	s := &r.w.Sites[i]
	return grid.Site{Name: grid.SiteName(s.Name), Processes: s.Cores, Speed: s.speed()}
}

// at plans something.
func (r *run) at(at grid.Tick, do func()) { r.later.push(max(at, r.now), do) }

func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// step does all that happens at the next instant: what was planned for it in order, then arrivals, and what follows of
// both, then the schedulers' passes, and what follows of those.
func (r *run) step() {
	at, ok := r.later.first()
	if r.came < len(r.w.Jobs) {
		if a := epoch + r.w.Jobs[r.came].Arrival; !ok || a < at {
			at, ok = a, true
		}
	}
	if !ok || at > r.alive+stuck {
		r.fail(fmt.Errorf("nothing happens any more, and %d jobs have not ended", len(r.w.Jobs)-r.result.Done))
		return
	}
	r.now = at
	for r.err == nil {
		if next, some := r.later.first(); some && next <= at {
			r.later.pop()()
			continue
		}
		if r.came < len(r.w.Jobs) && epoch+r.w.Jobs[r.came].Arrival <= at {
			r.alive = at
			r.arrive(int32(r.came))
			r.came++
			continue
		}
		if do, some := r.soon.pop(); some {
			do()
			continue
		}
		if len(r.due) == 0 {
			return
		}
		due := r.due
		r.due = nil
		for _, b := range due {
			b.pass()
		}
	}
}

// stuck is for how long no job may come or end.
const stuck = 1000 * grid.Day

func (r *run) arrive(n int32) {
	j := &r.w.Jobs[n]
	if j.Local {
		b := r.sites[j.Home]
		b.arrive(&local{n: n, limit: limit(j, b.speed)})
		return
	}
	r.rule.arrive(n)
}
