package plan

import (
	"strings"

	"gbroker/grid"
)

// Node is one machine of a site.
type Node struct {
	Name      grid.NodeName
	Cores     int
	Memory    int64           // bytes; 0 is not declared: memory is then neither asked nor counted
	Resources []grid.Resource // what else it has
	Speed     float64         // 1.0 is the reference; 0 is the site's
	// Architecture and System are in JSDL's words; "" is the site's.
	Architecture, System string
	Properties           []string
	Down                 bool   // down or drained: it takes no job until a snapshot says otherwise
	Why                  string // it is down, for people; "" is not known
}

// Called tells that a host's name means the node: in whatever case, and where one of both has no
// domain without that of the other.
func (n *Node) Called(host string) bool {
	name := string(n.Name)
	if strings.EqualFold(name, host) {
		return true
	}
	short, domain, _ := strings.Cut(host, ".")
	own, ownDomain, _ := strings.Cut(name, ".")
	return (domain == "" || ownDomain == "") && strings.EqualFold(short, own)
}

// Queue is a partition of a site. The nodes of two queues may overlap.
type Queue struct {
	Name  grid.QueueName
	Nodes []int     // indices into Snapshot.Nodes; nil is all
	Limit grid.Tick // the longest limit it takes; 0 is any
	// Stopped tells that none of its jobs is started, Closed that it takes none, nobody knows
	// until when; Why is the reason, for people.
	Stopped, Closed bool
	Why             string
	Ours            []int // caps that one more job of ours falls under there
}

// Share is the part of a job that lies on one node.
type Share struct {
	Node      int // index into Snapshot.Nodes
	Processes int
	Cores     int
	Memory    int64
	Resources []grid.Resource
}

// Running is a job that holds its shares until End at the latest.
type Running struct {
	Job        grid.JobID // "" for a job that is not ours
	Shares     []Share
	Start, End grid.Tick // End is when it is killed
	Trait      Trait     // by which its run time is believed
	Caps       []int     // indices into Snapshot.Caps
}

// Waiting is a job in the local queue.
type Waiting struct {
	Job        grid.JobID // "" for a job that is not ours
	Demand     grid.Demand
	Queue      grid.QueueName // "" is all nodes
	Limit      grid.Tick      // how long the scheduler reserves for it
	Priority   int64          // for ByPriority
	Ineligible bool           // it waits, and the scheduler does not consider it
	Why        string         // why it is ineligible, in the system's words
	Trait      Trait
	// Overtaken is how many jobs behind it FirstFit has started while it waited.
	Overtaken int
	Caps      []int // indices into Snapshot.Caps
	// User and Walltime are as in Question, for a Forecast.
	User     string
	Walltime grid.Tick
}

// Reservation keeps shares of nodes from start until just before End: for one job,
// or for nobody (an outage, or a reservation that is not ours).
type Reservation struct {
	ID         string
	Job        grid.JobID // who alone may use it; "" is none that waits here
	Shares     []Share
	Start, End grid.Tick
}

// Snapshot is what a batch system held at one moment.
type Snapshot struct {
	At           grid.Tick
	Site         grid.Site
	Policy       Policy // of the site's own scheduler
	Nodes        []Node
	Queues       []Queue
	Running      []Running
	Waiting      []Waiting // in the order in which the scheduler will take them (its Policy.Order applied on top)
	Reservations []Reservation
	// Default is the queue of a question that names none; "" is all nodes.
	Default grid.QueueName
	// Stopped tells that the scheduler starts nothing, nobody knows until when; Why is the
	// reason, for people.
	Stopped bool
	Why     string
	// Lag is how late its scheduler reacts to an end.
	Lag Lag
	// Shapes are what it can be asked for.
	Shapes Shapes
	// Caps bound what runs at one time; Ours are those that one more job of ours falls under,
	// in whatever queue.
	Caps []Cap
	Ours []int
	// Forecast is the site's own; nil is that jobs end when they are believed to.
	Forecast Forecast
	// Cohorts are its computers by what they have in common, where it tells that.
	Cohorts []grid.Cohort
	// Unusable says, for people, what of the batch system is left out as it could not be read.
	Unusable []string
}

// Question asks for the earliest start of one more job, at the end of the queue.
type Question struct {
	Demand    grid.Demand
	Queue     grid.QueueName
	Limit     grid.Tick
	NotBefore grid.Tick // instant: the files are not there sooner
	Trait     Trait
	User      string    // USER@SITE, for a Forecast; "" is not known
	Walltime  grid.Tick // that was asked for, on the reference, for a Forecast; 0 is Limit
	Deadline  grid.Tick // for a Forecast; 0 is none, or not known
	Before    grid.Tick // instant: in a Batch the job comes only if it starts before; 0 is in any case
}
