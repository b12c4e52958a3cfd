package broker

import "gbroker/grid"

// Trials. A journal that was rolled back may lack attempts: what it holds as waiting may
// have been submitted since, may run, or may have ended here. Tokens know. So each job
// that this site owns and may still start is tried, one number after the other, before it
// is started or handed on:
//
//	READY ─► the number after the last, on disk ─► Probe ─ waits, started, ended ─► that is the attempt
//	                      ▲                          ├ withdrawn ─► the next number
//	                      └──────────────────────────┘
//	                                                 └ unknown ─► Withdraw ─► READY: no attempt can start any more
//
// No number is used before the one before it is withdrawn, so behind one that is
// unknown there is none.

// tryAll begins the trials.
func (c *Core) tryAll() {
	for _, j := range c.sorted() {
		if j.rec.Standing != grid.Owning || j.rec.CancelRequested || j.trial {
			continue
		}
		switch j.rec.State {
		case grid.Ready:
			j.trial = true
			c.tryNext(j)
		case grid.Assigned:
			j.trial = true
			c.emit(Probe{c.attempt(j)})
		}
	}
}

// tryNext asks for the number after the last that is known.
func (c *Core) tryNext(j *job) {
	j.rec.Attempt++
	c.onTrial(j)
}

// onTrial asks for the present attempt, which may be another than the journal had.
func (c *Core) onTrial(j *job) {
	j.unused = false
	j.rec.State, j.rec.Local, j.rec.Missing = grid.Assigned, "", 0
	j.awaits = false
	c.disarm(j, onHandoff)
	c.save(j, "the journal was rolled back: it may have been submitted since")
	c.emit(Probe{c.attempt(j)})
	c.arm(j, onBatch, c.cfg.Refresh)
}

// tried takes the word on an attempt under trial; false if it is no more than any other.
func (c *Core) tried(j *job, phase grid.Phase) bool {
	switch {
	case !j.trial:
		return false
	case phase == grid.Withdrawn:
		c.tryNext(j)
		return true
	case phase == grid.Unknown && j.rec.Local == "":
		j.unused = true
		c.withdraw(j)
		return true
	}
	j.trial = false
	if j.rec.Uncertain { // it was not handed over: before that its attempt would have been withdrawn
		j.rec.Uncertain = false
		c.save(j, "")
	}
	return false
}
