package wire

import "gbroker/grid"

// Recall (home to who reports): I do not know that job, tell it me. A home that lost
// its journal learns its jobs again.
type Recall struct {
	Job grid.JobID
	// At, where the home asks who may have the job, is the epoch at which it knows it: the answer that there is none names it, so that
	// none from before it was asked counts.
	At grid.Epoch
}

// Recalled (owner or candidate to home) answers Recall. From home to owner it is the version of the job that the owner is to have.
type Recalled struct {
	Job          grid.Job
	Epoch        grid.Epoch
	Owning       bool      // false: only PREPARED
	Age          grid.Tick // since submission
	Cancel       bool
	Certificates []grid.Certificate // that prove it, the first signed by the home
	Deadline     In                 // as in Offer
}

// Limits of Seen.
const (
	MaxJournals = 16 // lives remembered of the journals of one peer
	MaxBoots    = 8
)

// Seen (each to each, after a Hello and as journals grow) is what the sender has seen of the receiver: its
// journals, the highest sequence of each life, the last one heard at the end; and the
// boot nonces heard, in their order, one that was heard again once more.
type Seen struct {
	Journals   []grid.JournalID
	Boots      []uint64
	Mine       grid.JournalID // the sender's own, as it is now
	WantsReply bool           // tell me the same of me
	Stamp      uint32         // the highest stamp of an epoch that the sender knows of; 0 is not told
	Question   uint32         // with WantsReply: how often the sender stalled in this life
	Answers    uint32         // the Question that this answers
}

// Recount (a broker that was rolled back, to each member): tell me the jobs that you
// and I have to do with. Repeated until answered by Recounted.
type Recount struct {
	Sequence uint64         // of the sender's journal
	Journal  grid.JournalID // the same, with its life
}

// MaxClaims is how many claims one Recounted holds.
const MaxClaims = 32768

// MaxTraces is how many traces one Recounted holds.
const MaxTraces = 10_000

// Recounted answers Recount.
type Recounted struct {
	Claims []Claim
	Traces []Trace
}

// Trace is a job that the sender had, as its control directories tell, at the epoch at least, and
// that its journal does not know.
type Trace struct {
	Job   grid.JobID
	Epoch grid.Epoch
}

// Claim says who owns a job: the sender, whose home the receiver is; or the receiver,
// whose home the sender is.
type Claim struct {
	Job   grid.JobID
	Epoch grid.Epoch
	Yours bool
	Ended bool // it ran at the sender, and has ended; what is left of it there is a tombstone
}

// Superseded (home to who claims to own): what you own at the epoch Of is owned at
// Epoch by Owner. Drop it: withdraw what waits, end what runs.
type Superseded struct {
	Job   grid.JobID
	Of    grid.Epoch
	Epoch grid.Epoch
	Owner grid.PeerID
	Keep  bool // the result that you have is kept, at your site, beside that of the job
	// Answers is the number of the report that it answers; 0 is none, or an older broker. A run that was reported since may have been adopted.
	Answers uint64
}

func (Superseded) Kind() Kind { return KindSuperseded }

func (Recall) Kind() Kind    { return KindRecall }
func (Recalled) Kind() Kind  { return KindRecalled }
func (Seen) Kind() Kind      { return KindSeen }
func (Recount) Kind() Kind   { return KindRecount }
func (Recounted) Kind() Kind { return KindRecounted }
