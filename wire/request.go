package wire

import "gbroker/grid"

// Request is what a user asks of a job or a group of another home, passed on by the broker where it was
// asked. Repeated until Response.
//
// Brokers of before knew the status and the cancel of a job alone; all else names [FeatureWishes].
type Request struct {
	Number        uint64 // grows with each request of a broker, in one life of it
	Job           grid.JobID
	Group         grid.GroupID // instead of Job
	User          string       // as the asking broker knows the user
	Administrator bool         // of the asking broker
	Wish          Wish
	Alter         *Alteration // of WishAlter
	Key           string      // of WishResubmit: under the same key it is the same job
	After, Limit  int         // of the status of a group: up to Limit of its jobs after that number
	Echo          uint64      // of what changes something: as the last Response told it, or NoEcho; 0 from a broker that knows of none
}

// NoEcho is the Echo of a Request before a Response has told one.
const NoEcho = 1

// Wish is what a Request asks for. Append only.
type Wish uint8

// The wishes.
const (
	WishStatus    Wish = iota // how it is
	WishCancel                // its end
	WishAlter                 // a change of a job
	WishResubmit              // an ended job once more
	WishRemove                // that an ended one is deleted
	WishHistory               // what happened to it
	WishDecisions             // why a job is where it is
	wishes
)

// Alteration is what a job is to be otherwise; nil, and what is not known, is as it is.
type Alteration struct {
	Held                *bool
	NotBefore, Deadline In
	Priority            *int
	Walltime            *grid.Tick
	Processes           *int
	Queue               *grid.QueueName
}

// Outcome of a Request. Append only.
type Outcome uint8

// Outcomes. Those after OutcomeLater are told only to who asks for what came with them.
const (
	OutcomeDone        Outcome = 1 + iota // Status or Group is set
	OutcomeUnknown                        // there is no such job, or group, here
	OutcomeForbidden                      // not for this user
	OutcomeLater                          // not now
	OutcomeInvalid                        // it cannot be done
	OutcomeUnavailable                    // the asked one is not able to now
	OutcomeWorking                        // it is under way: the request is to be repeated
	outcomes
)

// Limits of a Request and a Response.
const (
	MaxKey        = 128  // bytes of a Request's key
	MaxMembers    = 1000 // jobs of a group
	MaxEvents     = 4096
	MaxDecisions  = 128
	MaxCandidates = 4096 // of one decision
)

// Response answers Request.
type Response struct {
	Number  uint64
	Job     grid.JobID   // as asked for
	Group   grid.GroupID // likewise
	Outcome Outcome
	Why     string // for people, unless done
	// Of what was asked for, if it is done: Status of a job, About of a group.
	Status *Status
	About  *GroupStatus
	New    grid.JobID // of WishResubmit: the identifier of the new job, whose Status it is
	// Certain: nothing that an alteration has replaced can start any more.
	Certain   bool
	Events    []Event    // of WishHistory: the latest
	Decisions []Decision // of WishDecisions: the latest
	Echo      uint64     // of OutcomeWorking, not 0: the request is to be repeated with that, and is served then
}

// GroupStatus is the public part of a group's record, and a page of its jobs.
type GroupStatus struct {
	Name            string
	User            grid.User
	Jobs            int // how many it has
	Entered, AtOnce int
	Coming          []int       // those whose files are to come
	Counts          grid.Counts // how many are in which state
	Failing         int         // of those that are Completed, how many ended with another status than 0
	Submitted       Ago
	Ended           Ago
	Cancel          bool
	Members         []Member
	Next            int // more follow after that number; 0 is the end
}

// Member is a job of a group. Its Status has no outputs.
type Member struct {
	Number int
	Status Status
}

// Event is a line of a history.
type Event struct {
	At    Ago
	State grid.State // of a job, else 0
	Site  grid.SiteName
	Epoch grid.Epoch
	Why   string
}

// Decision is one run of the search for a job.
type Decision struct {
	At         Ago
	Epoch      grid.Epoch
	Chosen     grid.SiteName
	Candidates []grid.Candidate
	Unmoved    bool   // the job stays where it waits, at Chosen
	Stays      string // why, for people; only of one that is Unmoved
}

// Status is the public part of a job's record.
type Status struct {
	Name              string
	User              grid.User
	Home, Owner       grid.PeerID
	State             grid.State
	Epoch             grid.Epoch
	Demand            grid.Demand
	Walltime          grid.Tick
	WalltimeDefaulted bool
	Queue             grid.QueueName
	Submitted         Ago
	Started           Ago
	Finished          Ago
	Ended             Ago
	ContactLost       Ago
	Predicted         In
	Estimate          In
	End               grid.State
	ExitCode          int
	HasExit           bool
	Signal            int
	Reason            string
	Cancel            bool
	Outputs           grid.Manifest // where the answering broker has them
	Output, Error     string        // under which names its standard output and error come back; "" is not said
	Usage             grid.Usage
	Local             grid.LocalID
	// Outline: of a job without a record of its own, of which demand and walltime are not known here.
	Outline bool
}

func (Request) Kind() Kind  { return KindRequest }
func (Response) Kind() Kind { return KindResponse }
