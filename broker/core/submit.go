package core

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

func (c *home) submit(e Submit) {
	key := keyOf(e.Job.User, e.Key)
	if id, ok := c.keys[key]; ok && e.Key != "" && c.peek(id) != nil {
		j := c.job(id)
		if j == nil {
			return // it could not be loaded
		}
		known := &j.rec
		if of := j.handedIn(c.whole(j)); !known.Removed && !alike(&of, &e.Job) {
			c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: the key is that of job %s, which another document, or the same with other arguments, asked for: 'gclient status %s' shows it; only for another job use another key", grid.ErrInvalid, id, id)})
			return
		}
		c.emit(Answer{Token: e.Token, Record: *copyOf(known), Again: true})
		return
	}
	if g, ok := c.groups.keys[key]; ok && e.Key != "" {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: the key is that of the group %s: use another key", grid.ErrInvalid, g)})
		return
	}
	if c.peek(e.Job.ID) != nil {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: the identifier %s is taken", grid.ErrInvalid, e.Job.ID)})
		return
	}
	if err := c.admit([]grid.Job{e.Job}); err != nil {
		c.emit(Answer{Token: e.Token, Err: err})
		return
	}
	j := c.makeJob(e.Job, e.Key, e.Anyway)
	if e.Key != "" {
		c.keys[key] = e.Job.ID
	}
	if j.rec.State == grid.Submitted {
		c.search.ready(j, "nothing to bring")
	}
	c.emit(Answer{Token: e.Token, Record: *copyOf(&j.rec)})
}

// makeJob makes the job that was handed in. It is SUBMITTED, or STAGEIN while files are to come.
func (c *home) makeJob(of grid.Job, key string, anyway bool) *job {
	j := c.newJob(of, key, anyway)
	j.came = arrival{j.rec.Epoch, c.cfg.Journal.Sequence}
	c.accept(j)
	return j
}

// newJob makes a job of which nothing is saved yet.
func (c *home) newJob(of grid.Job, key string, anyway bool) *job {
	of.Number()
	j := &job{rec: grid.Record{
		Job:       of,
		Key:       key,
		Submitted: c.terms.handedIn(&of),
		AtHome:    grid.AtHome{Anyway: anyway},
	}}
	c.beginTenure(j, grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}, Owner: c.cfg.Self}, grid.Run{})
	c.begins(j, grid.Submitted)
	c.jobs[of.ID] = j
	return j
}

// accept saves a job that is new, and waits for its files.
func (c *home) accept(j *job) {
	of := &j.rec.Job
	c.save(j, "accepted from "+of.User.Name)
	if of.Coallocation != nil {
		c.wholes.accepted(of.ID)
	}
	c.terms.await(j)
	if len(of.Inputs) > 0 {
		c.become(j, grid.StageIn)
		c.save(j, fmt.Sprintf("files to come: %d", len(of.Inputs)))
		c.arm(j, onUpload, c.cfg.UploadLimit)
	}
}

// awaitFiles: the files of the job are to come, from its user or by this broker. They may be here, where they came in a part of this journal that is lost.
func (c *kernel) awaitFiles(j *job) {
	in := c.cfg.UploadLimit
	switch {
	case c.furnishes(j):
		in = 1
	case j.rec.Unsupplied:
		c.emit(Check{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, Files: j.rec.Job.Inputs})
	}
	c.arm(j, onUpload, in)
}

// alike: both ask for the same. Their files are not compared: an upload completes
// the list of those. known was made of what was asked for, asked not yet.
func alike(known, asked *grid.Job) bool {
	a, b := known, *asked
	b.Renumber(a.ID)
	b.Number()
	return a.Name == b.Name && a.Queue == b.Queue && a.Walltime == b.Walltime && a.Rerunnable == b.Rerunnable &&
		reflect.DeepEqual(a.Program, b.Program) && reflect.DeepEqual(a.Demand, b.Demand) && reflect.DeepEqual(a.Bring, b.Bring)
}

// uploaded makes the manifest final. Asked again it answers the same.
func (c *home) uploaded(e Uploaded) {
	j := c.job(e.Job)
	switch {
	case j == nil && c.templateUploaded(e):
		return
	case j == nil:
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: job %s", grid.ErrNotFound, e.Job)})
		return
	case j.rec.State == grid.StageIn && !c.groups.shares(e.Job):
		j.rec.Job.Inputs, j.digest = e.Inputs, grid.Hash{}
		c.allHere(j)
	}
	c.emit(Answer{Token: e.Token, Record: *copyOf(&j.rec)})
}

// allHere: all files of the job have come.
func (c *home) allHere(j *job) {
	c.disarm(j, onUpload)
	j.rec.Unsupplied = false
	if !c.groups.keepsBack(j.rec.Job.ID) {
		c.search.ready(j, "all files are here")
		return
	}
	c.save(j, "all files are here; its group waits for those of other jobs")
	c.groups.arrived(j.rec.Job.ID)
}

// last is when the job ended, as far as it has.
func (j *job) last() grid.Tick { return max(j.rec.Ended, j.rec.Finished) }

// old: what ended then has been kept long enough. Not in the first day after a start
// that lies far from all that is known: the clock may be wrong, and whoever wants a
// result may have been down as long.
func (c *home) old(ended grid.Tick) bool {
	return ended > 0 && c.now-ended > c.cfg.Keep && c.now >= c.ageFrom
}

// stranded: a result that the home of its job has not taken, and cannot now.
func (c *home) stranded(j *job) bool {
	if j.rec.Role != grid.Owning || c.isHome(j) || j.rec.State != grid.StageOut {
		return false
	}
	m := c.members[j.rec.Job.Home]
	return m == nil || m.live != grid.Alive
}

// dropResult gives up a result that nobody has taken.
func (c *home) dropResult(j *job, why string) {
	c.note(j.rec.Job.ID, j.rec.Job.Home, "the result is dropped: "+why)
	c.drop(j)
}

// unclaimed: a home has not taken the result of its job for as long as results are kept.
func (c *home) unclaimed(j *job) bool {
	since := max(j.rec.Finished, j.rec.Submitted)
	return j.rec.Role == grid.Owning && !c.isHome(j) && j.rec.State == grid.StageOut && c.old(since)
}

func (c *home) uploadDue(j *job) {
	if j.rec.State == grid.StageIn && c.furnishes(j) {
		c.furnish(j)
		return
	}
	hold := c.gates.beforeFailing(j)
	if j.rec.CancelRequested || c.wholes.has(&j.rec) || hold != open || c.groups.beforeLate(j.rec.Job.ID) != open { // a branch of this journal that is lost may have had them, and have started it
		if !j.rec.CancelRequested && hold != open {
			c.notToldYet(j, hold)
		}
		c.backoff(j, onUpload)
		return
	}
	why := fmt.Sprintf("its files did not come within %.0f s", c.cfg.UploadLimit.Seconds())
	if j.rec.State == grid.StageIn && !c.groups.late(j.rec.Job.ID, why) && !c.groups.keepsBack(j.rec.Job.ID) {
		c.execution.end(j, grid.Failed, why)
	}
}

// removeRequest deletes an ended job at the user's word.
func (c *home) removeRequest(e RemoveRequest) {
	j := c.job(e.Job)
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

// keyOver: the key of what was handed in and has ended then does not count any more.
func (c *kernel) keyOver(submitted, ended grid.Tick) bool {
	return c.now-submitted > keyLife && c.now-ended > keyLife
}

// remove drops an ended job and its files. At its home a tombstone stays as long as
// its key counts, and answers an owner that has not heard of the end.
func (c *home) remove(j *job) {
	if !c.isHome(j) || c.keyOver(j.rec.Submitted, j.rec.Ended) {
		c.tellGone(j)
		c.drop(j)
		return
	}
	j.rec.Removed = true
	j.strip()
	c.save(j, "removed")
	c.discard(j.rec.Job.ID)
}

// tellGone saves once more, as removed, a job of which only the journal tells: whoever follows the changes learns from what is shown of one that it
// is gone, and of that one nothing is.
func (c *home) tellGone(j *job) {
	if r := &j.rec; IsArchived(r) && !r.Removed && r.Role != grid.Declined && (r.Role != grid.Tombstone || r.Started > 0) {
		r.Removed = true
		j.strip()
		c.emit(Save{grid.Saved(copyOf(r))})
	}
}

// strip leaves of a record what a tombstone needs.
func (j *job) strip() {
	j.rec.Outputs, j.rec.Stay, j.rec.Job.Inputs = nil, nil, nil
	j.rec.Job.Program, j.rec.Job.Outputs, j.brief = grid.Program{}, nil, 0
}

// retain drops what has been kept long enough, or is too much.
func (c *home) retain() {
	c.forgetClosed()
	var bytes int64
	for _, id := range c.latestFirst() { // the newest are kept
		size, drop := c.retained(id, bytes)
		if drop {
			if j := c.job(id); j != nil {
				c.remove(j)
			}
			continue
		}
		bytes += size
	}
	c.groups.retain(func(g *grid.Group) bool {
		_, gone := c.outlived(g.Removed, g.Submitted, g.Ended, 0, 0)
		return gone
	}, func(g *grid.Group) bool { return g.Key != "" && !c.keyOver(g.Submitted, g.Ended) })
	c.armGeneral(retentionDue, grid.Hour)
}

// latestFirst are the jobs that may have to go, by when they ended: where files take no more than they may, those
// archived ones do not that are new enough.
func (c *home) latestFirst() []grid.JobID {
	type entry struct {
		id   grid.JobID
		last grid.Tick
	}
	list := make([]entry, 0, len(c.jobs))
	for id, j := range c.jobs {
		list = append(list, entry{id, j.last()})
	}
	for id, p := range c.archive {
		if c.cfg.KeepBytes == 0 && !p.removed && !c.old(p.ended) {
			continue
		}
		list = append(list, entry{id, p.ended})
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Or(cmp.Compare(b.last, a.last), cmp.Compare(a.id, b.id)) })
	ids := make([]grid.JobID, len(list))
	for i, e := range list {
		ids[i] = e.id
	}
	return ids
}

// retained says what the files of a job take that is kept, beside those of newer ones, or
// that it is to go.
func (c *home) retained(id grid.JobID, newer int64) (size int64, drop bool) {
	if p, is := c.archive[id]; is {
		if p.home == c.cfg.Self || p.kept { // elsewhere than at home the files went with the end
			size = p.size
		}
		return c.outlived(p.removed, p.submitted, p.ended, size, newer)
	}
	j := c.jobs[id]
	stranded := c.stranded(j)
	if c.unclaimed(j) {
		c.dropResult(j, "its home has not taken it for as long as results are kept")
		return 0, false
	}
	if c.live[id] != nil && !stranded && !(j.rec.Telling && c.old(j.rec.Ended)) {
		return 0, false // a home that has not answered for so long is not told any more
	}
	if c.isHome(j) || j.rec.Kept || stranded {
		size = sizeHere(&j.rec)
	}
	if stranded && !j.rec.Removed && c.tooMuch(size, newer) {
		c.dropResult(j, "its home cannot be reached, and newer results need the space")
		return 0, false
	}
	return c.outlived(j.rec.Removed, j.rec.Submitted, j.rec.Ended, size, newer)
}

func (c *home) tooMuch(size, newer int64) bool {
	return size > 0 && c.cfg.KeepBytes > 0 && newer+size > c.cfg.KeepBytes
}

func (c *home) outlived(removed bool, submitted, ended grid.Tick, size, newer int64) (int64, bool) {
	forgotten := removed && c.keyOver(submitted, ended)
	if removed && !forgotten {
		return 0, false
	}
	return size, c.old(ended) || forgotten || c.tooMuch(size, newer)
}

// admit refuses jobs of one user who with them would have more than the limits allow.
func (c *home) admit(jobs []grid.Job) error {
	more := usage{jobs: len(jobs)}
	for i := range jobs {
		if err := c.terms.admitTerms(&jobs[i]); err != nil {
			return err
		}
		if err := c.budgets.admit(&jobs[i]); err != nil {
			return err
		}
		more.add(c.ofJob(&jobs[i]), 1)
	}
	this, smaller := "this job is", "make the job smaller"
	if len(jobs) > 1 {
		this, smaller = "this group is", "make the group smaller"
	}
	return c.within(jobs[0].User.Name, more, this, smaller)
}

// within refuses what with what a user has would be more than the limits allow.
func (c *home) within(user string, more usage, this, smaller string) error {
	have, l := c.users[user], c.cfg.User
	have.add(c.groups.takes(user), 1)
	for _, k := range []struct {
		what             string
		have, more, most int64
		way              string
	}{
		{"jobs", int64(have.jobs), int64(more.jobs), int64(l.Jobs), "jobs that have not ended"},
		{"processes", int64(have.processes), int64(more.processes), int64(l.Processes), "processes of jobs that have not started"},
		{"documents", have.documents, more.documents, l.Documents, "bytes of documents of jobs that have not ended"},
		{"bytes", have.bytes, more.bytes, l.Bytes, "bytes of files of jobs that have not ended"},
	} {
		if k.most == 0 || k.have+k.more <= k.most {
			continue
		}
		way := "wait until some have ended, or cancel some"
		if k.more > k.most {
			way = smaller
		}
		return fmt.Errorf("%w: the limit `%s` of this site allows each user %d %s; %s has %d, and %s %d more: %s. "+
			"Its administrator sets `limits` in gbroker.yaml", grid.ErrNotYet, k.what, k.most, k.way, user, k.have, this, k.more, way)
	}
	return nil
}
