package brokers

import (
	"gbroker/grid"
	"gbroker/plan"
	"gbroker/sim/workload"
)

// World is what one run is made of.
type World struct {
	Sites []Site
	// Members are, for each site, those that it asks and may send jobs to, as indices into Sites; if i is one of j's,
	// j must be one of i's.
	Members [][]int
	// Known tells that each site knows all others, so that it takes jobs of any home from its members; it sends jobs to
	// its Members alone. Else it takes none whose home is not among them.
	Known bool
	// Link is the way from a site to one of its members; nil is one without delay.
	Link func(from, to int) Link
	// Jobs are in the order of arrival.
	Jobs      []workload.Job
	Brokering Brokering
	// Delivery is how long a job takes from one site to another; with 0 it is by the link, its latency and the
	// bytes of the job.
	Delivery grid.Tick
	// CancelAfter is how long after the start of the first of several copies the others are cancelled.
	CancelAfter grid.Tick
	Seed        uint64
}

// Site is one cluster.
type Site struct {
	Name    string
	Cores   int
	PerNode int     // cores of a node; 0 is nodes of one core, on which nothing fragments
	Speed   float64 // 0 is 1
	Policy  plan.Policy
	Away    []Interval // nobody hears its broker, nor does it hear others; its own users and its batch system go on
}

// Interval is from one instant until just before another.
type Interval struct{ From, To grid.Tick }

// Link is the way between two sites.
type Link struct {
	Bandwidth float64 // bytes a second; 0 is so much that nothing takes time
	Latency   grid.Tick
}

// Brokering is how jobs find their sites.
type Brokering struct {
	Rule       Rule
	Reevaluate grid.Tick // how often a place is searched anew for each job that waits; 0 is never
	ViewAge    grid.Tick // how old what is known of other sites is: of the first choice, with OldForAll of every
	OldForAll  bool
	Tell       grid.Tick // how often sites tell when jobs would start there, by which searches ask fewer; 0: they ask all
	Knowledge  Knowledge
}

// Rule is who decides, and how.
type Rule uint8

// The rules.
const (
	None        Rule = iota // every job stays where it was handed in
	Core                    // the daemon's own decisions
	Published               // the daemon with what is better than the published rule switched off
	Random                  // any site among the home and its members that could ever run the job
	LeastLoaded             // the one of them with the least work for each of its cores
	Oracle                  // central: each job placed once, at its arrival, on the site where it ends first, all plans and run times known
)

var ruleNames = [...]string{"none", "core", "published", "random", "least-loaded", "oracle"}

func (r Rule) String() string { return ruleNames[min(int(r), len(ruleNames)-1)] }

// Knowledge is what sites plan by.
type Knowledge uint8

// The kinds of knowledge.
const (
	Requested Knowledge = iota // the walltimes that users ask for
	Learned                    // what was learned from the jobs that ended at the site
	True                       // how long the jobs really run
)

var knowledgeNames = [...]string{"requested", "learned", "true"}

func (k Knowledge) String() string { return knowledgeNames[min(int(k), len(knowledgeNames)-1)] }
