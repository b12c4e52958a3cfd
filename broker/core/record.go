package core

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// submissionKey stands for a user and a key: their hash, for there are as many as jobs.
type submissionKey [16]byte

func keyOf(u grid.User, key string) (k submissionKey) {
	h := sha256.New()
	for _, s := range []string{string(u.Home), u.Name, key} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	copy(k[:], h.Sum(nil))
	return k
}

// job is a record and what is known of it in memory only, by the machine that needs it.
type job struct {
	rec       grid.Record
	due       [concerns]grid.Tick // when each concern's timer fires; 0 is off
	tries     [concerns]int       // repeats since the concern began
	place     place               // where its program was last seen to run
	digest    grid.Hash           // of the job as it travels; see sum
	recovered bool                // it was in the journal when this life began, or here over a stall
	stub      bool                // what is known of an archived job without its record; see archive.go
	size      int64               // of its files, of a stub
	said      said                // what its user was told; see told.go
	counted   usage               // home: what it counts for its user
	brief     int64               // bytes of the texts of its document that are in the journal alone; see document.go
	ownSum    grid.Hash           // then, the digest of the record's version
	decisions []grid.Decision     // made since the last save
	stay      *grid.Decision      // of rec, as the journal has it
	ofTenure
	ofOwnership
	ofPrepared
	ofSearch
	ofExecution
	ofHome
	ofRecovery
}

// ofTenure is what is known of the present tenure; see beginTenure. What counts over several has a place below: the last word of the home, as
// what it has said lately holds whoever had the job since (own and ownedAt know better); claims and successors, as they are of a term; and what is of
// this site's batch system, or of an offer.
type ofTenure struct {
	heard   grid.Tick                 // last word of the candidate (owner), of who offers it (candidate) or of the owner (home)
	fails   int                       // in a row, of what is being tried
	blocked map[grid.PeerID]grid.Tick // owner: candidates not to be asked before
	known   bool                      // owner: the home knows that this broker owns it
	acked   bool                      // owner: the home has the present report
	since   uint64                    // owner: the home counts as heard by the acknowledgement of a report from this number on
	told    grid.Tick                 // owner: when the home was last told of an estimate
	asked   grid.Tick                 // home: when its owner, which does not report it, was asked last
	version grid.Hash                 // home: that its owner has, as its last report says, if that says it
	pulling bool                      // home: its output is being fetched
	setBack bool                      // home: its owner has reported it READY after its end; see fetched
}

// ofOwnership is what the handoff of a job needs, and to prove who owns it.
type ofOwnership struct {
	began grid.Tick // when the offer went out
	// pullBegan is when a first offer was accepted, with files to fetch; 0 else.
	pullBegan grid.Tick
	committed bool   // owner: Commit was said
	hops      uint32 // that it will have behind it at the candidate
}

// ofPrepared is what a candidate knows of the offer for which the job is PREPARED, in this life: each replaces it.
type ofPrepared struct {
	stalled    bool           // there was a stall since, and a Commit may be older than that
	inputsHere bool           // its inputs are here
	giverGone  bool           // an administrator has forgotten who offered it
	giverWord  string         // what he has said
	after      grid.JournalID // how far its owner's journal was
}

// ofSearch is what is needed to find its place.
type ofSearch struct {
	queued  bool           // in search.undecided
	sweep   uint64         // the last one of the searches for waiting jobs that had it
	chosen  grid.Candidate // by the last of them; zero after a restart
	asksAll bool           // by what a site told it was refused there
	trait   plan.Trait     // by which its run time is believed; see traitOf
	// weighing and weighed: it is, and was, asked what its sources cost: what cost says; see sources.go.
	weighing, weighed bool
	cost              grid.SourceCost
	excess            int64 // how many bytes that is, where it is more than its user may have; 0 is not
}

// ofExecution is what its attempt in the batch system here needs.
type ofExecution struct {
	withdrawing grid.AttemptID          // whose Withdraw is under way; of an older attempt it does not count
	reading     bool                    // a Collect is under way
	awaits      bool                    // owner: it is to be launched as soon as the gate of its start is open, and its reservation is confirmed
	worn        bool                    // an earlier attempt has, or may have, run in the working tree, which was not made anew since
	launched    grid.AttemptID          // the last attempt that was submitted in this life
	misses      int                     // good listings in a row that lack the present attempt
	refused     map[grid.PeerID]refusal // sites that would not take it; see refused.go
	damaged     grid.Tick               // since when its control files cannot be believed; 0: they can. See damaged.go
}

// ofHome is what home and owner have to know of each other.
type ofHome struct {
	homeHeard  grid.Tick            // owner: last word of the home; 0 is none in this life, or since a stall
	untold     untold               // home: what its obstacle says that its end waits for; zero after a restart
	notifying  bool                 // home: a notice is being sent
	altered    grid.Tick            // home: when it was altered last, in this life
	wishes     grid.Alteration      // home: that were made in this life, and for which there is no version yet
	raised     grid.Tick            // home: when its term was raised as its site was forgotten, and others may have it; see successors.go
	successors map[grid.PeerID]bool // home: who may have it since, and has not said otherwise
	exporting  bool                 // home: its output is being brought where it goes
	claim      *claim               // home: a result of an older epoch that waits for the token
	declined   grid.Epoch           // home: at which who should have it says never to own it; see disowned
	letGo      grid.Epoch           // home: at which who gave it to that one has nothing of it any more
}

// ofRecovery is what may be lacking in its record.
type ofRecovery struct {
	reconciled bool           // its control directory has said which attempts there were; see reconcile.go
	later      grid.AttemptID // submitted here after the present one, whose token is asked for first; see reconcile.go
	traceAt    grid.Epoch     // home: a site that has forgotten the job had it at that epoch; see recount.go
	traceOf    grid.PeerID    // and which
	came       arrival        // in this life; see branchedOff
	notAdopted grid.Epoch     // home: an end of that older epoch was told, and is not the job's; see lacksEnd
}

// arrival is the epoch at which a job came here, and how far the journal was then.
type arrival struct {
	epoch grid.Epoch
	at    uint64
}

// A state changes by one of three words, each with its moves in the table of package grid: of the
// broker that has the job, of another about the job, or that it begins here. A move that the
// table lacks is a mistake of this program: this Core cannot go on.

func (c *kernel) become(j *job, s grid.State) { c.move(j, s, grid.Own) }
func (c *kernel) hears(j *job, s grid.State)  { c.move(j, s, grid.Heard) }
func (c *kernel) begins(j *job, s grid.State) {
	c.move(j, s, grid.Begun)
	if s < grid.Moving { // it may have been here before, to its end; what is only offered may stay that
		j.rec.Ended, j.rec.Reason = 0, ""
	}
}

func (c *kernel) move(j *job, s grid.State, by grid.Word) {
	if !j.rec.State.CanBecome(s, by) {
		c.failed = fmt.Errorf("%w: job %s is %v at %v, and cannot become %v: %v", grid.ErrInvalid, j.rec.Job.ID, j.rec.State, j.rec.Role, s, by)
	}
	if j.rec.State != s {
		j.rec.State = s
		j.obstructed("")
	}
}

// sorted lists the live jobs in a fixed order: effects must not follow a map's order.
func (c *kernel) sorted() []*job {
	return inOrder(slices.AppendSeq(make([]*job, 0, len(c.live)), maps.Values(c.live)))
}

func inOrder(list []*job) []*job {
	slices.SortFunc(list, func(a, b *job) int { return cmp.Compare(a.rec.Job.ID, b.rec.Job.ID) })
	return list
}

// isHome reports that this broker is the job's home.
func (c *kernel) isHome(j *job) bool { return j.rec.Job.Home == c.cfg.Self }

// save writes the record with one line of history for why it changed ("" for
// none). Every change of a job owned here is reported to its home, under a number
// that is saved with it.
func (c *kernel) save(j *job, why string) {
	if j.stub {
		c.failed = fmt.Errorf("%w: job %s is to be saved by what is in memory of it alone", grid.ErrInvalid, j.rec.Job.ID)
		return
	}
	c.changes++
	report := j.rec.Role == grid.Owning && !c.isHome(j)
	if report {
		j.rec.Report++
		j.acked = false
	}
	ch := grid.Saved(copyOf(&j.rec))
	if ch.Brief = j.brief > 0; c.isLong(j) {
		c.long[j.rec.Job.ID] = true
	}
	if why != "" {
		ch.Events = []grid.Event{{At: c.now, State: j.rec.State, Site: c.siteName(j.rec.Owner), Epoch: j.rec.Epoch, Why: why}}
	}
	ch.Decisions, ch.Undecided = j.unsaved(), j.rec.Removed
	c.emit(Save{ch})
	c.tellUser(j)
	c.keepLive(j)
	switch {
	case !c.isHome(j):
	case j.rec.State.Terminal():
		c.groups.jobEnded(j.rec.Job.ID, c.resultOf(&j.rec))
	case j.rec.State > grid.StageIn: // its files had come, here or in a part of this journal that is lost
		c.groups.arrived(j.rec.Job.ID)
	}
	c.ofWhole(j)
	c.watcher.saved(j)
	if j.rec.Job.Reservation != "" {
		c.reserver.jobSaved(j)
	}
	c.budgets.jobSaved(j)
	if report {
		c.disarm(j, onReport)
		c.reporter.report(j)
	}
}

// unsaved are the decisions that the journal does not have: those that were made since the last
// save, and why the job stays where it is.
func (j *job) unsaved() []grid.Decision {
	list := j.decisions
	if s := j.rec.Stay; s != nil && s != j.stay {
		list = append(list, *s)
	}
	j.decisions, j.stay = nil, j.rec.Stay
	return list
}

func (c *kernel) show(j *job) { c.emit(Show{copyOf(&j.rec)}) }

// keepLive keeps the set of live jobs.
func (c *kernel) keepLive(j *job) {
	r := &j.rec
	c.count(j, c.usageOf(j))
	if isTombstone(r) {
		delete(c.live, r.Job.ID)
		if c.cfg.Load != nil {
			c.ending[r.Job.ID] = true
		}
	} else {
		c.live[r.Job.ID] = j
	}
}

// isTombstone: nothing happens to the job by itself any more.
func isTombstone(r *grid.Record) bool {
	return r.Role == grid.Declined || (r.Role == grid.Tombstone || r.State.Terminal()) && r.Handoff.Phase == grid.NoHandoff && !r.Telling && len(r.Owed) == 0
}

// copyOf is safe to hand out: the slices of a record are only ever appended to or replaced.
func copyOf(r *grid.Record) *grid.Record {
	k := *r
	return &k
}

// drop forgets a job altogether.
func (c *kernel) drop(j *job) {
	id := j.rec.Job.ID
	c.changes++
	c.count(j, usage{})
	delete(c.jobs, id)
	delete(c.live, id)
	delete(c.ending, id)
	delete(c.keys, keyOf(j.rec.Job.User, j.rec.Key))
	c.emit(Save{grid.Deleted(grid.KindJob, string(id))})
	c.groups.jobEnded(id, c.resultOf(&j.rec))
	c.discard(id)
	if of := j.rec.Job.Part; of != nil {
		if delete(c.parts[of.Of], id.PartNumber()); len(c.parts[of.Of]) == 0 {
			delete(c.parts, of.Of)
		}
	}
	c.wholes.dropped(id)
	c.budgets.dropped(j)
}

// ofWhole has what changes of a co-allocated job and of its parts looked at, at their home.
func (c *kernel) ofWhole(j *job) {
	if !c.isHome(j) {
		return
	}
	c.countPart(&j.rec)
	c.wholes.saved(&j.rec.Job)
}

// countPart keeps the numbers of parts.
func (c *kernel) countPart(r *grid.Record) {
	if of := r.Job.Part; of != nil && r.Job.Home == c.cfg.Self {
		if c.parts[of.Of] == nil {
			c.parts[of.Of] = map[int]bool{}
		}
		c.parts[of.Of][r.Job.ID.PartNumber()] = true
	}
}

// discard drops all files of a job, unless a newer offer is bringing them anew. Where those of another home tell of attempts that
// the journal lacks, they are put aside: nothing else may tell of them after the next start.
func (c *kernel) discard(id grid.JobID) {
	_, traced := c.traces[id]
	switch {
	case c.accepted[id] != nil:
	case traced && id.Site() != c.cfg.Site.Name:
		c.emit(SetAside{Job: id, Foreign: true})
	default:
		c.emit(Discard{Job: id})
	}
}

// tellUser has what is new to a user of this home written beside the journal.
func (c *kernel) tellUser(j *job) {
	if now := saidOf(&j.rec); c.isHome(j) && now != j.said {
		j.said = now
		c.emit(KeepTold{*toldOf(&j.rec)})
	}
}
