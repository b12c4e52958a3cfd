package replay

import (
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
)

// Methods are the ways to believe in run times:
//
//	requested  jobs run for the time that was requested
//	last2      as the mean of the last two of the user that ended
//	ratio      as the user's jobs that ended made use of what they requested
//	brokers    a spread, by likeness to what ended and what runs: what brokers estimate by, see plan.Beliefs
//	best       the same, drawn more often, among arrivals as of late
//	actual     as they will: what an oracle would say
//
// The jobs of users that the log does not name count as one user's.
var Methods = []string{"requested", "last2", "ratio", "brokers", "best", "actual"}

// believer believes in run times. It learns from what ended.
type believer interface {
	// ended tells of a job that began at start and ran to its end.
	ended(j *Job, start int64)
	// at tells which jobs run now. What is believed rests on it until it is told again.
	at(now grid.Tick, running []plan.Alive)
	// believe fills into with run times of a job that has run for elapsed (0 is not
	// yet), all of them more: in as many parts as there are views.
	believe(j *Job, elapsed int64, into []grid.Tick)
}

// spread is how many run times are drawn for each job and view by a method that knows
// more than one; a prime, so that draws of two jobs can be matched in any way.
const spread = 31

// way is a method: what it believes, and in how many views of how many draws.
type way struct {
	believer
	views, draws int
	later        bool // arrivals are foreseen
}

func newWay(method string) (way, error) {
	switch method {
	case "requested":
		return way{guesser{func(j *Job) int64 { return j.Limit }, nil}, 1, 1, false}, nil
	case "actual":
		return way{guesser{func(j *Job) int64 { return j.Run }, nil}, 1, 1, false}, nil
	case "last2":
		l := make(lastTwo)
		return way{guesser{l.guess, l.ended}, 1, 1, false}, nil
	case "ratio":
		r := make(ratios)
		return way{guesser{r.guess, r.ended}, 1, 1, false}, nil
	case "brokers":
		return way{&likeness{}, plan.Views, plan.UsualDraws, false}, nil
	case "best":
		return way{&likeness{}, plan.Views, spread, true}, nil
	}
	return way{}, fmt.Errorf("there is no way %q to believe in run times; there are %s", method, strings.Join(Methods, ", "))
}

// NeedsLimits tells whether a method looks at requested times.
func NeedsLimits(method string) bool { return method != "actual" }

// CheckMethod tells whether method is one of Methods.
func CheckMethod(method string) error {
	_, err := newWay(method)
	return err
}

// guesser has one guess for each job. A guess that a job outlives is doubled until it
// is not; none is more than the limit.
type guesser struct {
	guess func(j *Job) int64
	learn func(j *Job)
}

func (g guesser) at(grid.Tick, []plan.Alive) {}

func (g guesser) ended(j *Job, _ int64) {
	if g.learn != nil {
		g.learn(j)
	}
}

func (g guesser) believe(j *Job, elapsed int64, into []grid.Tick) {
	run := max(g.guess(j), 1)
	for run <= elapsed {
		run *= 2
	}
	run = max(min(run, j.Limit), elapsed+1)
	for i := range into {
		into[i] = grid.Tick(run)
	}
}

// lastTwo is how long the last two of each user ran.
type lastTwo map[int32][]int64

func (l lastTwo) ended(j *Job) {
	l[j.User] = append(l[j.User], j.Run)
	l[j.User] = l[j.User][max(len(l[j.User])-2, 0):]
}

func (l lastTwo) guess(j *Job) int64 {
	switch runs := l[j.User]; len(runs) {
	case 0:
		return j.Limit
	case 1:
		return runs[0]
	default:
		return (runs[0] + runs[1]) / 2
	}
}

// ratios is how long the jobs of each user ran, and were to run at most.
type ratios map[int32]struct{ run, limit float64 }

func (r ratios) ended(j *Job) {
	sum := r[j.User]
	sum.run += float64(j.Run)
	sum.limit += float64(j.Limit)
	r[j.User] = sum
}

func (r ratios) guess(j *Job) int64 {
	sum := r[j.User]
	if sum.limit == 0 {
		return j.Limit
	}
	return int64(sum.run / sum.limit * float64(j.Limit))
}

// likeness is plan.RunTimes, and what it believes now.
type likeness struct {
	times plan.RunTimes
	now   *plan.Beliefs
}

func (l *likeness) ended(j *Job, start int64) {
	l.times.Ended(trait(j), grid.Tick(start), grid.Tick(j.Run))
}

func (l *likeness) at(now grid.Tick, running []plan.Alive) { l.now = l.times.At(now, running) }

func (l *likeness) believe(j *Job, elapsed int64, into []grid.Tick) {
	l.now.Believe(trait(j), grid.Tick(elapsed), into)
}

func trait(j *Job) plan.Trait {
	return plan.Trait{Who: int64(j.User), Cores: j.Procs, Limit: grid.Tick(j.Limit)}
}
