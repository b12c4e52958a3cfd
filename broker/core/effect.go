package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

// Effect is what a Core wants done: one of the types of this file. Effects of a
// step leave in their order, and none before the Saves of all steps so far are
// durable. Every effect can be repeated.
type Effect interface{ effect() }

// FileSet names one of a job's sets of files.
type FileSet uint8

// The sets.
const (
	InputFiles  FileSet = 1 + iota // what travels with the job
	OutputFiles                    // what it left
	LiveFiles                      // what it is writing now
)

// Save makes a change durable and shows it to readers.
type Save struct{ Change grid.Change }

// Show shows readers a record whose change is no promise (an estimate, a lost
// contact); it is not written.
type Show struct{ Record *grid.Record }

// ShowAccuracy shows readers how good the estimates of starts here are.
type ShowAccuracy struct{ Accuracy Accuracy }

// Send sends a message to a peer, best effort.
type Send struct {
	To      grid.PeerID
	Message wire.Message
}

// Answer ends a request. Again tells that the submission was known already.
type Answer struct {
	Token  Token
	Record grid.Record
	Again  bool
	Fates  []Fate          // of Forget
	Where  grid.Decision   // of Where
	Beside []grid.Decision // of those beside it
	Spread []grid.Spread   // how sure the waits of its rows are
	// Several is what would be chosen of several sites; nil for a job that may not have them.
	Several *grid.SlotChoice
	Group   grid.Group // of those of groups

	Reservation grid.Reservation // of ReserveRequest and ReleaseRequest
	Slack       grid.Tick        // it must be so much longer than its job's limit
	Jobs        []grid.Record    // of SubmitGroup
	Found       Found            // of Forward
	Asked       []string         // of Resume and HadDuplicate: the members that are asked before anything starts
	Err         error            // wraps a kind of grid
}

// Look takes a snapshot of the batch system.
type Look struct{}

// Launch prepares the sandbox and submits the attempt to the batch system.
type Launch struct {
	Submission grid.Submission // Work and Control are filled in by package broker
	Keep       bool            // the inputs must stay as they are: this is the home, or it may run again
	Fresh      bool            // an earlier attempt has run in the working tree: make it anew
}

// Withdraw decides by the start token that an attempt never starts.
type Withdraw struct{ ID grid.AttemptID }

// Kill ends a started attempt.
type Kill struct{ ID grid.AttemptID }

// Gather tells a part of a co-allocated job at its barrier that all have arrived, with what they
// brought, in the order of their ranks; or, if Begun, that all have begun. A Probe shows what came of it.
type Gather struct {
	ID    grid.AttemptID
	Begun bool
	Sites []grid.Gathered
}

// Probe asks the batch system and the control files about an attempt.
type Probe struct{ ID grid.AttemptID }

// Reconcile asks which attempts of these jobs, and of all that no record is of or a [Bygone] one, the control
// directories, also those that were put aside, and the batch system have.
type Reconcile struct{ Jobs []grid.JobID }

// Fetch pulls a set of files from a peer.
type Fetch struct {
	Job   grid.JobID
	Epoch grid.Epoch
	From  grid.PeerID
	Set   FileSet
	Files grid.Manifest
	User  grid.User
	// Grants are of inputs that other sites may have: those are asked first.
	Grants []grid.Grant
	With   *grid.Job // not nil: what this job takes by URI is fetched too
}

// Weigh asks what the sources of a job cost.
type Weigh struct{ Job grid.Job }

// Export brings outputs of a job, which are at this home of it, where they go.
type Export struct {
	Job   grid.Job
	Epoch grid.Epoch
	Left  grid.Manifest
}

// Check looks whether the inputs of a job are here.
type Check struct {
	Job   grid.JobID
	Epoch grid.Epoch
	Files grid.Manifest
}

// Collect gathers what an ended job left.
type Collect struct {
	Job   grid.Job
	Epoch grid.Epoch
}

// Furnish gives a job of a group the files that lie in the folder of its template, by what they contain.
type Furnish struct {
	Job, From grid.JobID
	Files     grid.Manifest
}

// Discard drops files of a job: all of them, or with Keep only the working tree.
type Discard struct {
	Job  grid.JobID
	Keep bool // inputs and outputs stay
}

// SetAside moves the folder of a job away that no record here knows; it is removed when it
// has been kept as long as ended jobs are, and is read at each start until then. Of a Foreign job, whose home is elsewhere, one that
// holds nothing but inputs is dropped at once.
type SetAside struct {
	Job     grid.JobID
	Foreign bool
}

// Publish tells other members that this site owns a job now: a hint.
type Publish struct {
	Job   grid.JobID
	Epoch grid.Epoch
}

// Delivered tells how long a job's files really took to a peer.
type Delivered struct {
	Peer grid.PeerID
	Size int64
	Took grid.Tick
}

// Saw notes durably, with the next commit, how far a peer's journal has come.
type Saw struct {
	Peer    grid.PeerID
	Journal grid.JournalID
}

// KeepTold writes beside the journal what the user of a job is about to be told, durably. It
// comes after the saves, and before any other effect.
type KeepTold struct{ Record grid.Record }

// Alarm tells what is wrong with this broker as a whole, and what to do. It stands until another takes its place, or
// AlarmOver.
type Alarm struct {
	Text   string
	Halted bool // nothing is done any more until an administrator says so
}

// AlarmOver ends the alarm that stands.
type AlarmOver struct{}

// Restart ends this Core: another is made from the journal.
type Restart struct{}

// Fail says that this Core cannot go on: a record could not be loaded. Nothing of its steps
// since the last commit counts; another is made from the journal.
type Fail struct{ Err error }

// Reserve makes the batch system hold the nodes of a reservation, or, with Change, hold what it says now
// instead of Was. It is read back before it counts.
type Reserve struct {
	Reservation grid.Reservation
	Change      bool
}

// Unreserve ends a reservation in the batch system; one that is not there is no error.
type Unreserve struct{ ID grid.ReservationID }

// ListReservations asks which reservations of this broker the batch system holds.
type ListReservations struct{}

// Note is a line for the log: something an operator would want to know.
type Note struct {
	Job  grid.JobID
	Peer grid.PeerID
	Text string
}

func (Save) effect()         {}
func (Show) effect()         {}
func (ShowAccuracy) effect() {}
func (Send) effect()         {}
func (Answer) effect()       {}
func (Look) effect()         {}
func (Launch) effect()       {}
func (Withdraw) effect()     {}
func (Kill) effect()         {}
func (Gather) effect()       {}
func (Probe) effect()        {}
func (Reconcile) effect()    {}
func (Fetch) effect()        {}
func (Weigh) effect()        {}
func (Export) effect()       {}
func (Check) effect()        {}
func (Collect) effect()      {}
func (Furnish) effect()      {}
func (Discard) effect()      {}
func (SetAside) effect()     {}
func (Publish) effect()      {}
func (Delivered) effect()    {}
func (Saw) effect()          {}
func (KeepTold) effect()     {}
func (Alarm) effect()        {}
func (AlarmOver) effect()    {}
func (Restart) effect()      {}
func (Fail) effect()         {}
func (Note) effect()         {}

func (Reserve) effect()          {}
func (Unreserve) effect()        {}
func (ListReservations) effect() {}
