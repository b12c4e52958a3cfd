package wire

import "gbroker/grid"

type helloBody struct {
	Program string      `msgpack:"p,omitempty"`
	Site    siteBody    `msgpack:"s,omitempty"`
	Journal journalBody `msgpack:"j,omitempty"`
	Boot    uint64      `msgpack:"b,omitempty"`
	Clock   int64       `msgpack:"c,omitempty"`
}

func fromHello(m Hello) *helloBody {
	return &helloBody{plain(m.Program, MaxWhy), fromSite(m.Site), fromJournal(m.Journal), m.Boot, int64(m.Clock)}
}

func (b *helloBody) message(c *check) Message {
	return Hello{
		Program: c.word("program", b.Program, MaxWhy),
		Site:    nested(c, "site", b.Site.site),
		Journal: b.Journal.journal(),
		Boot:    b.Boot,
		Clock:   c.wait("clock", b.Clock),
	}
}

type siteBody struct {
	Name         string  `msgpack:"n,omitempty"`
	Processes    int64   `msgpack:"p,omitempty"`
	Speed        float64 `msgpack:"s,omitempty"`
	Architecture string  `msgpack:"a,omitempty"`
	System       string  `msgpack:"o,omitempty"`
	Draining     bool    `msgpack:"d,omitempty"`
	// Load came later: a broker without it skips it.
	Load    *loadBody    `msgpack:"l,omitempty"`
	Each    *eachBody    `msgpack:"e,omitempty"` // so did Each
	Batch   string       `msgpack:"b,omitempty"` // and Batch
	Reach   []string     `msgpack:"r,omitempty"` // and Reach
	Peers   []string     `msgpack:"i,omitempty"` // and ReachPeers
	Cohorts []cohortBody `msgpack:"g,omitempty"` // and Cohorts
}

type eachBody struct {
	Disk      int64   `msgpack:"d,omitempty"`
	Clock     float64 `msgpack:"c,omitempty"`
	Bandwidth float64 `msgpack:"b,omitempty"`
}

func fromEach(e grid.Each) *eachBody {
	if e == (grid.Each{}) {
		return nil
	}
	b := eachBody(e)
	return &b
}

func (b *eachBody) each(c *check) grid.Each {
	if b == nil {
		return grid.Each{}
	}
	if !(b.Clock >= 0 && b.Clock <= grid.MaxQuantity && b.Bandwidth >= 0 && b.Bandwidth <= grid.MaxQuantity) {
		c.fail("clock", "%v Hz and %v bit/s: from 0 to %v", b.Clock, b.Bandwidth, grid.MaxQuantity)
	}
	return grid.Each{Disk: c.between("disk", b.Disk, 0, grid.MaxDisk), Clock: b.Clock, Bandwidth: b.Bandwidth}
}

type loadBody struct {
	Cores   int64 `msgpack:"c,omitempty"`
	Busy    int64 `msgpack:"b,omitempty"`
	Waiting int64 `msgpack:"w,omitempty"`
}

func fromLoad(l grid.Load) *loadBody {
	if l == (grid.Load{}) {
		return nil
	}
	return &loadBody{int64(l.Cores), int64(l.Busy), int64(l.Waiting)}
}

func (b *loadBody) load(c *check) grid.Load {
	if b == nil {
		return grid.Load{}
	}
	return grid.Load{
		Cores:   c.count("cores", b.Cores, 0, grid.MaxProcesses),
		Busy:    c.count("busy", b.Busy, 0, grid.MaxProcesses),
		Waiting: c.count("waiting", b.Waiting, 0, grid.MaxProcesses),
	}
}

func fromSite(s grid.Site) siteBody {
	return siteBody{string(s.Name), int64(s.Processes), s.Speed, s.Architecture, s.System, s.Draining, fromLoad(s.Load), fromEach(s.Each), s.Batch, each(s.Reach, func(n grid.SiteName) string { return string(n) }), each(s.ReachPeers, func(p grid.PeerID) string { return string(p) }), each(s.Cohorts, fromCohort)}
}

func (b siteBody) site(c *check) grid.Site {
	return grid.Site{
		Name:         c.site("name", b.Name),
		Processes:    c.count("processes", b.Processes, 0, grid.MaxProcesses),
		Speed:        c.speed("speed", b.Speed),
		Architecture: c.word("architecture", b.Architecture, MaxWord),
		System:       c.word("system", b.System, MaxWord),
		Draining:     b.Draining,
		Load:         nested(c, "load", b.Load.load),
		Each:         nested(c, "each", b.Each.each),
		Batch:        c.word("batch", b.Batch, MaxWord),
		ReachPeers:   list(c, "reach peers", b.Peers, grid.MaxChoice+1, func(p string, c *check) grid.PeerID { return c.peer("reach peer", p) }),
		Cohorts:      list(c, "cohorts", b.Cohorts, grid.MaxCohorts, cohortBody.cohort),
		Reach:        list(c, "reach", b.Reach, grid.MaxChoice, func(n string, c *check) grid.SiteName { return c.site("reach", n) }),
	}
}

type journalBody struct {
	Incarnation uint64 `msgpack:"i,omitempty"`
	Sequence    uint64 `msgpack:"s,omitempty"`
	Life        uint64 `msgpack:"l,omitempty"`
}

func fromJournal(j grid.JournalID) journalBody { return journalBody(j) }

func (b journalBody) journal() grid.JournalID { return grid.JournalID(b) }

type estimateRequestBody struct {
	Round     uint64         `msgpack:"r,omitempty"`
	Questions []questionBody `msgpack:"q,omitempty"`
	Apart     bool           `msgpack:"a,omitempty"` // came later: a broker without it skips it
}

func fromEstimateRequest(m EstimateRequest) *estimateRequestBody {
	return &estimateRequestBody{m.Round, each(m.Questions, fromQuestion), m.Apart}
}

func (b *estimateRequestBody) message(c *check) Message {
	return EstimateRequest{Round: b.Round, Questions: list(c, "questions", b.Questions, MaxQuestions, questionBody.question), Apart: b.Apart}
}

type questionBody struct {
	Job      string     `msgpack:"j,omitempty"`
	Demand   demandBody `msgpack:"d,omitempty"`
	Walltime int64      `msgpack:"w,omitempty"`
	Delivery int64      `msgpack:"z,omitempty"`
	Queue    string     `msgpack:"q,omitempty"`
	Home     string     `msgpack:"h,omitempty"`
	Reserved string     `msgpack:"rv,omitempty"`
	// What follows came later: a broker without it skips it.
	User     string   `msgpack:"u,omitempty"`
	Deadline *agoBody `msgpack:"dl,omitempty"`
	Within   int64    `msgpack:"wi,omitempty"`
}

func fromQuestion(q Question) questionBody {
	return questionBody{
		string(q.Job), fromDemand(q.Demand), int64(q.Walltime), int64(q.Delivery), string(q.Queue), string(q.Home), string(q.Reservation),
		q.User, fromOptionalIn(q.Deadline), int64(q.Within),
	}
}

func (b questionBody) question(c *check) Question {
	return Question{
		Job:      c.jobID("job", b.Job),
		Demand:   nested(c, "demand", b.Demand.demand),
		Walltime: c.walltime("walltime", b.Walltime),
		Delivery: c.wait("delivery", b.Delivery),
		Queue:    c.queue("queue", b.Queue),
		Home:     c.optionalPeer("home", b.Home),

		Reservation: c.optionalReservation("reservation", b.Reserved),
		User:        c.word("user", b.User, MaxUser),
		Deadline:    optionalIn(c, "deadline", b.Deadline),
		Within:      c.wait("within", b.Within),
	}
}

type estimateReplyBody struct {
	Round   uint64       `msgpack:"r,omitempty"`
	Site    siteBody     `msgpack:"s,omitempty"`
	Answers []answerBody `msgpack:"a,omitempty"`
	Take    uint64       `msgpack:"t,omitempty"`
}

func fromEstimateReply(m EstimateReply) *estimateReplyBody {
	return &estimateReplyBody{m.Round, fromSite(m.Site), each(m.Answers, fromAnswer), uint64(m.Take)}
}

func (b *estimateReplyBody) message(c *check) Message {
	return EstimateReply{
		Round:   b.Round,
		Site:    nested(c, "site", b.Site.site),
		Answers: list(c, "answers", b.Answers, MaxQuestions, answerBody.answer),
		Take:    c.u32("take", b.Take),
	}
}

type answerBody struct {
	Job      string       `msgpack:"j,omitempty"`
	Estimate estimateBody `msgpack:"e,omitempty"`
}

func fromAnswer(a Answer) answerBody { return answerBody{string(a.Job), fromEstimate(a.Estimate)} }

func (b answerBody) answer(c *check) Answer {
	return Answer{Job: c.jobID("job", b.Job), Estimate: nested(c, "estimate", b.Estimate.estimate)}
}

type estimateBody struct {
	Wait    int64        `msgpack:"w,omitempty"`
	Safe    int64        `msgpack:"s,omitempty"`
	Refusal *refusalBody `msgpack:"r,omitempty"`
	// Spread came later: a broker without it skips it.
	Spread *spreadBody `msgpack:"p,omitempty"`
	Price  float64     `msgpack:"c,omitempty"` // so did Price
	Run    int64       `msgpack:"u,omitempty"` // and Run
	Alone  int64       `msgpack:"a,omitempty"` // and Alone
	Doubt  string      `msgpack:"d,omitempty"` // and Doubt
}

type spreadBody struct {
	Early int64 `msgpack:"e,omitempty"`
	Late  int64 `msgpack:"l,omitempty"`
	Of    int64 `msgpack:"n,omitempty"`
}

func (b *spreadBody) spread(c *check) grid.Spread {
	return grid.Spread{Early: c.wait("early", b.Early), Late: c.wait("late", b.Late), Of: c.count("of", b.Of, 1, MaxOutcomes)}
}

func fromEstimate(e grid.Estimate) estimateBody {
	b := estimateBody{Wait: int64(e.Wait), Safe: int64(e.Safe), Price: e.Price, Run: int64(e.Run)}
	if r := e.Refusal; r != nil {
		b.Refusal = fromRefusal(r)
	} else {
		b.Alone, b.Doubt = int64(e.Alone), plain(e.Doubt, MaxRefusal) // a reply of the most and largest refusals has no room for them
	}
	if s := e.Spread; s.Of > 0 {
		b.Spread = &spreadBody{int64(s.Early), int64(s.Late), int64(s.Of)}
	}
	return b
}

func (b estimateBody) estimate(c *check) grid.Estimate {
	e := grid.Estimate{Wait: c.wait("wait", b.Wait), Safe: c.wait("safe wait", b.Safe), Price: c.price("price", b.Price), Run: c.wait("run", b.Run), Alone: c.wait("alone", b.Alone), Doubt: c.word("doubt", b.Doubt, MaxRefusal)}
	if r := b.Refusal; r != nil {
		refusal := nested(c, "refusal", r.refusal)
		e.Refusal = &refusal
	}
	if b.Spread != nil {
		e.Spread = nested(c, "spread", b.Spread.spread)
	}
	return e
}

// refusalBody has a kind since brokers decide by it. Before, Passing alone told a temporary
// refusal, and a permanent one was known by its words: it is of unknown kind here.
type refusalBody struct {
	Reason    string `msgpack:"y,omitempty"`
	Asked     string `msgpack:"a,omitempty"`
	Available string `msgpack:"v,omitempty"`
	Passing   bool   `msgpack:"p,omitempty"` // Temporary, for brokers that know no Kind
	Kind      uint64 `msgpack:"k,omitempty"`
	Again     int64  `msgpack:"n,omitempty"`
	TooWide   bool   `msgpack:"w,omitempty"` // came later: a broker without it says nothing of that
}

func fromRefusal(r *grid.Refusal) *refusalBody {
	return &refusalBody{
		Reason: plain(r.Reason, MaxRefusal), Asked: plain(r.Asked, MaxWord), Available: plain(r.Available, MaxWord),
		Passing: r.Kind == grid.Temporary, Kind: uint64(r.Kind), Again: int64(r.Again), TooWide: r.TooWide,
	}
}

func (b *refusalBody) refusal(c *check) grid.Refusal {
	r := grid.Refusal{
		Reason:    c.word("reason", b.Reason, MaxRefusal),
		Asked:     c.word("asked", b.Asked, MaxWord),
		Available: c.word("available", b.Available, MaxWord),
		Again:     c.wait("again", b.Again),
		TooWide:   b.TooWide,
	}
	switch {
	case b.Kind <= uint64(grid.Temporary) && b.Kind != 0: // a later kind is unknown here
		r.Kind = grid.RefusalKind(b.Kind)
	case b.Passing:
		r.Kind = grid.Temporary
	}
	return r
}
