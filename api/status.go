package api

import (
	"fmt"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/plan"
)

// Time is an instant as it travels: RFC 3339 in UTC with milliseconds, null for 0.
type Time grid.Tick

// The years that RFC 3339 can write.
var (
	firstTime = Time(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	lastTime  = Time(time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli())
)

const timeLayout = "2006-01-02T15:04:05.000Z"

// String is the RFC 3339 form, "-" for 0.
func (t Time) String() string {
	if t == 0 {
		return "-"
	}
	return time.UnixMilli(int64(min(max(t, firstTime), lastTime))).UTC().Format(timeLayout)
}

// MarshalJSON writes null or the RFC 3339 form.
func (t Time) MarshalJSON() ([]byte, error) {
	if t == 0 {
		return []byte("null"), nil
	}
	return []byte(`"` + t.String() + `"`), nil
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*t = 0
		return nil
	}
	at, err := time.Parse(`"`+time.RFC3339+`"`, string(b))
	if err != nil {
		return fmt.Errorf("%.40q is no RFC 3339 time", b)
	}
	*t = Time(grid.InstantOf(at))
	return nil
}

// Status is what a user sees of one job.
type Status struct {
	ID                grid.JobID     `json:"id"`
	Name              string         `json:"name"`
	State             string         `json:"state"`
	Home              grid.SiteName  `json:"home"`
	Owner             grid.SiteName  `json:"owner"`
	Epoch             string         `json:"epoch"` // "TERM.HOP"
	User              string         `json:"user"`
	Reason            string         `json:"reason"` // "" where there is none to give
	Submitted         Time           `json:"submitted"`
	Started           Time           `json:"started"`
	Finished          Time           `json:"finished"`
	Ended             Time           `json:"ended"`
	ExitCode          *int           `json:"exit_code"` // null until known; 128+n for signal n
	Signal            *int           `json:"signal"`    // null if none ended it
	Processes         int            `json:"processes"`
	WalltimeS         float64        `json:"walltime_s"` // on the reference machine
	WalltimeDefaulted bool           `json:"walltime_defaulted"`
	Queue             grid.QueueName `json:"queue"`
	Deadline          Time           `json:"deadline,omitempty"`
	NotBefore         Time           `json:"not_before,omitempty"` // before which it is not to start
	Priority          int            `json:"priority,omitempty"`   // among the waiting jobs of its user
	Fee               int64          `json:"fee,omitempty"`        // the most that is paid for a core and hour
	Held              bool           `json:"held,omitempty"`
	Altered           string         `json:"altered,omitempty"` // what is to be altered of it, and is not yet
	CancelRequested   bool           `json:"cancel_requested"`
	ContactLostSince  Time           `json:"contact_lost_since"`
	// The estimates of its start: of now, of the moment it was first placed, and of the
	// moment it was submitted to the batch system of this very site.
	StartEstimateNow      Time   `json:"start_estimate_now"`
	StartEstimateAtSubmit Time   `json:"start_estimate_at_submit"`
	StartEstimateAtQueue  Time   `json:"start_estimate_at_queue"`
	Demand                Demand `json:"demand"`
	// MissingOutputs are those that the document declares and the job did not leave, once it has ended.
	MissingOutputs []string `json:"missing_outputs"`
	Used           *Used    `json:"used"` // null until known
	// LocalID is what the batch system that has the job, or had it last, calls it.
	LocalID grid.LocalID `json:"local_id,omitempty"`
	// PartOf is the job over several sites that this is a part of. Parts are those of such a job, in its last round,
	// where its home was asked.
	PartOf grid.JobID `json:"part_of,omitempty"`
	Parts  []Part     `json:"parts,omitempty"`
}

// Used is what a job has used at the site where it ended, as far as that could tell.
type Used struct {
	CPUS        *float64 `json:"cpu_s"`        // processor time of all its processes; null if not known
	MemoryBytes *int64   `json:"memory_bytes"` // the most at one time; null if not known
	Nodes       []string `json:"nodes"`        // on which its program ran, of very many the first and "…"; none if not known
}

func newUsed(u grid.Usage) *Used {
	v := &Used{Nodes: []string{}}
	if u.CPU != 0 {
		v.CPUS = finite(u.CPU.Seconds())
	}
	if u.Memory != 0 {
		v.MemoryBytes = &u.Memory
	}
	if u.Nodes != "" {
		v.Nodes = strings.Split(u.Nodes, ",")
	}
	return v
}

// Terminal reports that the job's life has ended.
func (s *Status) Terminal() bool {
	state, err := grid.ParseState(s.State)
	return err == nil && state.Terminal()
}

// newStatus is what a user sees of r; name gives the sites' aliases.
func newStatus(r *grid.Record, name func(grid.PeerID) string) Status {
	s := Status{
		ID:                    r.Job.ID,
		Name:                  r.Job.Name,
		State:                 r.State.String(),
		Home:                  grid.SiteName(name(r.Job.Home)),
		Owner:                 grid.SiteName(name(r.Owner)),
		Epoch:                 r.Epoch.String(),
		User:                  r.Job.User.Name,
		Reason:                r.Why(),
		Submitted:             Time(r.Submitted),
		Started:               Time(r.Started),
		Finished:              Time(r.Finished),
		Ended:                 Time(r.Ended),
		Processes:             r.Job.Demand.Processes(),
		WalltimeS:             r.Job.Walltime.Seconds(),
		WalltimeDefaulted:     r.Job.WalltimeDefaulted,
		Queue:                 r.Job.Queue,
		CancelRequested:       r.CancelRequested,
		ContactLostSince:      Time(r.ContactLost),
		StartEstimateNow:      Time(r.EstimateNow),
		StartEstimateAtSubmit: Time(r.PredictedStart),
		StartEstimateAtQueue:  Time(r.ExpectedStart),
		Demand:                NewDemand(r.Job.Demand),
		LocalID:               r.Local,
	}
	t := &r.Job.Terms
	s.Deadline, s.NotBefore, s.Priority, s.Fee, s.Held = Time(t.Deadline), Time(t.NotBefore), t.Priority, t.Fee, t.Held
	if r.Altered != nil {
		s.Altered = r.Altered.String()
	}
	s.MissingOutputs = []string{}
	if r.State == grid.Completed {
		s.MissingOutputs = append(s.MissingOutputs, grid.MissingOutputs(r.Job.Outputs, r.Outputs)...)
	}
	if r.HasExit {
		s.ExitCode = &r.ExitCode
	}
	if r.Signal != 0 {
		s.Signal = &r.Signal
	}
	if r.Usage != (grid.Usage{}) {
		s.Used = newUsed(r.Usage)
	}
	if r.Job.Part != nil {
		s.PartOf = r.Job.Part.Of
	}
	return s
}

// History is the append-only table of a job's events.
type History struct {
	ID     grid.JobID `json:"id"`
	Events []Event    `json:"events"`
}

// Event is one line of it.
type Event struct {
	At    Time          `json:"at"`
	State string        `json:"state"`
	Site  grid.SiteName `json:"site"`
	Epoch string        `json:"epoch"`
	Why   string        `json:"why"`
}

func newHistory(id grid.JobID, events []grid.Event) History {
	h := History{ID: id, Events: make([]Event, 0, len(events))}
	for _, e := range events {
		h.Events = append(h.Events, Event{Time(e.At), e.State.String(), e.Site, e.Epoch.String(), e.Why})
	}
	return h
}

// StateInWords is how people are told of a neighbour's state: by what is known of the contact
// with one that is not alive, else by the state itself.
func StateInWords(state, contact string) string {
	switch contact {
	case grid.NeverHeard.String():
		return "never heard"
	case grid.Refused.String():
		return "refused: does it list you?"
	case grid.OtherKey.String():
		return "another key answers"
	}
	return state
}

// Site is one line of `gclient sites`.
type Site struct {
	Name  grid.SiteName `json:"name"`
	Peer  grid.PeerID   `json:"peer"`
	State string        `json:"state"` // alive, doubtful, dead
	// Contact says more of one that is not alive: "never" heard, "refused" (it may not list this
	// broker), "other-key" (another broker answers at its address); else "".
	Contact   string   `json:"contact"`
	RTTS      *float64 `json:"rtt_s"` // null until measured, and for the site itself
	Bandwidth []Rate   `json:"bandwidth"`
	Processes int      `json:"processes"`
	Speed     float64  `json:"speed"`
	Self      bool     `json:"self"`
	Send      bool     `json:"send"`            // jobs may be sent there
	Draining  bool     `json:"draining"`        // it takes no grid jobs now
	Batch     string   `json:"batch,omitempty"` // the kind of its batch system; "" until heard
	Load      *Load    `json:"load"`            // as the site last told; null while it is not known
	Version   string   `json:"version"`         // "" until heard
	// ClockOffsetS is how far its clock is ahead of this broker's, within ClockBoundS; null until measured.
	ClockOffsetS *float64 `json:"clock_offset_s"`
	ClockBoundS  *float64 `json:"clock_bound_s"`
	// NotChosen is one of the neighbours' file that the rule there leaves out: State is "not chosen", and what was measured of it is AgeS old.
	NotChosen bool `json:"not_chosen,omitempty"`
	// Far is a site beyond the neighbours: what is told of it was in its own record, AgeS seconds old. State is "far".
	Far        bool       `json:"far,omitempty"`
	AgeS       *float64   `json:"age_s,omitempty"`
	Addresses  []string   `json:"addresses,omitempty"`   // of a far one
	ProposedBy []string   `json:"proposed_by,omitempty"` // neighbours that have it as a member
	Alarm      string     `json:"alarm"`                 // of this broker alone: what is wrong with it, and what to do; "" is nothing
	Estimates  *Estimates `json:"estimates"`             // null but for the site itself
	// Reach are the sites whose nodes and its own reach each other, as it declares them and calls them.
	Reach []grid.SiteName `json:"reach,omitempty"`
	// Groups are the computers of a pool of desktops by what they have in common.
	Groups []LikeComputers `json:"groups,omitempty"`
}

// Estimates is how good a site's estimates of starts were, for the latest jobs that
// started there. Errors and shares are of those that had to wait.
type Estimates struct {
	Started   int     `json:"started"`
	Waited    int     `json:"waited"`
	Mean      float64 `json:"mean_absolute_error_s"`
	Median    float64 `json:"median_absolute_error_s"` // nearest rank
	P90       float64 `json:"p90_absolute_error_s"`    // nearest rank
	Within60  float64 `json:"within_60s"`              // share
	Within600 float64 `json:"within_600s"`             // share
	TooEarly  float64 `json:"too_early"`               // share: the job started later than expected
}

func newEstimates(started int, a plan.Accuracy) *Estimates {
	return &Estimates{started, a.Waited, a.Mean, a.Median, a.P90, a.Within60, a.Within600, a.TooEarly}
}

// LikeComputers are computers of a pool that are alike; "" and 0 are not told.
type LikeComputers struct {
	Architecture string  `json:"architecture"`
	System       string  `json:"operating_system"`
	Speed        float64 `json:"speed"`        // the least of its class, which ends before 1.41 times that
	Memory       int64   `json:"memory_bytes"` // the least of its class, which ends before twice that
	Cores        int     `json:"cores"`
	Dedicated    bool    `json:"dedicated"`
	Computers    int     `json:"computers"`
	Free         int     `json:"free"` // take jobs now
	// Levels are the effective performance of one, on average, by intervals of four hours from now on.
	Levels []float64 `json:"effective_performance"`
}

// Rate is the bandwidth for messages of one size.
type Rate struct {
	SizeBytes int64    `json:"size_bytes"`
	BytesPerS *float64 `json:"bytes_per_s"`
	Measured  bool     `json:"measured"`
	AgeS      *float64 `json:"age_s,omitempty"`   // since the newest measurement
	Spread    *float64 `json:"spread,omitempty"`  // of recent measurements about it, relative to it
	ByHour    bool     `json:"by_hour,omitempty"` // it goes with the hour of the day, as was learned of it
}

// NotChosen is the state of one that the rule of the neighbours' file leaves out.
const NotChosen = "not chosen"

func newSite(v SiteView) Site {
	s := Site{
		Name:      v.Site.Name,
		Peer:      v.Peer,
		State:     v.State.String(),
		Contact:   v.Contact.String(),
		Bandwidth: make([]Rate, 0, len(v.Link.Rates)),
		Processes: v.Site.Processes,
		Speed:     v.Site.Speed,
		Self:      v.Self,
		Send:      v.Send,
		Draining:  v.Site.Draining,
		Batch:     v.Site.Batch,
		Alarm:     v.alarm(),
		Version:   v.Version,
		Reach:     v.Site.Reach,
	}
	for _, c := range v.Site.Cohorts {
		s.Groups = append(s.Groups, LikeComputers(c))
	}
	if load := Load(v.Site.Load); load != (Load{}) {
		s.Load = &load
	}
	if v.Bound > 0 {
		s.ClockOffsetS, s.ClockBoundS = finite(v.Offset.Seconds()), finite(v.Bound.Seconds())
	}
	if v.Far {
		s.State, s.Far, s.AgeS = "far", true, finite(v.Age.Seconds())
		s.Addresses, s.ProposedBy = v.Addresses, v.ProposedBy
	}
	if v.NotChosen {
		s.State, s.NotChosen = NotChosen, true
		if v.Age > 0 {
			s.AgeS = finite(v.Age.Seconds())
		}
	}
	switch {
	case v.Self:
		s.Estimates = newEstimates(v.Started, v.Accuracy)
	case v.Link.RTTFine > 0:
		s.RTTS = finite(v.Link.RTTFine)
	case v.Link.RTT > 0:
		s.RTTS = finite(v.Link.RTT.Seconds())
	}
	if finite(s.Speed) == nil {
		s.Speed = 0
	}
	for k, r := range v.Link.Rates {
		told := Rate{SizeBytes: r.Size, BytesPerS: finite(r.BytesPerSecond), Measured: r.Measured}
		if r.Measured && k < len(v.Qualities) {
			told.ByHour = v.Qualities[k].ByHour
			told.AgeS, told.Spread = finite(v.Qualities[k].Age.Seconds()), finite(v.Qualities[k].Spread)
		}
		s.Bandwidth = append(s.Bandwidth, told)
	}
	return s
}

// Self is what a broker says of itself.
type Self struct {
	Name         grid.SiteName `json:"name"`
	Peer         grid.PeerID   `json:"peer"`
	Processes    int           `json:"processes"`
	Speed        float64       `json:"speed"`
	Architecture string        `json:"architecture"`
	System       string        `json:"system"`
	Version      string        `json:"version"`
	User         string        `json:"user"` // who asks, as the broker sees it
	Admin        bool          `json:"administrator"`
	Draining     bool          `json:"draining"`
}
