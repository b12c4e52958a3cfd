package grid

// Record is all that a broker durably knows of one job: the job itself, and parts with
// lifetimes of their own. A part that begins anew is replaced as a whole.
//
// Invariant: a record is saved before any effect of the step that changed it.
type Record struct {
	Job       Job    // changes only by a new version from its home
	Key       string // made by the submitter; same user and key is the same job
	Submitted Tick   // at the home; elsewhere reckoned from the job's age on arrival

	State           State
	Reason          string // of the state, for people
	Obstacle        string // what holds the job up in this state, as long as it does, for people
	Ended           Tick   // when the terminal state was reached here
	CancelRequested bool
	Overdue         bool // that is because of its deadline, whatever the clock says since

	Tenure
	Run
	AtHome

	// EstimateNow is the latest estimate of its start while it waits. It outlives a tenure: of a job that was given away it is what the search
	// foresaw, until its owner says more, and a candidate's own stands as it becomes the owner.
	EstimateNow Tick
}

// Wished tells that the job's user wants its end. Whether its deadline has passed each owner sees by his own clock, and asks nobody
// else for its end.
func (r *Record) Wished() bool { return r.CancelRequested && !r.Overdue }

// Why is the reason of the state with what holds the job up in it.
func (r *Record) Why() string {
	switch {
	case r.Obstacle == "":
		return r.Reason
	case r.Reason == "":
		return r.Obstacle
	}
	return r.Reason + " [" + r.Obstacle + "]"
}

// Tenure is who owns a job, and what this broker is to it. A new one begins when a job changes
// hands, or is claimed back.
type Tenure struct {
	Role    Role
	Epoch   Epoch  // of the last known owner
	Owner   PeerID // last known
	Handoff Handoff
	// Candidate is the journal of Handoff.To when it said that it is ready: its later word
	// counts only from the same one, no earlier. At a home that hears who has got the job from another: the journal of that one, as far as it was
	// seen then.
	Candidate JournalID
	// Certificates prove that Owner owns the job at Epoch; none where the home itself does.
	Certificates []Certificate
	// Certified, at a former owner, is the digest that these are over, where Job is not that any more: a newer version that was offered here
	// since, or no more than that it was here. Zero is that of Job.
	Certified Hash
	// Superseded, at an owner, is the epoch by which the home gave the job to another, or gave
	// it up (then it is Epoch itself): what waits here is withdrawn. Zero is none.
	Superseded Epoch
	// Uncertain is set while the journal here is known to have been rolled back and, at the home,
	// nobody has said whether the job was handed over in the part that is lost; at an owner
	// elsewhere, the home has not spoken since: the job may have ended here.
	Uncertain bool
	// HomeForgotten, at an owner: an administrator said that the home will not come back.
	HomeForgotten bool
	// Telling is set while a former owner has not heard that the home knows the next one.
	Telling bool
	// Hops are the moves for a gain that count against the job's limit, as they were
	// at HopsAt; see core.Config.HopBack.
	Hops   uint32
	HopsAt Tick
	Report uint64 // number of the last report made (owner) or applied (home)
	Closed bool   // owner: the home has acknowledged the end
	// Kept, at a former owner: its result was not taken, and is kept here for its user.
	Kept        bool
	ContactLost Tick // home: when the owner was last heard, while nothing is
	// Stay, at an owner, is the latest search since the last decision, if it left the job where it was. It is
	// no part of what is saved of the record: the decisions have it.
	Stay *Decision
}

// Next is the tenure after this one. It takes over what is true of the way of the job as a whole:
// the highest epoch that was offered, the certificates, the moves, and that the home is gone.
func (t Tenure) Next(role Role, owner PeerID, at Epoch) Tenure {
	return Tenure{
		Role: role, Owner: owner, Epoch: at, Handoff: t.Handoff, Candidate: t.Candidate, Certificates: t.Certificates, Certified: t.Certified,
		Hops: t.Hops, HopsAt: t.HopsAt, HomeForgotten: t.HomeForgotten,
	}
}

// Run is the present attempt to run the job, and what became of it: valid only together.
type Run struct {
	Attempt uint32 // the last number used in Epoch
	// Adopted is the older epoch of which this run is: its owner's result became the job's, or the home has raised the term above a run that it kept. Zero is
	// none.
	Adopted       Epoch
	Local         LocalID
	Queued        Tick // when it was submitted to the batch system here; 0 where it is not here
	ExpectedStart Tick // the estimate of its start at that moment; 0 is none
	// Unproven is set of an attempt that may have been submitted after a part of the journal which is lost: that it is
	// here does not tell that the job was not handed over in that part.
	Unproven bool
	// Missing is when a good listing of the batch system first lacked it; 0 while it is there.
	Missing Tick
	// Arrived is when a part of a co-allocated job came to its barrier; with whom it came, and where it
	// may be met, are the three below, as in Gathered.
	Arrived    Tick
	Hosts      []string
	Address    string
	Rendezvous string
	Started    Tick
	Finished   Tick
	// End is the terminal state that the job will have once its output is home; 0 before its end is known.
	End      State
	ExitCode int // valid once End is Completed, Killed or CancelledWalltime and HasExit
	HasExit  bool
	Signal   int
	Usage    Usage
	Outputs  Manifest // what the job left, known from its end on
}

// AtHome is what only the home of a job keeps of it, over all tenures.
type AtHome struct {
	Trail          []PeerID // who held the job, to be told of its end
	PredictedStart Tick     // the estimate on which the job was first placed
	Anyway         bool     // it waits though no site that is known could ever run it
	// Altered is what its user wants otherwise, of the job as it travels: done when it waits here
	// without a place; nil is nothing.
	Altered *Alteration
	// HandedIn is what an alteration has replaced, as it was before the first: its key is of that. Nil is what Job has.
	HandedIn *HandedIn
	Owed     []Owed // notices that were not sent yet
	Removed  bool   // a tombstone; the job and its files are gone, its key still counts
	// Unsupplied: as far as this journal tells, its files had not come when it was found to be with another. They need not be here when it is here again.
	Unsupplied bool
	// Unfenced: a site that may have had it before was given up, and nobody has said that nothing of it runs there. An owner that is not its home
	// notes that too.
	Unfenced bool
	// RaisedFrom is its epoch before its term was raised, as who had the job was forgotten or declined it: what is told of an older one was known then. Zero is
	// never, or that is not known.
	RaisedFrom Epoch
	// Fenced are those of which an administrator has said, then or since, that nothing of any job can run there: their word is not waited for.
	Fenced []PeerID
	// Relayed are the last alterations that other brokers have passed on, of each the last, the latest at the end.
	Relayed []Relayed
}

// SiteState is what a broker durably knows of its own site.
type SiteState struct {
	Draining bool // it takes no grid jobs, and hands those that wait to its neighbours
	// RolledBack is not 0 while the journal is known to have been rolled back and not all members
	// were asked.
	RolledBack uint64
	// Behind are, while that is so, the ends of the branches that it was rolled back from.
	Behind []JournalID
	// Asked are, while that is so, the members that are asked what became of jobs in the part that is lost. One that is none any more
	// by the next start may have got any of them.
	Asked []PeerID
	// Forgotten are, while that is so, those of them for which an administrator has spoken.
	Forgotten []Forgotten
	// Traces are of jobs that have no record where they were, and whose fate is not decided here yet.
	Traces []Trace
	// Lost are the ends of branches of this journal that it was rolled back from, and about which
	// all were asked: to hear of them again is no news.
	Lost []JournalID
	// Settled is when all were asked last, and who has answered: what others claim of before may be of such a branch.
	Settled Settled
	Since   Tick // when Draining was last changed
}

// Settled is the end of asking what became of jobs in the part of a journal that is lost.
type Settled struct {
	Stamp uint32 // of that instant; 0 is never
	Heard []PeerID
}

// Trace is a job that a member has had at an epoch, as it told, and has forgotten.
type Trace struct {
	Job   JobID
	Epoch Epoch
	Of    PeerID
}

// Forgotten is a site that is not waited for, at the word of an administrator.
type Forgotten struct {
	Peer   PeerID
	Fenced bool // nothing of any job can run there
}

// JournalID is a position in a journal: a random incarnation, made with the journal; the
// life, a random number drawn at each start of it; and a sequence number that grows with
// each commit. Two branches of one journal, as a restored backup makes them, differ in
// their lives. Peers keep the highest sequence that they saw of each life.
type JournalID struct {
	Incarnation uint64
	Sequence    uint64
	Life        uint64 // 0 is that of a broker which draws none
}

// SameLife tells that two positions are of one life of one journal.
func (p JournalID) SameLife(o JournalID) bool {
	return p.Incarnation == o.Incarnation && p.Life == o.Life
}

// Life is one start of a journal, and the sequence that the journal had then.
type Life struct {
	Number uint64 // see [NextLife]
	First  uint64
}

// NextLife is the number of a life that begins now: the second of the clock, but later than those of the lives that are known, then what
// is random. So what branched off from a life, as a duplicate does, has a higher number; and a branch that was lost before a life began, and
// was known then or older by the clock, a lower one. A number beyond any clock was drawn by a version whose numbers were random alone.
func NextLife(now Tick, random uint32, known ...uint64) uint64 {
	const ahead = uint64(10 * 366 * Day / Second)
	second := uint64(max(now, 0) / Second)
	for last, k := second+ahead, 0; k < len(known); k++ {
		if at := known[k] >> 32; at <= last {
			second = max(second, at+1)
		}
	}
	return second<<32 | uint64(random|1) // 0 is none
}

// Witness is what stands beside a journal, in a file of its own, so that it stays when the
// journal is put back: how far the journal came, and the highest stamp of an epoch
// that its broker had used (see package broker). Zero where there is none.
type Witness struct {
	Position JournalID
	Stamp    uint32
}

// ToldFor is how long what users were told stands beside a journal, before the last end there.
const ToldFor = 60 * Day

// LastWord is, in short, the last that the user of a job was told, as it stands beside the journal.
type LastWord struct {
	Job      JobID
	State    State
	ExitCode int // of an end
	Signal   int
	Removed  bool
}

// Word is that record in short.
func (r *Record) Word() LastWord {
	w := LastWord{Job: r.Job.ID, State: r.State, Removed: r.Removed}
	if r.State.Terminal() {
		w.ExitCode, w.Signal = r.ExitCode, r.Signal
	}
	return w
}
