package wire

import "gbroker/grid"

// Message is one message between brokers. All are one-way: what the sender needs
// to know comes back as a message of its own, and what must arrive is repeated.
// On the wire times are spans since sending, never instants.
type Message interface{ Kind() Kind }

// Kind numbers the messages. Append only: a number is never used again.
type Kind uint8

// The kinds.
const (
	KindHello Kind = 1 + iota
	KindEstimateRequest
	KindEstimateReply
	KindOffer
	KindAccept
	KindRefuse
	KindReady
	KindAbort
	KindCommit
	KindOwned
	KindInquire
	KindInquireReply
	KindDeclined
	KindUnknown
	KindReport
	KindReportAck
	KindCancel
	KindClosed
	KindError
	KindMoved
	KindMovedAck
	KindAnnounce
)

// The kinds that keep home and owner of one mind. 20 to 22 are other kinds.
const (
	KindRecall Kind = 23 + iota
	KindRecalled
	KindSeen
	KindRecount
	KindRecounted
	KindSuperseded
	KindRequest
	KindResponse
)

// Hello is the first message each way on a connection.
type Hello struct {
	Program string // program and version, for people
	Site    grid.Site
	Journal grid.JournalID
	Boot    uint64    // random, made at each start
	Clock   grid.Tick // the sender's wall clock: the one instant on the wire, to measure offsets
}

// MaxAsked bounds the questions of one EstimateRequest that a broker makes: as many of the largest fit in a frame.
const MaxAsked = 240

// EstimateRequest is one batched question for start estimates; answered cumulatively, in order, unless Apart.
type EstimateRequest struct {
	Round     uint64
	Questions []Question
	// Apart: each of the first [MaxAsked] is about a job that alone comes. A broker of before answers cumulatively.
	Apart bool
}

// Question is about one job.
type Question struct {
	Job      grid.JobID
	Demand   grid.Demand
	Walltime grid.Tick
	Delivery grid.Tick // it can start no sooner than this after sending
	Queue    grid.QueueName
	Home     grid.PeerID // of the job; "" where it is the one who asks
	// Reservation of the site that the job is for; "" is none.
	Reservation grid.ReservationID
	User        string // of the job, at its home; "" is not said
	Deadline    In     // of the job
	// Within: the job comes only if it would start within so long after sending; else later answers do not count it. 0 is not said: it counts.
	Within grid.Tick
}

// EstimateReply answers EstimateRequest.
type EstimateReply struct {
	Round   uint64
	Site    grid.Site
	Answers []Answer // in the order of the questions
	Take    uint32   // how many offers the site takes at once from the one who asked; 0 is not said: one
}

// Answer is the estimate for one job: the wait after its delivery, or why not.
type Answer struct {
	Job      grid.JobID
	Estimate grid.Estimate
}

// HandoffID is what every message of a handoff carries.
type HandoffID struct {
	Job    grid.JobID
	Epoch  grid.Epoch  // the epoch at which the candidate will own
	To     grid.PeerID // the candidate
	Digest grid.Hash   // JobDigest of the job offered
}

// Offer (owner to candidate): will you take this job? An owner that is not the job's
// home proves by certificates that it is the owner.
type Offer struct {
	Handoff HandoffID
	Job     grid.Job
	Wait    grid.Tick // how long after the offer it is to start: the delivery reckoned with, and the wait the candidate told
	Age     grid.Tick // since submission at the home
	// Certificates lead from the home to the one who offers; none where that is the home.
	Certificates []grid.Certificate
	Hops         uint32 // what counts against the job's limit once it has moved
	// Journal is how far the sender's journal is, with this offer in it: the candidate knows so
	// much of it, durably, with PREPARED.
	Journal grid.JournalID
	// Latest is how long after the offer it may start at the latest, else it is refused; 0 is not said: what was asked binds.
	Latest grid.Tick
	// Deadline is that of the job's terms, which do not travel else.
	Deadline In
}

// Accept (candidate to owner): ACCEPTED, pulling the files; repeated while pulling.
type Accept struct {
	Handoff HandoffID
	Journal grid.JournalID
}

// Refuse (candidate to owner).
type Refuse struct {
	Handoff  HandoffID
	Estimate grid.Estimate // the new estimate, or why not
}

// Ready (candidate to owner): PREPARED on disk, not owner. Repeated until answered.
type Ready struct {
	Handoff HandoffID
	Journal grid.JournalID
}

// Abort (owner to candidate): the offer is dead.
type Abort struct {
	Handoff HandoffID
	Why     string
}

// Commit (owner to candidate): you own it. Repeated until Owned.
type Commit struct {
	Handoff     HandoffID
	Cancel      bool             // the sticky cancel flag
	Certificate grid.Certificate // this handoff, signed; zero where a home that cannot sign commits
	// Journal has the commit point in it: should the sender come back with an earlier one,
	// the candidate can tell it so.
	Journal grid.JournalID
	// Ready is the candidate's journal that was READY; zero is not told. No other is made owner.
	Ready grid.JournalID
}

// Owned (candidate to owner): OWNED on disk. Owner is who owns it now, as far as the sender knows.
type Owned struct {
	Handoff     HandoffID
	Owner       grid.PeerID
	Certificate grid.Certificate // of this handoff, if the sender has it: who gave the job may have forgotten
}

// Inquire (candidate to owner or home): I am PREPARED and heard nothing.
type Inquire struct {
	Handoff HandoffID
	Journal grid.JournalID // the candidate's; zero is not told
}

// Verdict answers Inquire.
type Verdict uint8

// Verdicts.
const (
	VerdictOpen      Verdict = 1 + iota // the offer stands; wait
	VerdictAborted                      // the offer is dead
	VerdictCommitted                    // you own it
	VerdictUnknown                      // the asked does not know
)

// InquireReply answers Inquire.
type InquireReply struct {
	Handoff     HandoffID
	Verdict     Verdict
	Owner       grid.PeerID // "" if not known
	Cancel      bool
	Certificate grid.Certificate // of a committed handoff, if the asked has it
	// Ready is the candidate's journal that was READY, if the asked has it: no other is made owner.
	Ready grid.JournalID
}

// Declined (candidate to owner): I dropped it and shall never own it at this epoch.
type Declined struct {
	Handoff HandoffID
	Journal grid.JournalID
	// Ready is that of the Commit which is declined, where this journal reaches so far.
	Ready grid.JournalID
}

// Unknown (candidate to owner): I have no record of what you commit.
type Unknown struct {
	Handoff HandoffID
	Journal grid.JournalID
}

// Report (owner to home): the job's state; repeated until acknowledged.
type Report struct {
	Job          grid.JobID
	Epoch        grid.Epoch
	Number       uint64 // grows with each report of this owner
	State        grid.State
	Attempt      uint32
	Local        grid.LocalID
	Started      Ago
	Finished     Ago
	Estimate     In // of the start, while waiting
	End          grid.State
	ExitCode     int
	HasExit      bool
	Signal       int
	Reason       string
	Cancel       bool
	Outputs      grid.Manifest      // from the end on
	Certificates []grid.Certificate // how the sender came to own the job
	Usage        grid.Usage         // from the end on
	Version      grid.Hash          // digest of the job that Certificates are about; zero is as the home knows it
	// Of a part of a co-allocated job that has come to its barrier: since when, and what it brings.
	Arrived Ago
	Hosts   []string // as in grid.Gathered
	Address string
	// Rendezvous is unknown to brokers of before, and left out.
	Rendezvous string
}

// Ago is a past instant as the span before sending; Known is false if it has not happened.
type Ago struct {
	Span  grid.Tick
	Known bool
}

// In is a future instant as the span after sending (negative: it is overdue).
type In struct {
	Span  grid.Tick
	Known bool
}

// ReportAck (home to owner).
type ReportAck struct {
	Job    grid.JobID
	Epoch  grid.Epoch
	Number uint64
	Closed bool // the home has the end and the output
	Cancel bool // the sticky cancel flag, as the home knows it
	Back   bool // the home wants the job back, which waits: it is to be offered to it
	// Deadline is that of the job, as its home knows it.
	Deadline In

	// End is the end that this very owner has reported, which tells of another state now: its
	// journal was set back. How the program ended is told with it.
	End      grid.State
	ExitCode int
	HasExit  bool
	Signal   int
}

// Cancel (home to owner): the job's user or an administrator wants it gone.
type Cancel struct {
	Job   grid.JobID
	Epoch grid.Epoch
}

// Closed (home to those that held the job): it has ended, tombstones may go.
type Closed struct {
	Job  grid.JobID
	Term uint32
}

// Error answers a message that could not be understood or was not allowed.
type Error struct {
	Of  Kind
	Job grid.JobID // "" if none
	Why string
	Had grid.Epoch // of Recall: the journal does not know the job, and the control directory tells that it was owned at that epoch; zero if not
	At  grid.Epoch // of Recall: its At
}

// Moved (former owner to home): the job is with the To of the last certificate. Repeated
// until MovedAck.
type Moved struct {
	Job          grid.JobID
	Certificates []grid.Certificate
	Version      grid.Hash // digest of the job that they are about; zero is as the home knows it
}

// MovedAck (home to former owner): known, or no longer of interest.
type MovedAck struct {
	Job   grid.JobID
	Epoch grid.Epoch // of the last certificate of the Moved
}

// Announce (each to its members): what my site is like now, and when jobs would start there.
type Announce struct {
	Site   grid.Site
	Starts grid.Starts
}

func (Hello) Kind() Kind           { return KindHello }
func (EstimateRequest) Kind() Kind { return KindEstimateRequest }
func (EstimateReply) Kind() Kind   { return KindEstimateReply }
func (Offer) Kind() Kind           { return KindOffer }
func (Accept) Kind() Kind          { return KindAccept }
func (Refuse) Kind() Kind          { return KindRefuse }
func (Ready) Kind() Kind           { return KindReady }
func (Abort) Kind() Kind           { return KindAbort }
func (Commit) Kind() Kind          { return KindCommit }
func (Owned) Kind() Kind           { return KindOwned }
func (Inquire) Kind() Kind         { return KindInquire }
func (InquireReply) Kind() Kind    { return KindInquireReply }
func (Declined) Kind() Kind        { return KindDeclined }
func (Unknown) Kind() Kind         { return KindUnknown }
func (Report) Kind() Kind          { return KindReport }
func (ReportAck) Kind() Kind       { return KindReportAck }
func (Cancel) Kind() Kind          { return KindCancel }
func (Closed) Kind() Kind          { return KindClosed }
func (Error) Kind() Kind           { return KindError }
func (Moved) Kind() Kind           { return KindMoved }
func (MovedAck) Kind() Kind        { return KindMovedAck }
func (Announce) Kind() Kind        { return KindAnnounce }
