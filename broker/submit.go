package broker

import (
	"cmp"
	"fmt"
	"slices"

	"gbroker/grid"
)

// Submission. The key makes a repeated request the same job:
//
//	Submit ─► no files:  SUBMITTED, READY        ─► search
//	       └► files:     SUBMITTED, STAGEIN ─► Uploaded ─► READY ─► search

func (c *Core) submit(e Submit) {
	key := submissionKey{e.Job.User, e.Key}
	if id, ok := c.keys[key]; ok && e.Key != "" {
		c.emit(Answer{Token: e.Token, Record: *copyOf(&c.jobs[id].rec), Again: true})
		return
	}
	if c.jobs[e.Job.ID] != nil {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: the identifier %s is taken", grid.ErrInvalid, e.Job.ID)})
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
		c.save(j, fmt.Sprintf("waiting for %d files", len(e.Job.Inputs)))
		c.arm(j, onUpload, c.cfg.UploadLimit)
	} else {
		c.ready(j, "nothing to bring")
	}
	c.emit(Answer{Token: e.Token, Record: *copyOf(&j.rec)})
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
		c.drop(j)
		c.emit(Answer{Token: e.Token, Record: *copyOf(&j.rec)})
	}
}

// retain drops what has been kept long enough, or is too much.
func (c *Core) retain() {
	var bytes int64
	list := c.sorted()
	slices.SortStableFunc(list, func(a, b *job) int { return cmp.Compare(b.rec.Ended, a.rec.Ended) })
	for _, j := range list { // the newest first: they are kept
		if !j.rec.State.Terminal() && j.rec.Standing != grid.Past && j.rec.Standing != grid.Declined {
			continue
		}
		size := j.rec.Outputs.Size() + j.rec.Job.Inputs.Size()
		old := j.rec.Ended > 0 && c.now-j.rec.Ended > c.cfg.Keep
		if old || c.cfg.KeepBytes > 0 && bytes+size > c.cfg.KeepBytes && c.home(j) {
			c.drop(j)
			continue
		}
		bytes += size
	}
	c.armGeneral(retentionDue, grid.Hour)
}
