package api

import (
	"context"
	"io"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
)

// NewJob is a submission.
type NewJob struct {
	Key string // made by the submitter before sending; same user and key is the same job
	// Job is all but ID, Home and User, which the broker fills in. Its Inputs are what will be
	// uploaded, in any order and without hashes.
	Job grid.Job
	// Credentials are for the URIs of the job; see package stage/transfer. They are in no record.
	Credentials []byte
	// QueueAnyway: it is taken though no known site could ever run it.
	QueueAnyway bool
	// Guaranteed: a reservation is made for it where it would end first.
	Guaranteed bool
	// Reserved is a reservation of the user that was made for it. Without it, or when that is lost, it is queued for all its sites.
	Reserved grid.ReservationID
}

// SiteView is one line of `gclient sites`.
type SiteView struct {
	Site  grid.Site
	Peer  grid.PeerID
	Self  bool
	Send  bool
	State grid.Liveness
	// Contact says more where State is not Alive.
	Contact grid.Contact
	Link    grid.Link
	// Qualities go with the rates of Link; there may be none.
	Qualities []grid.Quality
	// Offset is how far the site's clock is ahead of this one's, within Bound; Bound 0 is not measured.
	Offset, Bound grid.Tick
	Version       string   // of the program there, "" until heard
	Alarms        []string // of the site itself: what is wrong with this broker, and what to do
	// Started and Accuracy are of the site itself: how many jobs its estimates of
	// starts are judged by, and how good those were of the jobs that had to wait.
	Started  int
	Accuracy plan.Accuracy
	// NotChosen is one of the neighbours' file that the rule there leaves out; Link was measured Age ago, when it was none.
	NotChosen bool
	// Far is a site beyond the neighbours, of which Age ago its own record was made.
	Far        bool
	Age        grid.Tick
	Addresses  []string
	ProposedBy []string // how the neighbours are called here that have it as a member
}

// alarm is all that is wrong with this broker, as it is told.
func (v *SiteView) alarm() string { return strings.Join(v.Alarms, "; ") }

// What the API needs of a broker is three services, each with a table of routes of its own: what one may not do is not
// in the table that he gets. Errors wrap the kinds of grid (ErrInvalid, ErrNotFound, ErrForbidden, ErrNotYet, ErrUnavailable).

// UserService is for everybody. Every method about a job checks that it is who's, or that who is an administrator.
type UserService interface {
	// ReadLog is what a job has written of a file behind a place in it. Where there is nothing yet it waits until
	// ctx is done, if q says so, and then tells how the job is.
	ReadLog(ctx context.Context, who Identity, id grid.JobID, q LogQuery) (LogPiece, error)
	// Where is what would be decided now about a job that is not handed in, of every site, and how sure its waits are.
	Where(ctx context.Context, who Identity, n NewJob) (Foreseen, error)
	// Reserve has nodes reserved for a user and confirmed; Reservations are those that the user may see; Release gives
	// one up; ChangeReservation gives one another place.
	Reserve(ctx context.Context, who Identity, n NewReservation) (grid.Reservation, error)
	Reservations(ctx context.Context, who Identity) ([]grid.Reservation, error)
	Release(ctx context.Context, who Identity, id grid.ReservationID) (grid.Reservation, error)
	ChangeReservation(ctx context.Context, who Identity, id grid.ReservationID, to NewPlace) (grid.Reservation, error)
	// Budgets are what users here may pay at sites with prices: that of the user; for administrators those of all.
	Budgets(ctx context.Context, who Identity) ([]grid.Budget, error)
	// Self is the broker's own site and peer.
	Self() (grid.Site, grid.PeerID)
	// Submit takes a job; it is durable when Submit returns. again tells that the key was known.
	Submit(ctx context.Context, who Identity, j NewJob) (r grid.Record, again bool, err error)
	// Warnings are what of a job that is handed in will not come true here, or may not.
	Warnings(j *grid.Job) []string
	// Upload takes one wanted file, whole; a file that is there already is accepted unread if its size is equal.
	// body has the bytes from offset on, up to which an upload has come that broke.
	Upload(ctx context.Context, who Identity, id grid.JobID, path string, offset int64, body io.Reader) error
	// Begun is how far an upload of a file has come that broke.
	Begun(ctx context.Context, who Identity, id grid.JobID, path string) (int64, error)
	// Uploaded tells that all wanted files were sent; ErrInvalid names one that is missing.
	Uploaded(ctx context.Context, who Identity, id grid.JobID) (grid.Record, error)
	// Job is the record of one job.
	Job(ctx context.Context, who Identity, id grid.JobID) (grid.Record, error)
	// Jobs lists up to limit jobs that who may see, oldest first, after the given id ("" from the start).
	Jobs(ctx context.Context, who Identity, after grid.JobID, limit int, f Filter) ([]grid.Record, error)
	// History is the append-only table of a job's events.
	History(ctx context.Context, who Identity, id grid.JobID) ([]grid.Event, error)
	// Decisions are what was decided of a job's place, the oldest first: the first, and the latest; none
	// where its home is another.
	Decisions(ctx context.Context, who Identity, id grid.JobID) ([]grid.Decision, error)
	// Allocation is how far a job that who may see, and that may run at several sites at once, is with that; nil where
	// it is none, or its home is another.
	Allocation(ctx context.Context, who Identity, id grid.JobID) (*grid.Allocation, error)
	// Wait returns when the job's state is no longer since, or has ended, or ctx is done (then the record as it is).
	Wait(ctx context.Context, who Identity, id grid.JobID, since grid.State) (grid.Record, error)
	// Changes are what of some kinds who may see and has changed behind a position, as it is now; from the zero one
	// nothing. It returns as soon as there is some, or when ctx is done.
	Changes(ctx context.Context, who Identity, after Position, kinds []Kind) (Changes, error)
	// Cancel asks for the end of a job; confirmed once the owner has durably withdrawn it or its end is known.
	// It waits for that until ctx is done.
	Cancel(ctx context.Context, who Identity, id grid.JobID) (r grid.Record, confirmed bool, err error)
	// Remove deletes an ended job and its files.
	Remove(ctx context.Context, who Identity, id grid.JobID) error
	// Outputs lists what the job left (complete), or what there is so far, by where the user gets it.
	Outputs(ctx context.Context, who Identity, id grid.JobID) (files grid.Manifest, complete bool, err error)
	// Output opens one of the files listed.
	Output(ctx context.Context, who Identity, id grid.JobID, path string) (io.ReadCloser, error)
	// SubmitGroup takes all jobs of a group, or none; they are durable when it returns.
	SubmitGroup(ctx context.Context, who Identity, n NewGroup) (g GroupRecord, again bool, err error)
	// Group is a group and a page of its jobs.
	Group(ctx context.Context, who Identity, id grid.GroupID, page Members) (GroupRecord, error)
	// GroupHistory is the append-only table of what happened to a group.
	GroupHistory(ctx context.Context, who Identity, id grid.GroupID) ([]grid.Event, error)
	// Groups lists the groups that who may see, oldest first, without their jobs.
	Groups(ctx context.Context, who Identity) ([]GroupRecord, error)
	// WaitGroup returns when all jobs of the group have ended, or ctx is done (then it as it is).
	WaitGroup(ctx context.Context, who Identity, id grid.GroupID, page Members) (GroupRecord, error)
	// Alter changes a job of this home that waits, or the deadline of one that runs; confirmed once nothing that is
	// replaced can start any more.
	Alter(ctx context.Context, who Identity, id grid.JobID, to grid.Alteration) (r grid.Record, confirmed bool, err error)
	// Resubmit hands an ended job of this home in again, with its files.
	Resubmit(ctx context.Context, who Identity, id grid.JobID, key string) (grid.Record, error)
	// CancelGroup asks for the end of all jobs of a group; that is durable when it returns.
	CancelGroup(ctx context.Context, who Identity, id grid.GroupID, page Members) (GroupRecord, error)
	// RemoveGroup deletes an ended group, its jobs and their files.
	RemoveGroup(ctx context.Context, who Identity, id grid.GroupID) error
	// Sites lists this site and the members.
	Sites(ctx context.Context) ([]SiteView, error)
	// AllSites lists also those beyond the neighbours, where there is a grid key.
	AllSites(ctx context.Context) ([]SiteView, error)
	// SiteName is the alias of a peer: its name in the member file, this site's own, else the peer ID.
	SiteName(p grid.PeerID) string
}

// AdminService is for administrators: who asks is one.
type AdminService interface {
	// Drain makes the site take no more grid jobs and hand on those that wait, or ends that.
	Drain(ctx context.Context, on bool) error
	// Forget decides about the jobs of a site that will not come back, or tells what it would decide.
	Forget(ctx context.Context, who Identity, f Forgetting) (Forgotten, error)
	// End ends a job by an administrator's word, or tells whether it may be ended so.
	End(ctx context.Context, who Identity, id grid.JobID, e Ending) (grid.Record, error)
	// Resume lets a broker go on that has stopped until an administrator decides.
	Resume(ctx context.Context) (Asking, error)
	// HadDuplicate makes a broker that had a duplicate unnoticed ask all what that one has done, before it starts anything.
	HadDuplicate(ctx context.Context) (Asking, error)
	// Batch is what the local batch system holds now.
	Batch(ctx context.Context) (Batch, error)
	// Handoffs lists the jobs that are on their way to or from a neighbour.
	Handoffs(ctx context.Context, neighbour grid.SiteName) ([]Handoff, error)
	// Overview is how the broker is.
	Overview(ctx context.Context) (Overview, error)
}

// HookService is for what the batch system runs, as an epilogue, and for administrators.
type HookService interface {
	// Notify tells that something has changed in the batch system: it is looked at now.
	Notify(ctx context.Context) error
}
