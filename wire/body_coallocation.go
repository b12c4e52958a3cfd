package wire

import "gbroker/grid"

// partBody is hashed with its job: fields are only ever appended, and left out when zero.
type partBody struct {
	Of     string         `msgpack:"o,omitempty"`
	Round  uint64         `msgpack:"n,omitempty"`
	Rank   int64          `msgpack:"r,omitempty"`
	Sites  []partSiteBody `msgpack:"s,omitempty"`
	Start  int64          `msgpack:"t,omitempty"`
	Grace  int64          `msgpack:"g,omitempty"`
	Within int64          `msgpack:"w,omitempty"`
	Limit  int64          `msgpack:"l,omitempty"`
}

type partSiteBody struct {
	Name      string `msgpack:"n,omitempty"`
	Processes int64  `msgpack:"p,omitempty"`
	Peer      string `msgpack:"e,omitempty"` // came later, and is not hashed
}

func fromPart(p *grid.Part) *partBody {
	if p == nil {
		return nil
	}
	return &partBody{
		string(p.Of), uint64(p.Round), int64(p.Rank),
		each(p.Sites, func(s grid.PartSite) partSiteBody {
			return partSiteBody{string(s.Name), int64(s.Processes), string(s.Peer)}
		}),
		int64(p.Start), int64(p.Grace), int64(p.Within), int64(p.Limit),
	}
}

func (b *partBody) part(c *check) *grid.Part {
	if b == nil {
		return nil
	}
	p := &grid.Part{
		Of: c.jobID("of", b.Of), Round: c.u32("round", b.Round), Rank: c.count("rank", b.Rank, 0, grid.MaxPartSites-1),
		Sites: list(c, "sites", b.Sites, grid.MaxPartSites, func(s partSiteBody, c *check) grid.PartSite {
			return grid.PartSite{Name: c.site("name", s.Name), Processes: c.count("processes", s.Processes, 1, grid.MaxProcesses), Peer: c.optionalPeer("peer", s.Peer)}
		}),
		Start: c.wait("start", b.Start), Grace: c.wait("grace", b.Grace), Within: c.wait("within", b.Within), Limit: c.walltime("limit", b.Limit),
	}
	if c.err == nil {
		c.valid("rank", p.Check())
	}
	return p
}

// severalBody is that a whole may have several sites.
type severalBody struct {
	Sites   int64 `msgpack:"s,omitempty"`
	PerSite int64 `msgpack:"p,omitempty"`
	Early   bool  `msgpack:"e,omitempty"`
	Survive bool  `msgpack:"v,omitempty"`
	Reach   bool  `msgpack:"r,omitempty"`
}

func fromSeveral(k *grid.Coallocation) *severalBody {
	if k == nil {
		return nil
	}
	return &severalBody{int64(k.Sites), int64(k.PerSite), k.Early, k.Survive, k.Reach}
}

func (b *severalBody) coallocation(c *check) *grid.Coallocation {
	if b == nil {
		return nil
	}
	return &grid.Coallocation{
		Sites: c.count("sites", b.Sites, 1, grid.MaxPartSites), PerSite: c.count("per site", b.PerSite, 1, grid.MaxProcesses),
		Early: b.Early, Survive: b.Survive, Reach: b.Reach,
	}
}

type slotsBody struct {
	Of       string     `msgpack:"j,omitempty"`
	Round    uint64     `msgpack:"r,omitempty"`
	Demand   demandBody `msgpack:"d,omitempty"`
	Walltime int64      `msgpack:"w,omitempty"`
	Queue    string     `msgpack:"q,omitempty"`
	UserHome string     `msgpack:"uh,omitempty"`
	UserName string     `msgpack:"un,omitempty"`
	From     int64      `msgpack:"s,omitempty"`
	To       int64      `msgpack:"e,omitempty"`
	Fee      float64    `msgpack:"f,omitempty"`
	Sent     int64      `msgpack:"c,omitempty"`
	Brief    bool       `msgpack:"b,omitempty"`
}

func fromSlots(m Slots) *slotsBody {
	return &slotsBody{
		string(m.Of), m.Round, fromDemand(m.Demand), int64(m.Walltime), string(m.Queue), string(m.User.Home), m.User.Name,
		int64(m.From), int64(m.To), m.Fee, int64(m.Sent), m.Brief,
	}
}

func (b *slotsBody) message(c *check) Message {
	m := Slots{
		Of: c.jobID("of", b.Of), Round: b.Round, Demand: nested(c, "demand", b.Demand.demand), Walltime: c.walltime("walltime", b.Walltime),
		Queue: c.queue("queue", b.Queue), User: grid.User{Home: c.peer("user.home", b.UserHome), Name: c.word("user.name", b.UserName, MaxUser)},
		From: c.wait("from", b.From), To: c.wait("to", b.To), Fee: c.price("fee", b.Fee), Brief: b.Brief, Sent: c.wait("sent", b.Sent),
	}
	if m.To <= m.From || m.To-m.From > grid.MaxWalltime {
		c.fail("to", "from %d to %d: it is some time, and at most %d", m.From, m.To, grid.MaxWalltime)
	}
	return m
}

type slotBody struct {
	Node      string         `msgpack:"n,omitempty"`
	Start     int64          `msgpack:"s,omitempty"`
	End       int64          `msgpack:"e,omitempty"`
	Cores     int64          `msgpack:"c,omitempty"`
	Memory    int64          `msgpack:"m,omitempty"`
	Resources []resourceBody `msgpack:"r,omitempty"`
	Price     float64        `msgpack:"p,omitempty"`
}

func fromSlot(s grid.Slot) slotBody {
	return slotBody{string(s.Node), int64(s.Start), int64(s.End), int64(s.Cores), s.Memory, each(s.Resources, fromResource), s.Price}
}

func (b slotBody) slot(c *check) grid.Slot {
	s := grid.Slot{
		Node: grid.NodeName(b.Node), Start: c.wait("start", b.Start), End: c.wait("end", b.End),
		Cores: c.count("cores", b.Cores, 1, grid.MaxProcesses), Memory: c.between("memory", b.Memory, 0, grid.MaxMemory),
		Resources: each(b.Resources, resourceBody.resource), Price: c.price("price", b.Price),
	}
	c.valid("node", grid.CheckHosts([]string{b.Node}))
	if k := (grid.Chunk{Resources: s.Resources}); k.CheckResources() != nil {
		c.fail("resources", "%w", k.CheckResources())
	}
	if s.End <= s.Start {
		c.fail("end", "it ends at %d and starts at %d", s.End, s.Start)
	}
	return s
}

type clocksBody struct {
	Asked    int64 `msgpack:"a,omitempty"`
	Received int64 `msgpack:"r,omitempty"`
	Answered int64 `msgpack:"s,omitempty"`
}

func (b clocksBody) clocks(c *check) Clocks {
	return Clocks{c.wait("asked", b.Asked), c.wait("received", b.Received), c.wait("answered", b.Answered)}
}

type slotsReplyBody struct {
	Of      string       `msgpack:"j,omitempty"`
	Round   uint64       `msgpack:"r,omitempty"`
	Site    siteBody     `msgpack:"s,omitempty"`
	Slots   []slotBody   `msgpack:"l,omitempty"`
	Slack   int64        `msgpack:"k,omitempty"`
	Wait    estimateBody `msgpack:"e,omitempty"`
	Refusal *refusalBody `msgpack:"f,omitempty"`
	Clock   clocksBody   `msgpack:"c,omitempty"`
}

func fromSlotsReply(m SlotsReply) *slotsReplyBody {
	b := &slotsReplyBody{
		Of: string(m.Of), Round: m.Round, Site: fromSite(m.Site), Slots: each(m.Slots, fromSlot), Slack: int64(m.Slack), Wait: fromEstimate(m.Estimate),
		Clock: clocksBody{int64(m.Clock.Asked), int64(m.Clock.Received), int64(m.Clock.Answered)},
	}
	if m.Refusal != nil {
		b.Refusal = fromRefusal(m.Refusal)
	}
	return b
}

func (b *slotsReplyBody) message(c *check) Message {
	m := SlotsReply{
		Of: c.jobID("of", b.Of), Round: b.Round, Site: nested(c, "site", b.Site.site), Slots: list(c, "slots", b.Slots, MaxSlots, slotBody.slot),
		Slack: c.wait("slack", b.Slack), Estimate: nested(c, "estimate", b.Wait.estimate), Clock: nested(c, "clock", b.Clock.clocks),
	}
	if b.Refusal != nil {
		r := nested(c, "refusal", b.Refusal.refusal)
		m.Refusal = &r
	}
	return m
}

type gatheredBody struct {
	Site    string   `msgpack:"s,omitempty"`
	Hosts   []string `msgpack:"h,omitempty"`
	Address string   `msgpack:"a,omitempty"`
	Meeting string   `msgpack:"r,omitempty"` // came later
}

func fromGathered(g grid.Gathered) gatheredBody {
	return gatheredBody{string(g.Site), g.Hosts, g.Address, g.Rendezvous}
}

func (b gatheredBody) gathered(c *check) grid.Gathered {
	g := grid.Gathered{Site: c.site("site", b.Site), Hosts: each(b.Hosts, func(s string) string { return s }), Address: b.Address, Rendezvous: b.Meeting}
	c.valid("hosts", g.Check())
	return g
}

type gatherBody struct {
	Job   string         `msgpack:"j,omitempty"`
	Epoch epochBody      `msgpack:"e,omitempty"`
	Begun bool           `msgpack:"b,omitempty"`
	Sites []gatheredBody `msgpack:"s,omitempty"`
}

func (b *gatherBody) message(c *check) Message {
	m := Gather{c.jobID("job", b.Job), nested(c, "epoch", b.Epoch.epoch), b.Begun, list(c, "sites", b.Sites, grid.MaxPartSites, gatheredBody.gathered)}
	if m.Begun == (len(m.Sites) > 0) {
		c.fail("sites", "there are %d: GO tells all of them, ALL BEGUN none", len(m.Sites))
	}
	return m
}

// arrivalBody is what a part says in reports once it has arrived; left out before.
type arrivalBody struct {
	At      agoBody  `msgpack:"t,omitempty"`
	Hosts   []string `msgpack:"h,omitempty"`
	Address string   `msgpack:"a,omitempty"`
	Meeting string   `msgpack:"r,omitempty"` // came later
}

func fromArrival(m *Report) *arrivalBody {
	if !m.Arrived.Known {
		return nil
	}
	return &arrivalBody{fromAgo(m.Arrived), m.Hosts, m.Address, m.Rendezvous}
}

func (b *arrivalBody) arrival(c *check, m *Report) {
	if b == nil {
		return
	}
	g := grid.Gathered{Site: "here", Hosts: each(b.Hosts, func(s string) string { return s }), Address: b.Address, Rendezvous: b.Meeting}
	c.valid("arrived", g.Check())
	m.Arrived, m.Hosts, m.Address, m.Rendezvous = b.At.ago(c, "arrived"), g.Hosts, g.Address, g.Rendezvous
}
