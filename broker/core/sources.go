package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
)

// Inputs by URI. They are fetched at the site that will run the job: by a candidate before its
// Ready, by the site where it is handed in before the job is given to the batch system there. Before
// the first search this site asks what they cost:
//
//	READY ─► Weigh ─► Weighed ─► the search
//
// A site that cannot have one of them, though it has tried for a while, refuses the job, and is believed
// for some time (refused.go). The job goes to another; where none is left that may take it, it
// ends with the words of all. How fast files come from such a place is measured by those that came to
// this site. No site knows that of another: it is believed
// to be the same for all, so it makes no site better than another.

// weight is z: what has to be brought for this job, from here and from elsewhere, in bytes.
func (j *job) weight() int64 { return sizeOf(&j.rec.Job) + j.cost.Bytes }

// fetching is how long a site will take to fetch what a job takes by URI: as fast as it came here, where something
// has, else as is believed.
func (c *search) fetching(j *job) grid.Tick {
	return j.cost.Takes + grid.FromSeconds(float64(j.cost.Bytes-j.cost.Measured)/c.cfg.SourceRate)
}

// unweighed asks what the sources of a job cost; true tells that the search has to wait for that.
func (c *search) unweighed(j *job) bool {
	if len(j.rec.Job.Sources) == 0 || j.weighed {
		return false
	}
	if !j.weighing {
		j.weighing = true
		c.emit(Weigh{Job: j.rec.Job})
	}
	return true
}

func (c *search) onWeighed(e Weighed) {
	j := c.job(e.Job)
	if j == nil || !j.weighing {
		return
	}
	j.weighing, j.weighed, j.cost = false, true, e.Cost
	c.count(j, c.usageOf(j))
	if j.rec.State != grid.Ready || j.rec.Role != grid.Owning {
		return
	}
	if all, most := j.rec.Job.Inputs.Size()+j.cost.Bytes, c.cfg.User.Bytes; c.isHome(j) && most > 0 && all > most {
		j.excess = all
	}
	c.undecide(j)
}

// tooHeavy ends a job that alone brings more than its user may have. The search asks it with the gate of a start: in a branch of the
// journal that is lost the job may have started elsewhere.
func (c *search) tooHeavy(j *job) bool {
	if j.excess == 0 {
		return false
	}
	c.execution.end(j, grid.Failed, fmt.Sprintf("it brings %d bytes, by URI too: the limit `bytes` of its home is %d for each user", j.excess, c.cfg.User.Bytes))
	return true
}

// Outputs that go elsewhere. All that a job leaves comes home; its home then brings to their
// places what goes there, and ends the job. So it is brought once, and of the one run whose end
// was adopted, whatever became of other runs:
//
//	its output is at home ─► Export ─► Exported ─► the end
//
// What could not be brought, though it was tried for a while, makes the job FAILED, and stays at home.

// conclude ends a job whose output is at home.
func (c *home) conclude(j *job) {
	if c.killedUnheard(j) {
		return
	}
	if !goesElsewhere(j) {
		c.concluded(j)
		return
	}
	if !j.exporting {
		j.exporting = true
		c.emit(Export{Job: j.rec.Job, Epoch: j.rec.Epoch, Left: j.rec.Outputs})
	}
}

// concluded: nothing is left to be done with its output.
func (c *home) concluded(j *job) {
	if j.rec.Role == grid.Owning {
		c.terminal(j, j.rec.End)
		return
	}
	c.broughtHome(j)
}

// goesElsewhere tells of a job that has left something that goes elsewhere.
func goesElsewhere(j *job) bool {
	return slices.ContainsFunc(j.rec.Job.Outputs, func(o grid.Output) bool { return o.URI != "" && left(j, o) })
}

func left(j *job, o grid.Output) bool {
	return slices.ContainsFunc(j.rec.Outputs, func(f grid.File) bool { return f.Path == o.Stored() })
}

// exportedAgain shows users why a job whose program has ended does not end.
func (c *home) exportedAgain(e ExportedAgain) {
	if j := c.job(e.Job); j != nil && j.exporting && j.rec.Epoch == e.Epoch {
		shown := copyOf(&j.rec)
		shown.Reason = "it is brought again, as it failed: " + clip(e.Why)
		c.emit(Show{shown})
	}
}

func (c *home) exported(e Exported) {
	j := c.job(e.Job)
	if j == nil {
		return
	}
	j.exporting = false
	running := j.rec.Role == grid.Owning && j.rec.State == grid.Finished
	if !c.isHome(j) || !running && !j.bringing() || j.rec.Epoch != e.Epoch {
		return
	}
	if e.Err != nil {
		c.note(e.Job, "", "bringing its output to its places: "+clip(e.Err.Error()))
		if running {
			c.backoff(j, onBatch)
		} else {
			c.backoff(j, onPull)
		}
		return
	}
	if len(e.Failed) > 0 {
		text := fmt.Sprintf("it could not be brought where it goes, and is here: %s", clip(e.Failed[0]))
		if n := len(e.Failed) - 1; n > 0 {
			text += fmt.Sprintf(", and %d more", n)
		}
		j.remark(text)
		if j.rec.End == grid.Completed {
			j.rec.End = grid.Failed
		}
	}
	j.rec.Outputs = slices.DeleteFunc(slices.Clone(j.rec.Outputs), func(f grid.File) bool { return slices.Contains(e.Gone, f.Path) })
	j.obstructed("") // so what is gone is saved, also where the end has to wait again
	if !c.killedUnheard(j) {
		c.concluded(j)
	}
}
