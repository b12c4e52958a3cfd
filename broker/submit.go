package broker

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"gbroker/grid"
)

// Submission. The key makes a repeated request the same job:
//
//	Submit ─► no files:  SUBMITTED, READY        ─► search
//	       └► files:     SUBMITTED, STAGEIN ─► Uploaded ─► READY ─► search

func (c *Core) submit(e Submit) {
	key := submissionKey{e.Job.User, e.Key}
	if id, ok := c.keys[key]; ok && e.Key != "" && c.jobs[id] != nil {
		known := &c.jobs[id].rec
		if !known.Removed && !alike(&known.Job, &e.Job) {
			c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: the key is that of job %s, which another document asked for: use another key", grid.ErrInvalid, id)})
			return
		}
		c.emit(Answer{Token: e.Token, Record: *copyOf(known), Again: true})
		return
	}
	if c.jobs[e.Job.ID] != nil {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: the identifier %s is taken", grid.ErrInvalid, e.Job.ID)})
		return
	}
	if err := c.admit(&e.Job); err != nil {
		c.emit(Answer{Token: e.Token, Err: err})
		return
	}
	j := &job{rec: grid.Record{
		Job: e.Job, Key: e.Key, Standing: grid.Owning, State: grid.Submitted,
		Epoch: grid.Epoch{Term: 1}, Owner: c.cfg.Self, Submitted: c.now,
	}}
	c.jobs[e.Job.ID] = j
	if e.Key != "" {
		c.keys[key] = e.Job.ID
	}
	c.save(j, "accepted from "+e.Job.User.Name)
	if len(e.Job.Inputs) > 0 {
		j.rec.State = grid.StageIn
		c.save(j, fmt.Sprintf("files to come: %d", len(e.Job.Inputs)))
		c.arm(j, onUpload, c.cfg.UploadLimit)
	} else {
		c.ready(j, "nothing to bring")
	}
	c.emit(Answer{Token: e.Token, Record: *copyOf(&j.rec)})
}

// alike: both ask for the same. Their files are not compared: an upload completes
// the list of those.
func alike(a, b *grid.Job) bool {
	return a.Name == b.Name && a.Queue == b.Queue && a.Walltime == b.Walltime && a.Rerunnable == b.Rerunnable &&
		reflect.DeepEqual(a.Program, b.Program) && reflect.DeepEqual(a.Demand, b.Demand)
}

// uploaded makes the manifest final. Asked again it answers the same.
func (c *Core) uploaded(e Uploaded) {
	j := c.jobs[e.Job]
	switch {
	case j == nil:
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: job %s", grid.ErrNotFound, e.Job)})
		return
	case j.rec.State == grid.StageIn:
		j.rec.Job.Inputs, j.digest = e.Inputs, grid.Hash{}
		c.disarm(j, onUpload)
		c.ready(j, "all files are here")
	}
	c.emit(Answer{Token: e.Token, Record: *copyOf(&j.rec)})
}

// ready puts the job up for the search.
func (c *Core) ready(j *job, why string) {
	j.rec.State = grid.Ready
	c.save(j, why)
	c.undecide(j)
}

// last is when the job ended, as far as it has.
func (j *job) last() grid.Tick { return max(j.rec.Ended, j.rec.Finished) }

// old: what ended then has been kept long enough. Not in the first day after a start
// that lies far from all that is known: the clock may be wrong, and whoever wants a
// result may have been down as long.
func (c *Core) old(ended grid.Tick) bool {
	return ended > 0 && c.now-ended > c.cfg.Keep && c.now >= c.ageFrom
}

// stranded: a result that the home of its job has not taken, and cannot now.
func (c *Core) stranded(j *job) bool {
	if j.rec.Standing != grid.Owning || c.home(j) || j.rec.State != grid.StageOut {
		return false
	}
	m := c.members[j.rec.Job.Home]
	return m == nil || m.live != grid.Alive
}

// dropResult gives up a result that nobody has taken.
func (c *Core) dropResult(j *job, why string) {
	c.note(j.rec.Job.ID, j.rec.Job.Home, "the result is dropped: "+why)
	c.drop(j)
}

// unclaimed: a home has not taken the result of its job for as long as results are kept.
func (c *Core) unclaimed(j *job) bool {
	since := max(j.rec.Finished, j.rec.Submitted)
	return j.rec.Standing == grid.Owning && !c.home(j) && j.rec.State == grid.StageOut && c.old(since)
}

func (c *Core) uploadDue(j *job) {
	if j.rec.State == grid.StageIn {
		c.end(j, grid.Failed, fmt.Sprintf("its files did not come within %.0f s", c.cfg.UploadLimit.Seconds()))
	}
}

// removeRequest deletes an ended job at the user's word.
func (c *Core) removeRequest(e RemoveRequest) {
	j := c.jobs[e.Job]
	switch {
	case j == nil:
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: job %s", grid.ErrNotFound, e.Job)})
	case !j.rec.State.Terminal():
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: job %s is %s; cancel it first", grid.ErrNotYet, e.Job, j.rec.State)})
	default:
		record := *copyOf(&j.rec)
		c.remove(j)
		c.emit(Answer{Token: e.Token, Record: record})
	}
}

// keyLife is how long the same user and key is the same job.
const keyLife = 7 * grid.Day

// remove drops an ended job and its files. At its home a tombstone stays as long as
// its key counts, and answers an owner that has not heard of the end.
func (c *Core) remove(j *job) {
	if !c.home(j) || c.now-j.rec.Submitted > keyLife && c.now-j.rec.Ended > keyLife {
		c.drop(j)
		return
	}
	j.rec.Removed = true
	j.strip()
	c.save(j, "removed")
	c.discard(j.rec.Job.ID)
}

// strip leaves of a record what a tombstone needs.
func (j *job) strip() {
	j.rec.Outputs, j.rec.Decisions, j.rec.Job.Inputs = nil, nil, nil
	j.rec.Job.Program, j.rec.Job.Outputs = grid.Program{}, nil
}

// retain drops what has been kept long enough, or is too much.
func (c *Core) retain() {
	var bytes int64
	list := inOrder(c.jobs)
	slices.SortStableFunc(list, func(a, b *job) int { return cmp.Compare(b.last(), a.last()) })
	for _, j := range list { // the newest first: they are kept
		stranded := c.stranded(j)
		if c.unclaimed(j) {
			c.dropResult(j, "its home has not taken it for as long as results are kept")
			continue
		}
		if c.live[j.rec.Job.ID] != nil && !stranded && !(j.rec.Telling && c.old(j.rec.Ended)) {
			continue // a home that has not answered for so long is not told any more
		}
		size := int64(0) // elsewhere than at home the files went with the end
		if c.home(j) || j.rec.Kept || stranded {
			size = j.rec.Outputs.Size() + j.rec.Job.Inputs.Size()
		}
		forgotten := j.rec.Removed && c.now-j.rec.Ended > keyLife && c.now-j.rec.Submitted > keyLife
		full := size > 0 && c.cfg.KeepBytes > 0 && bytes+size > c.cfg.KeepBytes
		switch {
		case j.rec.Removed && !forgotten:
			continue
		case stranded && full:
			c.dropResult(j, "its home cannot be reached, and newer results need the space")
			continue
		case c.old(j.rec.Ended), forgotten, full:
			c.remove(j)
			continue
		}
		bytes += size
	}
	c.armGeneral(retentionDue, grid.Hour)
}
