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

func (c *home) fetched(e Fetched) {
	if e.Set == InputFiles {
		c.ownership.inputsFetched(e)
		return
	}
	j := c.job(e.Job)
	if j == nil {
		return
	}
	j.pulling = false
	if !j.bringing() || j.rec.Epoch != e.Epoch {
		return
	}
	if e.Err != "" {
		c.note(e.Job, j.rec.Owner, "fetching its output: "+clip(e.Err))
		if j.fails++; !e.Final || j.fails < maxFinal {
			c.backoff(j, onPull)
			return
		}
		j.rec.Outputs = nil
		j.rec.Reason = "its output could not be fetched: " + clip(e.Err)
	}
	c.conclude(j)
}

// maxFinal is how often a fetch is tried again that its error says cannot be mended.
const maxFinal = 5

// broughtHome: all is at home; the owner may forget.
func (c *home) broughtHome(j *job) {
	c.terminal(j, j.rec.End)
	c.send(j.rec.Owner, wire.ReportAck{Job: j.rec.Job.ID, Epoch: claimed(&j.rec), Number: j.rec.Report, Closed: true})
}
