package core

import (
	"strings"

	"gbroker/grid"
)

func (c *execution) collect(j *job) {
	if c.home.killedUnheard(j) {
		return
	}
	if !j.reading {
		j.reading = true
		c.emit(Collect{Job: j.rec.Job, Epoch: j.rec.Epoch})
	}
}

func (c *execution) collected(e Collected) {
	j := c.job(e.Job)
	if j == nil {
		return
	}
	j.reading = false
	if j.rec.State != grid.Finished || j.rec.Epoch != e.Epoch {
		return
	}
	if e.Err != nil {
		c.note(e.Job, "", "collecting its output: "+e.Err.Error())
		c.uncollected(j, e.Err.Error())
		return
	}
	j.rec.Outputs = e.Outputs
	if len(e.Missing) > 0 {
		j.remark("it did not leave " + clip(listed(e.Missing)))
	}
	if e.Full > 0 && e.Full >= j.rec.Started {
		j.remark(wasFull)
	}
	c.close(j, "its output is collected")
}

// wasFull is told of every job that ran then, as its program may have said nothing of it, or could not.
const wasFull = "the disk of its site was full, or nearly, while it ran: what it wrote may be cut short"

// uncollected keeps a job that has ended in FINISHED, where its status says why: what it left
// is the only copy, and its end is not told before that is safe. Only when it would have been
// dropped by its age anyway it is given up, and the job with it.
func (c *execution) uncollected(j *job, err string) {
	if c.now-j.rec.Finished > max(c.cfg.Keep, leastTries) && j.rec.Finished > 0 {
		j.rec.End, j.rec.Outputs = grid.Failed, nil
		j.rec.Reason = "its output could never be collected: " + clip(err)
		c.close(j, "its output is given up")
		return
	}
	if j.obstructed("the output is not collected yet, which is tried again: " + clip(err)) {
		c.save(j, "its output is not collected: "+clip(err))
	}
	c.backoff(j, onBatch)
}

// leastTries is how long the output of a job is tried to be collected at the least.
const leastTries = 30 * grid.Day

func listed(missing []grid.MissingOutput) string {
	list := make([]string, len(missing))
	for i, m := range missing {
		list[i] = m.String()
	}
	return strings.Join(list, ", ")
}
