package core

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
)

// What is learned of run times. Users ask for several times what their jobs take;
// how long the jobs that ran here really took tells how long the next ones will. A
// likely plan rests on that; what is promised, and the kill limit, never do.

// trait is what is known of a job before it runs.
func (c *estimator) trait(j *grid.Job) plan.Trait {
	t := c.shape(j.Demand, j.Walltime)
	t.Who = who(j)
	if c.cfg.Known != nil {
		t.Known = runTime(c.cfg.Known(j), c.cfg.Site.Speed)
	}
	return t
}

// shape is what is known of a job without its user.
func (c *estimator) shape(d grid.Demand, walltime grid.Tick) plan.Trait {
	return plan.Trait{Cores: few(d.Cores()), Limit: c.limit(walltime)}
}

func few(cores int) int32 { return int32(min(cores, 1<<30)) }

// who hashes the user and the application: the name of the job without its digits
// (people number their runs), or the executable where it has none.
func who(j *grid.Job) int64 {
	application := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, j.Name)
	h := fnv.New64a()
	for _, s := range []string{string(j.User.Home), j.User.Name, cmp.Or(application, j.Program.Executable)} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return int64(h.Sum64())
}

// ranHere tells that the program of a job was started by this site's batch system.
func ranHere(r *grid.Record) bool {
	return r.Queued > 0 && r.Started > 0 && r.State >= grid.Running && !r.Removed
}

// learnable are the ends that tell how long a program runs.
var learnable = []grid.State{grid.Completed, grid.Killed, grid.CancelledWalltime}

// learn takes the run time of a job that ended here.
func (c *estimator) learn(r *grid.Record) {
	if x, did := c.runOf(r); did {
		c.learnRun(x)
	}
}

func (c *estimator) learnRun(x run) {
	if !c.cfg.Unlearned && x.finish > 0 && slices.Contains(learnable, x.end) {
		c.learned++
		c.runTimes.Ended(x.trait, x.started, max(0, x.finish-x.started))
	}
}

// beliefs are what is believed of run times beside the jobs that run in a snapshot.
func (c *estimator) beliefs(s *plan.Snapshot) *plan.Beliefs {
	alive := make([]plan.Alive, len(s.Running))
	for i := range s.Running {
		alive[i] = plan.Alive{Trait: s.Running[i].Trait, Start: s.Running[i].Start}
	}
	return c.runTimes.At(s.At, alive)
}

// draws is how often run times are drawn for a plan: so seldom where many jobs are planned that it costs no more than some few plans of
// a thousand jobs.
func (c *estimator) draws(s *plan.Snapshot) int {
	switch jobs := len(s.Running) + len(s.Waiting); {
	case c.cfg.Known != nil || c.cfg.Draws <= 1 || jobs > 1000:
		return 1
	case jobs > 300:
		return min(c.cfg.Draws, 3)
	}
	return c.cfg.Draws
}

// withTraits says of the jobs of a snapshot by what their run times are believed:
// ours by their records, others by what the snapshot says of them, or their shape.
func (c *estimator) withTraits(s plan.Snapshot) plan.Snapshot {
	s.Running, s.Waiting = slices.Clone(s.Running), slices.Clone(s.Waiting)
	for i := range s.Running {
		r := &s.Running[i]
		cores := 0
		for _, h := range r.Shares {
			cores += h.Cores
		}
		r.Trait = c.traitOf(r.Job, r.Trait, cores, r.End-r.Start)
	}
	for i := range s.Waiting {
		w := &s.Waiting[i]
		w.Trait = c.traitOf(w.Job, w.Trait, w.Demand.Cores(), w.Limit)
	}
	return s
}

func (c *estimator) traitOf(id grid.JobID, said plan.Trait, cores int, limit grid.Tick) plan.Trait {
	if j := c.job(id); id != "" && j != nil { // a listing may show one that has ended
		if j.trait == (plan.Trait{}) { // reckoned once: what it rests on does not change
			j.trait = c.trait(&j.rec.Job)
		}
		return j.trait
	}
	if a := c.accepted[id]; a != nil {
		return c.trait(&a.offer.Job)
	}
	said.Cores = cmp.Or(said.Cores, few(cores))
	said.Limit = cmp.Or(said.Limit, limit)
	return said
}
