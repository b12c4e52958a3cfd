package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

// bringing reports that the end of the job is known and its output is not yet here.
// A job that was given up for lost gains its result in that state.
func (j *job) bringing() bool {
	return j.rec.State == grid.StageOut || j.rec.State == grid.Lost && j.rec.End != 0 && j.rec.End != grid.Lost
}

// pull brings the output home, then ends the job.
func (c *home) pull(j *job) {
	if !c.isHome(j) || !j.bringing() || j.pulling || c.killedUnheard(j) {
		return
	}
	if c.gates.beforeTelling(j) == open {
		c.broughtHome(j)
		return
	}
	if m := c.members[j.rec.Owner]; m == nil || m.live != grid.Alive {
		return // asked again when it lives
	}
	j.pulling = true
	c.emit(Fetch{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, From: j.rec.Owner, Set: OutputFiles, Files: j.rec.Outputs})
}

// hearSetBack: an owner that has told the end of a job would start it. So it says where it was put back with its machine, or a late copy
// of what it said before: the fetch of the output tells which.
func (c *home) hearSetBack(j *job, m wire.Report) {
	if m.State == grid.Ready && j.bringing() && !j.setBack {
		j.setBack, j.fails = true, 0
	}
}

// fetched: the output is here, or cannot be had now, or never. It never can where its owner was put back to before the end of the job, which
// it will not start again, as this home does not acknowledge that.
func (c *home) fetched(e Fetched) {
	if e.Set == InputFiles {
		c.ownership.inputsFetched(e)
		return
	}
	j := c.job(e.Job)
	if j == nil || j.rec.Owner != e.From {
		return // a former owner has not the output of the end that is told
	}
	j.pulling = false
	if !j.bringing() || j.rec.Epoch != e.Epoch {
		return
	}
	if e.Err != nil {
		c.note(e.Job, j.rec.Owner, "fetching its output: "+clip(e.Err.Error()))
		gone := e.Unended && j.setBack
		if e.Final || gone {
			j.fails++
		}
		if !e.Final && !gone || j.fails < maxFinal {
			c.backoff(j, onPull)
			return
		}
		j.rec.Outputs = nil
		j.rec.Reason = "its output could not be fetched: " + clip(e.Err.Error())
		if gone {
			j.rec.Reason = "its output is gone: " + c.nameOf(j.rec.Owner) + " was put back to before the end of the job"
		}
	}
	c.conclude(j)
}

// maxFinal is how often an error must say that it cannot be mended: what cannot be fetched for another reason says nothing of that.
const maxFinal = 5

// broughtHome: all is at home; the owner may forget.
func (c *home) broughtHome(j *job) {
	c.terminal(j, j.rec.End)
	c.send(j.rec.Owner, wire.ReportAck{Job: j.rec.Job.ID, Epoch: claimed(&j.rec), Number: j.rec.Report, Closed: true})
}
