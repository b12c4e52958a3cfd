package broker

import (
	"context"
	"time"

	"go.uber.org/zap"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// Peers carries messages to other brokers, best effort; it never blocks.
type Peers interface {
	Send(to grid.PeerID, m wire.Message) error
}

// Links learns from real deliveries; see package netmon.
type Links interface {
	Observe(peer grid.PeerID, size int64, took time.Duration)
}

// Hints takes the hint of who owns a job (the DHT of overlay).
type Hints interface {
	PublishOwner(ctx context.Context, job grid.JobID, epoch grid.Epoch) error
}

// Batch is the local batch system; see pbs.System for the contract.
type Batch interface {
	Snapshot(ctx context.Context) (plan.Snapshot, error)
	Submit(ctx context.Context, s grid.Submission) (grid.LocalID, error)
	Withdraw(ctx context.Context, at grid.AttemptID, control string) (bool, error)
	Kill(ctx context.Context, at grid.AttemptID, control string) error
	Progress(ctx context.Context, at grid.AttemptID, control string) (grid.Progress, error)
	Attempts(ctx context.Context) ([]grid.AttemptID, error)
}

// Stager moves and keeps files; see package stage.
type Stager interface {
	Paths(job grid.JobID) (work, control string)
	Fetch(ctx context.Context, from grid.PeerID, job grid.JobID, set core.FileSet, files grid.Manifest, user grid.User, grants []grid.Grant) error
	// Bring fetches what a job takes by URI. unavailable tells of an error that one of these cannot be had
	// from here now; from has the credentials for them, or is "".
	Bring(ctx context.Context, from grid.PeerID, job grid.Job) (unavailable bool, err error)
	// Costs is how many bytes that has, as far as it is told.
	Costs(ctx context.Context, job grid.Job) grid.SourceCost
	// Export brings outputs where they go: failed are those that could not be brought, gone those that are
	// not here any more. tell is called with why one is brought again.
	Export(ctx context.Context, job grid.Job, left grid.Manifest, tell func(why string)) (failed, gone []string, err error)
	// End drops what only a job that has not ended needs.
	End(job grid.JobID) error
	// HasInputs tells whether the inputs of a job are here: grid.ErrNotFound where one is not.
	HasInputs(job grid.JobID, files grid.Manifest) error
	// Share gives a job inputs that another folder has, without a copy.
	Share(job, from grid.JobID, files grid.Manifest) error
	MakeFolder(job grid.JobID) error
	Prepare(ctx context.Context, job grid.Job, keep bool) error
	Collect(ctx context.Context, job grid.Job) (files grid.Manifest, missing []grid.MissingOutput, err error)
	Discard(job grid.JobID, keep bool) error
	// SetAside moves a job's folder away and gives where it is, "" if it was not worth that; Aside gives the control
	// folders there, with their jobs; PutBack moves the one of such a control folder back, unless its job has one: DropAside removes what was
	// moved before then, and gives how many folders.
	SetAside(job grid.JobID, foreign bool, now time.Time) (where string, err error)
	Aside() (controls map[string]grid.JobID, err error)
	PutBack(control string, job grid.JobID) (moved bool, err error)
	DropAside(then time.Time) (dropped int, err error)
	Jobs() ([]grid.JobID, error)
	// Space is what is free for files of jobs, beside what is kept back.
	Space() (int64, error)
}

// Journal keeps records; see package store.
type Journal interface {
	ID() grid.JournalID
	// Each gives all records, in the order of their job identifiers.
	Each(ctx context.Context, give func(grid.Record) error) error
	// Record reads one; grid.ErrNotFound if there is none.
	Record(ctx context.Context, id grid.JobID) (grid.Record, error)
	// Records reads those that there are of some, in any order.
	Records(ctx context.Context, ids []grid.JobID) ([]grid.Record, error)
	// Page reads up to limit after an identifier, of the users of a name or of all (""), without
	// what they bring, run, left and were decided by.
	Page(ctx context.Context, after grid.JobID, user string, limit int) ([]grid.Record, error)
	Site(ctx context.Context) (grid.SiteState, error)
	// Groups are all groups, in the order of their identifiers.
	Groups(ctx context.Context) ([]grid.Group, error)
	// Templates and Results are what lies beside them.
	Templates(ctx context.Context) ([]grid.Template, error)
	Results(ctx context.Context) ([]grid.Results, error)
	// Allocations are how far all co-allocated jobs are.
	Allocations(ctx context.Context) ([]grid.Allocation, error)
	// Budgets are what users here may pay.
	Budgets(ctx context.Context) ([]grid.Budget, error)
	// Reservations are those of the nodes here, and those that users here hold elsewhere.
	Reservations(ctx context.Context) ([]grid.Reservation, error)
	Commit(ctx context.Context, changes []grid.Change) error
	History(ctx context.Context, kind grid.Kind, key string) ([]grid.Event, error)
	// Decisions are what was decided of a job, the oldest first: the first, and the latest.
	Decisions(ctx context.Context, job grid.JobID) ([]grid.Decision, error)
	Space() (free int64, err error)
	// Lives are the starts of the journal, the present one last.
	Lives() []grid.Life
	// Witness is what the file beside the journal said of it at its opening.
	Witness() grid.Witness
	// Told is the last word there on each job of which want says so.
	Told(ctx context.Context, want func(grid.LastWord) bool) ([]grid.Record, error)
	// Tell writes records there, and the highest stamp; it is durable when it returns, unless
	// there are no records: how far the journal has come may be lost in a power cut.
	Tell(ctx context.Context, stamp uint32, records []grid.Record) error
	// SeenPeer notes how far a peer's journal has come; it is durable with a later
	// Commit. Peers gives what was noted, the incarnation first seen first.
	SeenPeer(ctx context.Context, peer grid.PeerID, id grid.JournalID) error
	Peers(ctx context.Context) (map[grid.PeerID][]grid.JournalID, error)
	Close() error
}

// Ports are what a Broker works through.
type Ports struct {
	Peers  Peers
	Hints  Hints
	Links  Links
	Batch  Batch
	Stager Stager
	Tokens func(control string, job grid.JobID) ([]grid.AttemptID, error) // of which a control directory tells; see package pbs/control
	// Gather tells a part of a co-allocated job in its control directory; see package pbs/control.
	Gather  func(control string, at grid.AttemptID, begun bool, sites []grid.Gathered) error
	Journal func(ctx context.Context) (Journal, error) // opens it, also anew after a failed save
	Clock   func() grid.Tick                           // never goes back
	Wall    func() grid.Tick                           // the wall clock, to notice its jumps; may be nil
	// Changed sees each change of an entity once it is durable, with what readers saw of it before, nil if that
	// was nothing. It must not wait, and may keep neither. It may be nil.
	Changed func(before grid.Entity, change grid.Change)
	// Share gives peers their rates of the uplink, in bytes per second, and all others the rest, 0 being no limit; it may be nil.
	Share func(reserved map[grid.PeerID]int64, rest int64)
	// Displaced hears of local jobs that give way to a reservation, and what they lose; it may be nil.
	Displaced func(jobs int, coreSeconds float64)
	// HangUp closes the connections with all members, which are then made anew; it must not wait. It may be nil.
	HangUp func()
	// Notifier tells users of their jobs; an error that wraps grid.ErrInvalid is final. It may be nil.
	Reserver Reserver // nil where the batch system makes no reservations
	Notifier interface {
		Notify(ctx context.Context, r *grid.Record, owed grid.Owed) error
	}
	// Serve does what a user of another broker wishes, who may. It may be nil.
	Serve func(ctx context.Context, e core.Serve) (core.Found, error)
	Log   *zap.Logger
}
