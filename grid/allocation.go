package grid

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// AllocationState is how far the home of a co-allocated job is with it. The diagram is in docs/protocol.md.
type AllocationState uint8

// The states. The numbers are stored: append only.
const (
	Planned    AllocationState = 1 + iota // nothing is reserved: sites are asked, now or at Next
	Reserving                             // tentative reservations are made, one after the other
	Confirming                            // all are made, and it is decided: they are confirmed
	Staging                               // the parts are made, and handed to their sites
	Gathering                             // all parts are where they belong; they arrive
	Going                                 // GO: all have arrived, and may begin
	Together                              // ALL BEGUN: nothing but its parts decides what becomes of it
	GivingUp                              // what was begun in vain is withdrawn or ended, before anything else is tried
	OneSite                               // it goes the ordinary way, to one site
	Over                                  // the whole has ended; what is left is told until it is heard
)

var allocationStates = [...]string{
	"none", "PLANNED", "RESERVING", "CONFIRMING", "STAGING", "GATHERING", "GO", "BEGUN", "GIVING_UP", "ONE_SITE", "OVER",
}

// Valid reports that s is one of the states.
func (s AllocationState) Valid() bool { return s >= Planned && s <= Over }

func (s AllocationState) String() string {
	return allocationStates[min(int(s), len(allocationStates)-1)]
}

// allocationMoves are all changes there are, but that each may become Over. From the midst of a round to one site goes what a lost branch of
// the journal had sent there; back from it what no single site is large enough for any more.
var allocationMoves = [...][]AllocationState{
	Planned:    {Reserving, OneSite},
	Reserving:  {Confirming, GivingUp, OneSite},
	Confirming: {Staging, GivingUp, OneSite},
	Staging:    {Gathering, GivingUp, OneSite},
	Gathering:  {Going, GivingUp, OneSite},
	Going:      {Together, GivingUp, OneSite},
	GivingUp:   {Planned, OneSite},
	Together:   {},
	OneSite:    {Planned},
	Over:       {},
}

// CanBecome reports that there is such a change. A state may always stay.
func (s AllocationState) CanBecome(t AllocationState) bool {
	if s == t || t == Over {
		return s.Valid()
	}
	if !s.Valid() {
		return t == Planned
	}
	for _, to := range allocationMoves[s] {
		if to == t {
			return true
		}
	}
	return false
}

// Allocation is what the home of a co-allocated job durably knows of its rounds, beside the job's record.
// A round is one choice of sites: its reservations, its parts, its barrier.
type Allocation struct {
	Of    JobID
	State AllocationState
	Round uint32          // the last one
	Parts []AllocatedPart // of that round by rank, then those of earlier ones that are not settled
	Last  int             // the highest number of a part so far
	Start Tick            // of the round, by the home's clock
	End   Tick
	// Sooner is when all sites are asked to let it begin instead; 0 is not.
	Sooner Tick
	Go     Tick // when all had arrived, or when it was found that a lost branch of the journal may have said so
	Begun  Tick // when all had begun
	Ended  Tick // of the whole
	// Next is when sites are asked (again); Fails counts the rounds that came to nothing since one had parts.
	Next   Tick
	Fails  int
	Reason string // of the state, for people
	// Outgrown tells that one site was to run it, and that none is large enough for it any more.
	Outgrown bool
	// Refused are the slots that sites did not give after all, since sites were last asked anew.
	Refused []RefusedSlot
	// Choice is what the last choice was made of.
	Choice *SlotChoice
}

// Entity says that the record is that of an allocation.
func (a *Allocation) Entity() (Kind, string) { return KindAllocation, string(a.Of) }

// PartID is the identifier of its n-th part. One of the k-th job of a group has the number k*100000+n, which no job of a group has.
func (a *Allocation) PartID(n int) JobID {
	if g, k := a.Of.Group(); k > 0 {
		return g.Job(k*MaxSweep + n)
	}
	return JobID(string(a.Of) + "." + strconv.Itoa(n))
}

// PartNumber is the n of a part with this identifier.
func (id JobID) PartNumber() int {
	n, err := strconv.Atoi(string(id[strings.LastIndexByte(string(id), '.')+1:]))
	if err != nil {
		return 0
	}
	return n % MaxSweep
}

// Whole is the job of which one with this identifier would be a part; "" is none.
func (id JobID) Whole() JobID {
	dot := strings.LastIndexByte(string(id), '.')
	if dot < 0 {
		return ""
	}
	stem := string(id[:dot])
	n, err := strconv.Atoi(string(id[dot+1:]))
	switch {
	case err != nil || !strings.Contains(stem, "."):
		return ""
	case n >= MaxSweep:
		return JobID(stem + "." + strconv.Itoa(n/MaxSweep))
	}
	return JobID(stem)
}

// AllocatedPart is what one site has of a co-allocated job in one round.
type AllocatedPart struct {
	Round       uint32
	Rank        int
	Site        SiteName
	Peer        PeerID
	Processes   int
	Demand      Demand // of the part
	Nodes       []NodeName
	Start, End  Tick    // of the reservation, by the clock of the site
	Offset      Tick    // how far that is ahead of the home's
	Begins      Tick    // where it begins now, as was heard since there was a Wish
	Wish        uint64  // the number of the last one for another start
	Limit       Tick    // kill limit of the part
	Price       float64 // per core and hour
	Cores       int     // of its nodes, together
	Reservation ReservationID
	Heard       ReservationState // of the reservation; 0 before the first word
	Asked       bool             // it was asked for: it may be there
	Job         JobID
	Made        bool // the job
	Arrived     bool
	Begun       bool  // it took its start token, or may have
	Fate        State // what became of the job; 0 before
	Gathered    Gathered
}

// Settled reports that nothing of it is left anywhere.
func (p *AllocatedPart) Settled() bool {
	return (!p.Asked || p.Heard.Over()) && (!p.Made || p.Fate != 0)
}

// RefusedSlot is a time of a node that its site did not give.
type RefusedSlot struct {
	Peer       PeerID
	Nodes      []NodeName
	Start, End Tick // by the clock of the site
	At         Tick // when it refused, by the home's
	Why        string
}

// SlotChoice is what one choice of sites was made of, for people.
type SlotChoice struct {
	At    Tick
	Sites []SiteSlots
	Best  SiteName // the single site that would end it first; "" is none
	BestEnd,
	Start, End Tick // where several run it, by the home's clock
	Why string // why several sites were not taken; "" where they were
}

// SiteSlots is what one site offered for a choice.
type SiteSlots struct {
	Site  SiteName
	Slots int // it told
	Taken []NodeName
	// Processes are those that would run, or run, on the nodes that were taken.
	Processes int
	Refusal   *Refusal // it told none
}

// ReservationFor is the identifier of the reservation of a part: random as its job's is, and never used twice. A home whose
// journal was rolled back may use a part's number again, and not the stamp.
func ReservationFor(part JobID, stamp uint32) ReservationID {
	sum := sha256.Sum256(fmt.Appendf(nil, "reservation of %s at %d", part, stamp))
	return ReservationID(tagEncoding.EncodeToString(sum[:15]))
}
