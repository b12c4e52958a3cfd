package grid

import "cmp"

// Submission is one attempt as the batch system gets it.
type Submission struct {
	ID  AttemptID
	Job Job
	// Work and Control are absolute folders at the site: the sandbox's working
	// tree, and where start token, start time and exit status are kept.
	Work, Control string
	Limit         Tick // kill limit of the program: never below the walltime asked for
	Expected      Tick // run time expected at this site's speed
	Age           Tick // how long the job has waited since its submission at home
	// Reservation binds it to a reservation of the site, by our identifier; "" is none.
	Reservation string
	// Reached tells of a part that the nodes of this site and of all others reach each other, as this one declares.
	Reached bool
}

// BatchLimit is how long the attempt may have its place: a part of a co-allocated job waits there
// for the others first.
func (s Submission) BatchLimit() Tick { return s.Limit + s.Job.Part.AtBarrier() }

// Phase is how far an attempt has come, by the control files first and the batch
// system's listing second.
type Phase uint8

// Phases of an attempt.
const (
	Unknown   Phase = iota // neither batch system nor control files know it
	Waiting                // in the local queue
	Withdrawn              // its start token was taken by the broker: it never starts
	Started                // its program was started
	Ended                  // its program, or the attempt to start it, ended
)

func (p Phase) String() string {
	return [...]string{"unknown", "waiting", "withdrawn", "started", "ended"}[min(int(p), 4)]
}

// Cause is why an attempt ended.
type Cause uint8

// Causes of an end. The numbers are stored and sent: append only.
const (
	ByItself    Cause = iota // exit code or signal of its own
	ByWalltime               // the kill limit
	ByRequest                // a kill that the broker asked for
	NeverRan                 // the program could not be started; Detail says why
	Disappeared              // the supervisor vanished without a word
	Alone                    // a part of a co-allocated job was not told in time that the others had begun
	CutOff                   // the machine that ran it is out of reach, or has lost it: Detail says how
	Unbrought                // it has ended, and what it left cannot be taken from where it ran: Detail says why
)

var causeNames = [...]string{"itself", "walltime", "request", "never-ran", "disappeared", "alone", "cut-off", "unbrought"}

func (c Cause) String() string {
	if int(c) >= len(causeNames) {
		return ""
	}
	return causeNames[c]
}

// CauseNames are the names of all causes, by number.
func CauseNames() []string { return causeNames[:] }

// Progress is what is known of one attempt.
type Progress struct {
	ID       AttemptID
	Local    LocalID
	Phase    Phase
	Started  Tick
	Finished Tick
	ExitCode int // valid if Ended by itself; 128+n for signal n
	Signal   int // 0 if none
	Cause    Cause
	Detail   string // for people
	Usage    Usage
	// Still is why a program that was started stands still now, for people; "" where it does not, or nobody knows.
	Still string
	// Place is the computer that has it, where its batch system may start it again on another, and Starts how often that has started it.
	Place  string
	Starts int
	// Arrived tells that a part of a co-allocated job waits at its barrier, or has passed it, with
	// what it said there: see Gathered.
	Arrived    bool
	Hosts      []string
	Address    string
	Rendezvous string
}

// Usage is what an attempt has used; zero is not known.
type Usage struct {
	CPU    Tick  // processor time of all its processes
	Memory int64 // the most at one time, bytes
	// Nodes are the names of the nodes on which its program ran, with commas between them, at
	// most MaxUsedNodes bytes: where there are more, the last is "…".
	Nodes string `json:",omitempty"`
}

// Limits of what is believed of a usage.
const (
	MaxUsedCPU    Tick = 1e15
	MaxUsedMemory      = int64(1) << 60 // bytes
	MaxUsedNodes       = 1000           // bytes of all names
)

// Or joins two measurements of one attempt: either may lack a part, so the larger counts.
func (u Usage) Or(v Usage) Usage {
	return Usage{max(u.CPU, v.CPU), max(u.Memory, v.Memory), cmp.Or(u.Nodes, v.Nodes)}
}
