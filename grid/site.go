package grid

import (
	"reflect"
	"slices"
	"sort"
)

// Member is one line of the neighbourhood: a site that is heard and, with Send,
// one that jobs may be sent to (L(i) of the GBroker paper).
type Member struct {
	Name      SiteName
	Peer      PeerID
	Addresses []string // multiaddresses without the /p2p part
	// Via names the member through which this one is met, where neither can dial the other; "" is none.
	Via  SiteName
	Send bool
	// RateLimit caps file transfers to and from this member, each way, in bytes per second; 0 is none.
	RateLimit int64
	// SameUsers: a user of that site is the user of the same name here, and its
	// administrators are administrators here: they may ask there for jobs of here.
	SameUsers bool
	// Tags and Organisation are the administrator's words for the site, by which rules choose.
	Tags         []string
	Organisation string
	// DefaultBandwidth is believed until the first measurement, in bytes per second.
	DefaultBandwidth int64
}

// DefaultBandwidth is believed of a member whose line gives none: 10 MB/s.
const DefaultBandwidth = 10_000_000

// Site is what a broker says of its own site.
type Site struct {
	Name         SiteName
	Processes    int     // declared cores over all nodes
	Speed        float64 // 1.0 is the reference
	Architecture string  // in JSDL's words
	System       string
	Draining     bool // takes no grid jobs for now
	Load         Load // of its batch system, as it was last listed
	Each         Each
	Reach        []SiteName // of other sites whose nodes and those of this one reach each other, as its administrators declare and call them
	Batch        string     // the kind of its batch system, as its configuration names it; "" is not told
	// ReachPeers are those of Reach that it knows, and itself: elsewhere they may be called otherwise. Brokers that do not tell
	// it tell Reach alone.
	ReachPeers []PeerID
	Cohorts    []Cohort // of a pool of desktops; none is not told
}

// Reaches tells that the nodes of s and those of another site reach each other, as s declares: of a broker that does not say of
// whom, as far as both call that site by one name.
func (s *Site) Reaches(p PeerID, name SiteName) bool {
	if p != "" && len(s.ReachPeers) > 0 {
		return slices.Contains(s.ReachPeers, p)
	}
	return slices.Contains(s.Reach, name)
}

// Same tells that both say the same.
func (s Site) Same(o Site) bool { return reflect.DeepEqual(s, o) }

// Each is what a site declares that each of its nodes has; 0 is not declared.
type Each struct {
	Disk      int64   // bytes for the sandboxes of jobs
	Clock     float64 // of a core, in hertz
	Bandwidth float64 // of its network, in bits per second
}

// MaxQuantity bounds the clock and the bandwidth of a node.
const MaxQuantity = 1e18

// Value is what each node has of a quantity; 0 is not declared.
func (e Each) Value(of Quantity) float64 {
	switch of {
	case ClockSpeed:
		return e.Clock
	case Bandwidth:
		return e.Bandwidth
	}
	return 0
}

// Load is what a batch system has to do; no cores is not known.
type Load struct {
	Cores   int // of the nodes that are up
	Busy    int // cores
	Waiting int // jobs, whosever
}

// Liveness is what is known of a peer. Alive is memberlist's word; Doubtful is a
// lost connection, where no job is sent now; Dead is memberlist's word again.
type Liveness uint8

// Liveness, from the best.
const (
	Alive Liveness = 1 + iota
	Doubtful
	Dead
)

func (l Liveness) String() string {
	switch l {
	case Alive:
		return "alive"
	case Doubtful:
		return "doubtful"
	}
	return "dead"
}

// Rate is a measured or assumed bandwidth for messages of one size.
type Rate struct {
	Size           int64   // bytes
	BytesPerSecond float64 // > 0
	Measured       bool    // false: the configured default
}

// Quality is how far a rate may be believed.
type Quality struct {
	Age    Tick    // since the newest measurement of that size
	Spread float64 // of recent ones about the forecast, relative to it, in the mean
	ByHour bool    // it follows the hour of the day
}

// Link is what is known of the way from this site to a peer.
type Link struct {
	RTT     Tick    // round trip, milliseconds; 0 is not yet measured
	RTTFine float64 // the same in seconds, unrounded; 0 is not yet measured
	Rates   []Rate  // in ascending order of Size; never empty
}

// Largest is the rate of the largest size that is measured.
func (l Link) Largest() (r Rate, ok bool) {
	for _, r := range slices.Backward(l.Rates) {
		if r.Measured {
			return r, true
		}
	}
	return Rate{}, false
}

// Bandwidth is b(i,j) for a message of size bytes: between two sizes the delivery time
// goes linearly with the size, outside the rate of the nearest is taken.
// measured is false where any rate it rests on is only assumed.
func (l Link) Bandwidth(size int64) (bytesPerSecond float64, measured bool) {
	n := len(l.Rates)
	if n == 0 {
		return DefaultBandwidth, false
	}
	k := sort.Search(n, func(i int) bool { return l.Rates[i].Size >= size })
	if k == n {
		k = n - 1
	}
	if k == 0 || l.Rates[k].Size <= size {
		return l.Rates[k].BytesPerSecond, l.Rates[k].Measured
	}
	a, b := l.Rates[k-1], l.Rates[k]
	x := float64(size-a.Size) / float64(b.Size-a.Size)
	ta, tb := float64(a.Size)/a.BytesPerSecond, float64(b.Size)/b.BytesPerSecond
	return float64(size) / (ta + x*(tb-ta)), a.Measured && b.Measured
}

// RefusalKind says whether a refused job is worth asking about again.
type RefusalKind uint8

// Kinds of refusal. The numbers are stored and sent: append only.
const (
	UnknownRefusal RefusalKind = iota // who refused has not said: it counts as temporary
	Permanent                         // the job can never run there, as the site is made
	Temporary                         // the site is so only now
)

func (k RefusalKind) String() string {
	return [...]string{"unknown", "permanent", "temporary"}[min(int(k), 2)]
}

// Refusal is why a site cannot run a job, with the numbers where there are any. Reason is
// for people alone: what is decided by a refusal is decided by the rest.
type Refusal struct {
	Kind             RefusalKind `json:",omitempty"`
	Reason           string      // "too few processors", "wrong architecture", ...
	Asked, Available string      // a number, a span such as 60 s, or a word such as x86_64; "" where it makes no sense
	Again            Tick        `json:",omitempty"` // of a temporary one: it is worth asking again after this span; 0 is not known
	TooWide          bool        `json:",omitempty"` // it has too little of what is asked for in all: several sites might have it together
}

// MayPass tells that the site may take the job later.
func (r *Refusal) MayPass() bool { return r.Kind != Permanent }

// Unsure as Estimate.Safe: nobody can say, as jobs that come later may start before it.
const Unsure = 10 * 366 * Day

// Estimate is a site's answer to when it would start a job.
type Estimate struct {
	Wait    Tick // after the delivery, as run times are believed; valid if Refusal is nil
	Safe    Tick // the same if every job runs to its limit: how sure Wait is
	Run     Tick // how long it would run, where the site foresees that; 0 is by its speed
	Alone   Tick // after the delivery, when it would have ended at the soonest if nothing else ran there, where the site foresees Run; 0 is not known
	Spread  Spread
	Price   float64 // of a core for an hour, when it would start; 0 where the site has no prices
	Doubt   string  // why the site is not sure of it, for people; "": nothing speaks against it
	Refusal *Refusal
}

// Spread is how far off estimates of a site were, of jobs that had to wait about as long as is
// estimated now: of ten such jobs eight started no more than Early before the instant that was told,
// and no more than Late after it.
type Spread struct {
	Early, Late Tick
	Of          int // how many jobs say so; 0: too few have, and nothing is known
}

// Candidate is one row of a decision.
type Candidate struct {
	Site      SiteName
	Peer      PeerID
	Size      int64   // z, bytes
	Bandwidth float64 // bytes per second; 0 for the site itself, where nothing is sent
	Measured  bool
	Delivery  Tick // z / b
	Wait      Tick // t_j
	Safe      Tick // t_j if every job there runs to its limit; not part of Total
	Run       Tick // walltime / speed_j
	Total     Tick // the sum; valid if Refusal is nil
	// Unpreferred is what it counts more, as the job's user prefers other sites.
	Unpreferred Tick    `json:",omitempty"`
	Crowded     Tick    `json:",omitempty"` // what it counts more, as the site is nearly full
	Price       float64 `json:",omitempty"` // of a core for an hour; decides only where it is more than the job's fee
	Doubt       string  `json:",omitempty"` // why the site is not sure of its waits, for people
	Told        bool    `json:",omitempty"` // it was not asked: the wait is the most by what it told before
	Least       Tick    `json:",omitempty"` // if Told, the wait is no less; of one that is refused for that, nothing else is known
	Chosen      bool
	Refusal     *Refusal
}

// Decision is one run of the search for a job.
type Decision struct {
	At         Tick
	Epoch      Epoch
	Chosen     SiteName // "" where nobody can run it
	Candidates []Candidate
	Unmoved    bool   // the job stays where it waits, at Chosen; else it is placed there
	Stays      string // why, for people
}
