package wire

import (
	"bytes"
	"math"

	"gbroker/grid"
)

type groupStatusBody struct {
	Name      string       `msgpack:"n,omitempty"`
	UserHome  string       `msgpack:"uh,omitempty"`
	UserName  string       `msgpack:"un,omitempty"`
	Jobs      int64        `msgpack:"j,omitempty"`
	Entered   int64        `msgpack:"e,omitempty"`
	AtOnce    int64        `msgpack:"a,omitempty"`
	Coming    []int64      `msgpack:"co,omitempty"`
	Counts    []countBody  `msgpack:"s,omitempty"`
	Submitted agoBody      `msgpack:"tb,omitempty"`
	Ended     agoBody      `msgpack:"tz,omitempty"`
	Cancel    bool         `msgpack:"c,omitempty"`
	Members   []memberBody `msgpack:"m,omitempty"`
	Next      int64        `msgpack:"x,omitempty"`
	Failing   int64        `msgpack:"f,omitempty"`
}

type countBody struct {
	State uint64 `msgpack:"s,omitempty"`
	Jobs  int64  `msgpack:"n,omitempty"`
}

func fromGroupStatus(m GroupStatus) *groupStatusBody {
	b := &groupStatusBody{
		Name: plain(m.Name, grid.MaxText), UserHome: string(m.User.Home), UserName: m.User.Name, Jobs: int64(m.Jobs),
		Entered: int64(m.Entered), AtOnce: int64(m.AtOnce), Coming: each(m.Coming, func(n int) int64 { return int64(n) }),
		Submitted: fromAgo(m.Submitted), Ended: fromAgo(m.Ended), Cancel: m.Cancel,
		Members: each(m.Members, fromMember), Next: int64(m.Next), Failing: int64(m.Failing),
	}
	for state, n := range m.Counts {
		if n != 0 {
			b.Counts = append(b.Counts, countBody{uint64(state), int64(n)})
		}
	}
	return b
}

func (b *groupStatusBody) status(c *check) GroupStatus {
	number := func(name string, n int64) int { return c.count(name, n, 0, grid.MaxSweep) }
	m := GroupStatus{
		Name: c.word("name", b.Name, grid.MaxText),
		User: grid.User{Home: c.peer("user.home", b.UserHome), Name: c.word("user.name", b.UserName, MaxUser)},
		Jobs: number("jobs", b.Jobs), Entered: number("entered", b.Entered), AtOnce: number("at_once", b.AtOnce),
		Coming:    list(c, "coming", b.Coming, grid.MaxGroup, func(n int64, _ *check) int { return number("number", n) }),
		Submitted: b.Submitted.ago(c, "submitted"), Ended: b.Ended.ago(c, "ended"), Cancel: b.Cancel,
		Members: list(c, "members", b.Members, MaxMembers, memberBody.member), Next: number("next", b.Next), Failing: number("failing", b.Failing),
	}
	for _, k := range list(c, "counts", b.Counts, len(m.Counts), func(k countBody, _ *check) countBody { return k }) {
		if state := c.state("state", k.State); c.err == nil {
			m.Counts[state] = number("count", k.Jobs)
		}
	}
	return m
}

type memberBody struct {
	Number int64      `msgpack:"n,omitempty"`
	Status statusBody `msgpack:"s,omitempty"`
}

func fromMember(m Member) memberBody { return memberBody{int64(m.Number), *fromStatus(m.Status)} }

func (b memberBody) member(c *check) Member {
	return Member{Number: c.count("number", b.Number, 1, grid.MaxSweep), Status: nested(c, "status", b.Status.status)}
}

type eventBody struct {
	At    agoBody   `msgpack:"t,omitempty"`
	State uint64    `msgpack:"s,omitempty"`
	Site  string    `msgpack:"w,omitempty"`
	Epoch epochBody `msgpack:"e,omitempty"`
	Why   string    `msgpack:"y,omitempty"`
}

func fromEvent(e Event) eventBody {
	return eventBody{fromAgo(e.At), uint64(e.State), plain(string(e.Site), MaxPeer), fromEpoch(e.Epoch), plain(e.Why, MaxWhy)}
}

func (b eventBody) event(c *check) Event {
	e := Event{
		At: b.At.ago(c, "at"), Site: grid.SiteName(c.word("site", b.Site, MaxPeer)),
		Epoch: nested(c, "epoch", b.Epoch.epoch), Why: c.word("why", b.Why, MaxWhy),
	}
	if b.State != 0 {
		e.State = c.state("state", b.State)
	}
	return e
}

type decisionBody struct {
	At         agoBody         `msgpack:"t,omitempty"`
	Epoch      epochBody       `msgpack:"e,omitempty"`
	Chosen     string          `msgpack:"c,omitempty"`
	Candidates []candidateBody `msgpack:"k,omitempty"`
	Stays      string          `msgpack:"y,omitempty"`
	Unmoved    bool            `msgpack:"u,omitempty"`
}

func fromDecision(d Decision) decisionBody {
	return decisionBody{fromAgo(d.At), fromEpoch(d.Epoch), plain(string(d.Chosen), MaxPeer), each(d.Candidates, fromCandidate), plain(d.Stays, MaxWhy), d.Unmoved}
}

func (b decisionBody) decision(c *check) Decision {
	return Decision{
		At: b.At.ago(c, "at"), Epoch: nested(c, "epoch", b.Epoch.epoch), Chosen: grid.SiteName(c.word("chosen", b.Chosen, MaxPeer)),
		Candidates: list(c, "candidates", b.Candidates, MaxCandidates, candidateBody.candidate),
		Unmoved:    b.Unmoved || b.Stays != "", // older brokers tell no more than why
		Stays:      c.word("stays", b.Stays, MaxWhy),
	}
}

type candidateBody struct {
	Site        string       `msgpack:"s,omitempty"`
	Peer        string       `msgpack:"p,omitempty"`
	Size        int64        `msgpack:"z,omitempty"`
	Bandwidth   float64      `msgpack:"b,omitempty"`
	Measured    bool         `msgpack:"m,omitempty"`
	Delivery    int64        `msgpack:"d,omitempty"`
	Wait        int64        `msgpack:"w,omitempty"`
	Safe        int64        `msgpack:"f,omitempty"`
	Run         int64        `msgpack:"r,omitempty"`
	Total       int64        `msgpack:"t,omitempty"`
	Unpreferred int64        `msgpack:"u,omitempty"`
	Crowded     int64        `msgpack:"k,omitempty"`
	Price       float64      `msgpack:"x,omitempty"`
	Chosen      bool         `msgpack:"c,omitempty"`
	Refusal     *refusalBody `msgpack:"n,omitempty"`
	Doubt       string       `msgpack:"o,omitempty"`
	Told        bool         `msgpack:"l,omitempty"`
	Least       int64        `msgpack:"L,omitempty"`
}

func fromCandidate(k grid.Candidate) candidateBody {
	b := candidateBody{
		Site: plain(string(k.Site), MaxPeer), Peer: string(k.Peer), Size: k.Size, Bandwidth: min(k.Bandwidth, math.MaxFloat64), Measured: k.Measured,
		Delivery: int64(k.Delivery), Wait: int64(k.Wait), Safe: int64(k.Safe), Run: int64(k.Run), Total: int64(k.Total),
		Unpreferred: int64(k.Unpreferred), Crowded: int64(k.Crowded), Price: k.Price, Chosen: k.Chosen,
		Doubt: plain(k.Doubt, MaxRefusal), Told: k.Told, Least: int64(k.Least),
	}
	if k.Refusal != nil {
		b.Refusal = fromRefusal(k.Refusal)
	}
	return b
}

func (b candidateBody) candidate(c *check) grid.Candidate {
	k := grid.Candidate{
		Site: grid.SiteName(c.word("site", b.Site, MaxPeer)), Peer: c.optionalPeer("peer", b.Peer),
		Size: c.between("size", b.Size, 0, math.MaxInt64), Bandwidth: b.Bandwidth, Measured: b.Measured,
		Delivery: c.span("delivery", b.Delivery), Wait: c.span("wait", b.Wait), Safe: c.span("safe wait", b.Safe), Run: c.span("run", b.Run),
		Total: c.span("total", b.Total), Unpreferred: c.span("unpreferred", b.Unpreferred), Crowded: c.span("crowded", b.Crowded), Price: c.price("price", b.Price), Chosen: b.Chosen,
		Doubt: c.word("doubt", b.Doubt, MaxRefusal), Told: b.Told, Least: c.span("least wait", b.Least),
	}
	if !(b.Bandwidth >= 0 && b.Bandwidth <= math.MaxFloat64) { // NaN fails both
		c.fail("bandwidth", "%v is no bandwidth", b.Bandwidth)
	}
	if b.Refusal != nil {
		refusal := nested(c, "refusal", b.Refusal.refusal)
		k.Refusal = &refusal
	}
	return k
}

// FittingMembers is how many of the first fit into one Response, and FittingDecisions how many of the last.
func FittingMembers(members []Member) int {
	return fitting(len(members), MaxMembers, func(i int) any { return fromMember(members[i]) })
}

// FittingDecisions is how many of the last fit into one Response.
func FittingDecisions(decisions []Decision) int {
	last := len(decisions) - 1
	return fitting(len(decisions), MaxDecisions, func(i int) any { return fromDecision(decisions[last-i]) })
}

// fitting counts how many of n values fit, beside what else a Response has.
func fitting(n, most int, value func(int) any) int {
	room, size := guard{elements: manyElements / 2}, 0
	for i := range min(n, most) {
		var b bytes.Buffer
		write(&b, value(i))
		room.rest = b.Bytes()
		if size += b.Len(); size > large/2 || room.value(1) != nil {
			return i
		}
	}
	return min(n, most)
}
