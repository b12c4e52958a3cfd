package core

import (
	"gbroker/grid"
	"gbroker/plan"
	"gbroker/reserve"
	"gbroker/wire"
)

// Event is what happens to a Core: one of the types of this file. Its Err is nil where all went well; what it says is for people alone.
type Event interface{ event() }

// Token ties an Answer to the request it answers.
type Token uint64

// Request is an event for which somebody waits: one Answer with its token follows,
// whatever state this broker is in.
type Request interface {
	Event
	token() Token
}

// Boot is the first event: Core asks the world what became of what it may have asked for.
type Boot struct{}

// Submit hands in a job. Job is complete but for its manifest: Inputs lists path,
// size and mode of the files that will be uploaded.
type Submit struct {
	Token  Token
	Job    grid.Job
	Key    string
	Anyway bool // it may wait for a site that can run it
}

// SubmitGroup hands in the jobs of a group, as Submit one, whose identifiers are those that
// Group.ID gives them: all are taken, or none. With a Template there are no Jobs: they are made from it.
type SubmitGroup struct {
	Token    Token
	Group    grid.Group // ID, Name, User and Key; with a template Jobs, AtOnce and its digest
	Jobs     []grid.Job
	Template *grid.Template
	Anyway   bool // of Jobs
}

// CancelGroup is the wish for the end of all jobs of a group, already authorised.
type CancelGroup struct {
	Token Token
	Group grid.GroupID
	By    string
}

// RemoveGroup deletes an ended group and its jobs.
type RemoveGroup struct {
	Token Token
	Group grid.GroupID
}

// Uploaded tells that all files of a job are here.
type Uploaded struct {
	Token  Token
	Job    grid.JobID
	Inputs grid.Manifest
}

// CancelRequest is a user's or administrator's wish, already authorised.
type CancelRequest struct {
	Token Token
	Job   grid.JobID
	By    string
}

// RemoveRequest deletes an ended job.
type RemoveRequest struct {
	Token Token
	Job   grid.JobID
}

// Message came from a member.
type Message struct {
	From    grid.PeerID
	Message wire.Message
}

// Looked answers the effect Look. Err is nil for a good snapshot.
type Looked struct {
	Snapshot plan.Snapshot
	Err      error
	Full     bool // the disk has no more than its reserve: nothing new is taken
}

// Launched answers the effect Launch. Kind tells of an error whether it will pass, or the batch
// system would refuse this job again.
type Launched struct {
	ID    grid.AttemptID
	Local grid.LocalID
	Err   error
	Kind  grid.RefusalKind
	// Source: an input by URI cannot be had here; Kind is Permanent, and Err says so.
	Source bool
}

// Withdrawn answers the effect Withdraw: Done is the token's word that the attempt
// can never start; false with no error that it has started.
type Withdrawn struct {
	ID      grid.AttemptID
	Done    bool
	Err     error
	Damaged bool // the control files of the attempt are
}

// Progressed is word of an attempt, asked for by Probe or brought by the batch system.
//
// Damaged tells that the control files of the attempt are, which is why there is an Err:
// Progress is what is known without them.
type Progressed struct {
	Progress grid.Progress
	Err      error
	Damaged  bool
}

// Reconciled answers the effect Reconcile: the attempts of those Jobs of which all is known,
// and of jobs that no record is of or a [Bygone] one; Aside are those of such jobs whose folders were put aside. All tells that
// all of these could be read. Damaged are those asked for whose control directories will not be read by trying again.
type Reconciled struct {
	Jobs     []grid.JobID
	All      bool
	Attempts []grid.AttemptID
	Aside    []grid.AttemptID
	Damaged  []grid.JobID
}

// Fetched answers the effect Fetch. Final tells of an error that trying again does not mend.
type Fetched struct {
	Job   grid.JobID
	Epoch grid.Epoch
	From  grid.PeerID // who was to have them
	Set   FileSet
	Err   error
	Final bool
	// Source: an input by URI cannot be had here, and Err says so.
	Source bool
	// Unended: as far as is known where the output is to be, the job has not ended.
	Unended bool
}

// Weighed answers the effect Weigh, with what is known of it by then.
type Weighed struct {
	Job  grid.JobID
	Cost grid.SourceCost
}

// Exported answers the effect Export. Failed are outputs that could not be brought, for people, Gone
// those that are not here any more. Err tells that it was not done, and is to be tried again.
type Exported struct {
	Job          grid.JobID
	Epoch        grid.Epoch
	Failed, Gone []string
	Err          error
}

// ExportedAgain tells, before Exported, why an output is brought again.
type ExportedAgain struct {
	Job   grid.JobID
	Epoch grid.Epoch
	Why   string // for people
}

// Checked answers the effect Check. Missing says which input is not here; nil where all are, or that is not known.
type Checked struct {
	Job     grid.JobID
	Epoch   grid.Epoch
	Missing error
}

// Furnished answers the effect Furnish. Final tells of an error that trying again does not mend.
type Furnished struct {
	Job   grid.JobID
	Err   error
	Final bool
}

// Collected answers the effect Collect.
type Collected struct {
	Job     grid.JobID
	Epoch   grid.Epoch
	Outputs grid.Manifest
	Missing []grid.MissingOutput
	Full    grid.Tick // when the disk of the jobs was last seen to be full
	Err     error
}

// PeerChanged is the word of the overlay on who lives.
type PeerChanged struct {
	Peer     grid.PeerID
	Liveness grid.Liveness
}

// PeerSite is what a peer said of its site in its Hello.
type PeerSite struct {
	Peer grid.PeerID
	Site grid.Site
}

// OwnSite is what the batch system shows this site to be.
type OwnSite struct{ Site grid.Site }

// LinkChanged is netmon's new word on the way to a peer.
type LinkChanged struct {
	Peer grid.PeerID
	Link grid.Link
}

// MembersChanged is the neighbourhood file as it now is.
type MembersChanged struct{ Members []grid.Member }

// Folders lists the jobs that have a folder here: those of no known job go.
type Folders struct{ Jobs []grid.JobID }

// Attempts lists what of ours the batch system holds, waiting or running: what
// belongs to no record goes.
type Attempts struct{ IDs []grid.AttemptID }

// DrainRequest is an administrator's word: take no more grid jobs and hand on those
// that wait, or be again as before.
type DrainRequest struct {
	Token Token
	On    bool
}

// Forget is an administrator's word that a site will not come back; see forget.go.
// Fenced says besides that its batch system is off or emptied.
type Forget struct {
	Token  Token
	Site   grid.PeerID
	Fenced bool
	DryRun bool // only tell what would become of each job
	By     string
}

// Resume is an administrator's word that the duplicate of this broker is stopped: it asks all what
// that one has done. A broker that was not stopped by one changes nothing.
type Resume struct{ Token Token }

// HadDuplicate is an administrator's word that this broker had a duplicate which nobody noticed, and which is stopped: it
// starts nothing before all have said what that one has done.
type HadDuplicate struct{ Token Token }

// Stall says that this broker did not listen for a while, or that a clock jumped. It
// comes before the event that found it out.
type Stall struct{ Span grid.Tick }

// PeerJournal is what a peer's Hello said of its journal, and of this life of it.
type PeerJournal struct {
	Peer    grid.PeerID
	Journal grid.JournalID
	Boot    uint64
}

// Reserved answers the effect Reserve: the batch system holds what was asked for, as it was read back,
// or, with Err, what it held before. Kind tells whether the error will pass.
type Reserved struct {
	ID    grid.ReservationID
	Place grid.Place // as it was asked for
	Err   error
	Kind  grid.RefusalKind
}

// Unreserved answers the effect Unreserve.
type Unreserved struct {
	ID  grid.ReservationID
	Err error
}

// ReservationsListed answers the effect ListReservations.
type ReservationsListed struct {
	All []HeldReservation
	Err error
}

// HeldReservation is a reservation of this broker as the batch system shows it.
type HeldReservation struct {
	ID    grid.ReservationID
	Place grid.Place
	Down  []grid.NodeName // of its nodes, those that are down
	// Others are the local jobs in it that are no broker's.
	Others []string
}

// LimitsChanged are the limits as they now are configured.
type LimitsChanged struct {
	User       UserLimits
	OfferFiles int64
}

// Tick lets time pass: timers that are due fire.
type Tick struct{}

func (Boot) event()           {}
func (Submit) event()         {}
func (SubmitGroup) event()    {}
func (CancelGroup) event()    {}
func (RemoveGroup) event()    {}
func (Uploaded) event()       {}
func (CancelRequest) event()  {}
func (RemoveRequest) event()  {}
func (Message) event()        {}
func (Looked) event()         {}
func (Launched) event()       {}
func (Withdrawn) event()      {}
func (Progressed) event()     {}
func (Reconciled) event()     {}
func (Fetched) event()        {}
func (Checked) event()        {}
func (Weighed) event()        {}
func (Exported) event()       {}
func (ExportedAgain) event()  {}
func (Furnished) event()      {}
func (Collected) event()      {}
func (PeerChanged) event()    {}
func (OwnSite) event()        {}
func (PeerSite) event()       {}
func (LinkChanged) event()    {}
func (MembersChanged) event() {}
func (Folders) event()        {}
func (Attempts) event()       {}
func (DrainRequest) event()   {}
func (Forget) event()         {}
func (Resume) event()         {}
func (HadDuplicate) event()   {}
func (Stall) event()          {}
func (PeerJournal) event()    {}
func (LimitsChanged) event()  {}
func (Tick) event()           {}

// ReservingChanged are other rules of the operator for reservations here.
type ReservingChanged struct{ Rules reserve.Rules }

func (ReservingChanged) event()   {}
func (Reserved) event()           {}
func (Unreserved) event()         {}
func (ReservationsListed) event() {}

func (e Submit) token() Token        { return e.Token }
func (e SubmitGroup) token() Token   { return e.Token }
func (e CancelGroup) token() Token   { return e.Token }
func (e RemoveGroup) token() Token   { return e.Token }
func (e Uploaded) token() Token      { return e.Token }
func (e CancelRequest) token() Token { return e.Token }
func (e RemoveRequest) token() Token { return e.Token }
func (e DrainRequest) token() Token  { return e.Token }
func (e Forget) token() Token        { return e.Token }
func (e Resume) token() Token        { return e.Token }
func (e HadDuplicate) token() Token  { return e.Token }
