package external

import (
	"context"
	"fmt"

	"gbroker/grid"
	"gbroker/plan"
)

// Client is one kind of batch system as its commands know it: a translation, with no
// memory and no retries. Each method runs one or a few commands and reads their output
// strictly. An error wraps grid.ErrUnavailable where nothing is known of what was asked
// (no answer, output that does not parse, a controller that is down), and grid.ErrInvalid
// where the batch system has refused it and always will. An empty list is never taken
// from a command that failed.
//
// as is the account under which a command is run; "" is the daemon's own.
type Client interface {
	// Traits says what this system is and can do; it asks nobody.
	Traits() Traits
	// Listing is all that the system holds, of all users, in one poll.
	Listing(ctx context.Context) (Listing, error)
	// Look reads jobs afresh by their identifiers, after whatever command went before. One
	// that the system does not know is missing from the answer: that is unknown, not gone.
	Look(ctx context.Context, ids ...grid.LocalID) ([]Job, error)
	// Submit hands a script over and tells what the system calls the job.
	Submit(ctx context.Context, o Order) (grid.LocalID, error)
	// Hold, Release and Remove act on one job, whatever it is by then: the caller has just
	// looked. Release ends our own (user) hold only.
	Hold(ctx context.Context, as string, id grid.LocalID) error
	Release(ctx context.Context, as string, id grid.LocalID) error
	Remove(ctx context.Context, as string, id grid.LocalID) error
}

// Reserver is a Client of a system that has advance reservations.
type Reserver interface {
	// Reservations lists the reservations of the system, ours and others'.
	Reservations(ctx context.Context) ([]Reservation, error)
	// MakeReservation makes a reservation and tells its identifier in the system. It is not
	// idempotent; the caller lists before and after.
	MakeReservation(ctx context.Context, b Reservation) (string, error)
	// ChangeReservation changes start, end or nodes of a reservation to those of b; where the system
	// cannot, the error wraps grid.ErrInvalid and nothing has changed.
	ChangeReservation(ctx context.Context, b Reservation) error
	// EndReservation ends it; one that is not there is no error.
	EndReservation(ctx context.Context, native string) error
}

// Traits are what differs between batch systems.
type Traits struct {
	Kind    string // slurm, torque, openpbs
	Version string // as the system says, "" before it was asked
	// NameLimit is the longest job name, in bytes.
	NameLimit int
	// Forgets is how long a job that has ended is still listed; 0 is not at all, or unknown.
	Forgets grid.Tick
	// Least is the shortest walltime that the system can hold; shorter ones become it.
	Least grid.Tick
	// Slack is how much longer than its job's limit a reservation must be, so that the job
	// fits into it and is not cut.
	Slack grid.Tick
	// Early is how much earlier than asked a reservation may begin that is to begin soon, and how much later it may end then.
	Early grid.Tick
	// Ages tells that a job's age can be handed over, so that it orders the queue.
	Ages bool
	// RequeueFlag is how the system is told not to requeue, for people.
	RequeueFlag string
}

// Listing is one poll.
type Listing struct {
	At      grid.Tick // by the system's clock when the poll began
	Policy  plan.Policy
	Nodes   []plan.Node
	Silent  []grid.NodeName // of those that are down: they do not answer, as far as the system tells that apart
	Queues  []plan.Queue
	Default grid.QueueName // of jobs that name no queue
	Jobs    []Job          // the waiting ones in the order in which the scheduler will take them
	// Ranked tells that Priority is what the scheduler itself has computed, with all that counts, such as what each user
	// has used lately. Else who of several users goes first is not known.
	Ranked       bool
	Reservations []Reservation
	Shapes       plan.Shapes // what the system can be asked for, beside what nodes there are
	// Caps bound what runs at one time; Ours are those that one more job of the daemon's own
	// account falls under, in whatever queue.
	Caps  []plan.Cap
	Ours  []int
	Looks grid.Tick // the interval at which the scheduler looks at its queue, as it says; 0: it does not say
	// Stopped tells that nothing is started, nobody knows until when; Why is the reason.
	Stopped bool
	Why     string
	// Unusable is what could not be read, in one queue, node or job of others, and is left
	// out or taken as unusable: what the system holds otherwise is not lost for it. LeftOut
	// is how many more there are.
	Unusable []string
	LeftOut  int
}

// mostUnusable bounds what is told of that.
const mostUnusable = 5

// LeaveOut notes that something, such as "queue fresh", cannot be read.
func (l *Listing) LeaveOut(what string, err error) {
	if len(l.Unusable) == mostUnusable {
		l.LeftOut++
		return
	}
	l.Unusable = append(l.Unusable, fmt.Sprintf("%.80s: %.200v", what, err))
}

// MostUnread and fewUnread bound what may be left out of one output: where more, and most, of a
// list is not understood, the whole of it is not.
const (
	MostUnread = 64
	fewUnread  = 3
)

// Misread tells that too much of a list is not understood, with one of the reasons.
func Misread(unread, of int, why error) error {
	if unread > MostUnread || unread > fewUnread && 2*unread > of {
		return fmt.Errorf("%d of %d are not understood, such as: %w", unread, of, why)
	}
	return nil
}

// State is where a job of a listing is.
type State uint8

// States of a local job.
const (
	Odd     State = iota // a state that says neither: unknown
	Queued               // it waits, and is considered
	Held                 // it waits, and is not considered
	Running              // it was started; also where it is stopped, or about to end
	Done                 // it has ended; End says how
)

// Job is one job of a listing.
type Job struct {
	Local grid.LocalID
	Name  string // what the system calls its name: it holds the tag of ours
	Mark  string // what Order.Mark was, "" of others' jobs
	User  string // the account that owns it
	// Account is what it is charged to, QOS its quality of service, where the system tells them.
	Account, QOS string
	// More is how many jobs alike this one stands for, beside itself: the tasks of an array that wait.
	More int
	// Throttle is how many jobs of its array may run at once; 0 is all.
	Throttle int64
	Queue    grid.QueueName
	State    State
	// OurHold is a user hold, which Release ends; other holds are an operator's or the system's.
	OurHold bool
	Demand  grid.Demand
	// Nodes of a running job, with what it has on each; of one of an unknown state those that it may have.
	Places []Place
	Limit  grid.Tick // its walltime
	// Instants by the system's clock; 0 is not known.
	Submitted, Started, Finished grid.Tick
	Eligible                     grid.Tick // since when it could be started: later than Submitted where it was held
	Priority                     int64
	NeverStarted                 bool // evidence that it has never started: see the driver's package comment
	End                          *End // of a job that is Done
	Usage                        Usage
	Reservation                  string // what it is bound to, by the system's name
	PassedOver                   bool   // it is Queued, but jobs that came later were started before it: it counts as not considered
	Caps                         []int  // limits that it falls under, by index into Listing.Caps
	Reason                       string // why it waits, or what is wrong, in the system's words
}

// holds tells that a job has nodes, or may have: one of an unknown state has those that the system still tells.
func (j *Job) holds() bool { return j.State == Running || j.State == Odd && len(j.Places) > 0 }

// Place is the part of a job on one node.
type Place struct {
	Node      grid.NodeName
	Processes int
	Cores     int
	Memory    int64
	Resources []grid.Resource
}

// End is how a job ended, in the system's word.
type End struct {
	ExitCode int // 0-255; 128+n for signal n
	Signal   int
	Cause    grid.Cause // grid.ByRequest: it was cancelled, by whomever
	Detail   string     // for people: walltime, node failure, out of memory, ...
	NodeFail bool
	// Unsure: a node that was restarted would have told the same of a job whose end it has not seen.
	Unsure bool
}

// Usage is what a job has used; zero is not known.
type Usage struct {
	CPU    grid.Tick // processor time of all processes
	Wall   grid.Tick
	Memory int64 // the most at one time, bytes
}

// Order is a job to be submitted.
type Order struct {
	Tag         string // 15 characters: begins the name
	Mark        string // letters, digits and . / @ # - _ only; comes back in Job.Mark
	Script      []byte // the wrapper, never empty; handed over by standard input
	Work        string // the job's folder, absolute: where the wrapper starts
	Log         string // absolute path for what the wrapper itself says, both streams
	Demand      grid.Demand
	Without     []grid.NodeName // nodes that it must not have: all but the Hosts of Demand
	Queue       grid.QueueName  // "" is the system's default
	Limit       grid.Tick
	Parallel    bool // one task for each process is to be startable on the nodes
	Rerunnable  bool
	Held        bool   // submitted on our hold
	Account     string // charged, in the system's words; "" is the user's default
	Reservation string // by the system's name
	As          string
}

// Reservation is a reservation of whole nodes.
type Reservation struct {
	Native     string // the system's identifier
	ID         string // ours: letters and digits, at most 24; "" of others' reservations
	Nodes      []grid.NodeName
	Start, End grid.Tick
	User       string // who may use it, where the system tells
	Account    string // whose jobs alone may, where the system has an account for each reservation
	// Cores reserved on each of Nodes; nil is all of each.
	Cores []int
}
