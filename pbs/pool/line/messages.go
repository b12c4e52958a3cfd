package line

// Version of the protocol. A side that hears another first number says so and stops.
const Version = 1

// Paths of the requests; those of a job have its tag behind [Jobs].
const (
	JoinPath       = "/v1/join"
	RegisterPath   = "/v1/register"
	ConnectPath    = "/v1/connect"
	ReportPath     = "/v1/report"
	OrdersPath     = "/v1/orders"
	DisconnectPath = "/v1/disconnect"
	UnregisterPath = "/v1/unregister"
	JobsPath       = "/v1/jobs/"
)

// Join asks for a certificate.
type Join struct {
	Version int    `json:"version"`
	Secret  string `json:"secret"` // of the join code
	Name    string `json:"name"`   // that the computer wants
	Request []byte `json:"request"`
}

// Joined is the answer to Join.
type Joined struct {
	Certificate []byte `json:"certificate"` // DER
}

// Register tells what the computer is.
type Register struct {
	Version      int      `json:"version"`
	Registration string   `json:"registration,omitempty"` // by chance, of this agent
	Computer     Computer `json:"computer"`
}

// Computer is what a computer has to give, as its owner allows.
type Computer struct {
	Architecture string           `json:"architecture"` // in JSDL's words
	System       string           `json:"system"`
	Cores        int              `json:"cores"`
	Memory       int64            `json:"memory"` // bytes
	Disk         int64            `json:"disk"`   // bytes
	Speed        float64          `json:"speed"`  // of one core, relative to the reference
	Properties   []string         `json:"properties,omitempty"`
	Resources    map[string]int64 `json:"resources,omitempty"`
	Users        []string         `json:"users,omitempty"` // whom the owner admits; none is everybody
	Network      bool             `json:"network"`         // jobs that ask for it may use the network
	Dedicated    bool             `json:"dedicated"`       // nobody sits at it
	Policy       Policy           `json:"policy"`
}

// Policy is when the owner lets jobs run, and what the owner's clock shows.
type Policy struct {
	Hours   uint32 `json:"hours,omitempty"`   // a bit for each hour of the day, from 0; 0 is all of them
	Battery bool   `json:"battery,omitempty"` // also on battery
	Offset  int64  `json:"offset,omitempty"`  // milliseconds of the clock from UTC
}

// Connect begins a session.
type Connect struct {
	Version      int      `json:"version"`
	Session      string   `json:"session"`                // by chance
	Registration string   `json:"registration,omitempty"` // of this agent; where the pool has another's it is to register again
	Jobs         []Report `json:"jobs"`                   // all that the computer holds
}

// Availability of a computer, as its owner has it.
type Availability string

// Availabilities.
const (
	Free   Availability = "free"   // jobs may run
	Active Availability = "active" // the owner is at work: jobs are suspended
	Barred Availability = "barred" // the owner's hours, battery or load forbid it
	Paused Availability = "paused" // the owner said pause
)

// Status is a report of a computer.
type Status struct {
	Session      string       `json:"session"`
	Availability Availability `json:"availability"`
	Why          string       `json:"why,omitempty"` // for people
	Idle         float64      `json:"idle"`          // part of the processor that a job would get now
	Speed        float64      `json:"speed"`         // as last measured
	Disk         int64        `json:"disk"`          // bytes that are free for jobs now
	Seen         Seen         `json:"seen"`
	Jobs         []Report     `json:"jobs"`
}

// Seen is what an agent saw of its computer since its report before, whatever the policy says: of Span, which ends now, the owner was there
// or said pause for Active, and of the rest it ran on battery for Battery. Idle is the part of all processors that nobody but the
// pool's jobs used in the rest, on average.
type Seen struct {
	Span    int64   `json:"span"` // milliseconds, as all of these
	Active  int64   `json:"active"`
	Battery int64   `json:"battery"`
	Idle    float64 `json:"idle"`
}

// JobState is how far a job has come at the computer.
type JobState string

// The four states of a job in a report.
const (
	Fetching  JobState = "fetching"  // its inputs are on their way
	Running   JobState = "running"   // its program was started, or may have been
	Suspended JobState = "suspended" // for the owner
	Returning JobState = "returning" // its program has ended, its output is on its way
)

// Report is how one job does.
type Report struct {
	Tag   string   `json:"tag"`
	Stint string   `json:"stint"` // by chance, of this computer's hold of the job
	State JobState `json:"state"`
	Wall  int64    `json:"wall"` // milliseconds that its program ran, without suspensions
	CPU   int64    `json:"cpu"`  // milliseconds of processor time
}

// Orders is all that the pool wants of a computer: it holds these jobs and no others.
type Orders struct {
	Interval int64   `json:"interval"` // milliseconds until the next report
	Poll     int64   `json:"hold"`     // for how long a request for orders may wait for some; 0: do not ask
	Version  uint64  `json:"version"`  // grows when orders change
	Jobs     []Order `json:"jobs"`
}

// Order is what is wanted of one job.
type Order struct {
	Tag        string      `json:"tag"`
	Kill       bool        `json:"kill,omitempty"` // end it, and return it
	Assignment *Assignment `json:"assignment,omitempty"`
}

// Assignment is a job for a computer. Texts of the user are bytes, for they may be any.
type Assignment struct {
	Attempt     string   `json:"attempt"`
	Site        string   `json:"site"`
	Job         string   `json:"job"`
	Term        uint32   `json:"term"`
	Hop         uint32   `json:"hop"`
	Number      uint32   `json:"number"`
	Executable  []byte   `json:"executable"`
	Arguments   [][]byte `json:"arguments,omitempty"`
	Environment [][]byte `json:"environment,omitempty"` // NAME=VALUE
	Input       []byte   `json:"input,omitempty"`
	Output      []byte   `json:"output,omitempty"`
	Error       []byte   `json:"error,omitempty"`
	Directory   []byte   `json:"directory,omitempty"`
	Parallel    string   `json:"parallel,omitempty"`
	Dialect     string   `json:"dialect,omitempty"`
	Limits      []Limit  `json:"limits,omitempty"`
	Warning     Warning  `json:"warning"`
	Processes   int      `json:"processes"`
	Cores       int      `json:"cores"`
	Memory      int64    `json:"memory"`
	Disk        int64    `json:"disk"`
	Room        int64    `json:"room,omitempty"` // bytes of memory that it has there; 0 is not said
	Limit       int64    `json:"limit"`          // milliseconds that it may run
	Grace       int64    `json:"grace"`
	Network     bool     `json:"network,omitempty"`
	Checkpoint  []byte   `json:"checkpoint,omitempty"` // file or folder that is brought back while it runs
	Owner       string   `json:"owner"`                // USER@SITE
}

// Limit is a limit of each process.
type Limit struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// Warning is a signal before the time is up.
type Warning struct {
	Signal int   `json:"signal,omitempty"`
	Before int64 `json:"before,omitempty"`
	Leader bool  `json:"leader,omitempty"`
}

// File is one file of a job.
type File struct {
	Path   []byte `json:"path"`
	Size   int64  `json:"size"`
	Mode   uint32 `json:"mode"`             // permission bits
	Folder bool   `json:"folder,omitempty"` // an empty one, or one that must be there
	Link   []byte `json:"link,omitempty"`   // a symbolic link inside the sandbox, to this
}

// Files are the inputs of a job, or what it left.
type Files struct {
	Files []File `json:"files"`
}

// Start asks for the start token, or says that it was used.
type Start struct {
	Stint string `json:"stint"`
}

// Granted is the answer to Start.
type Granted struct {
	Granted bool   `json:"granted"`
	Why     string `json:"why,omitempty"`
}

// Began tells that the program was started, so long ago.
type Began struct {
	Stint string `json:"stint"`
	Ago   int64  `json:"ago"`
}

// End tells how a job ended; its output has been brought before.
type End struct {
	Stint    string `json:"stint"`
	Began    int64  `json:"began"` // milliseconds ago; 0 with Never is not at all
	Ended    int64  `json:"ended"` // milliseconds ago
	ExitCode int    `json:"exit_code"`
	Signal   int    `json:"signal"`
	Cause    string `json:"cause"`
	Detail   string `json:"detail"`
	CPU      int64  `json:"cpu"`
	Memory   int64  `json:"memory"`
}

// Causes of an end that a computer may tell.
const (
	ByItself   = "itself"
	ByWalltime = "walltime"
	ByRequest  = "request"
	NeverRan   = "never-ran"
	CutOff     = "cut-off"   // the computer, the agent or its owner ended it before its time
	Killed     = "vanished"  // its supervisor was killed by somebody
	Unbrought  = "unbrought" // what it left cannot be read, or is more than the pool takes
)

// Refused is the body of every answer that is no success.
type Refused struct {
	Why string `json:"why"`
}

// Ask is a request within a session.
type Ask struct {
	Session string `json:"session"`
	Version uint64 `json:"version"` // of the orders that are known
}
