package wire

import "gbroker/grid"

type requestBody struct {
	Number        uint64          `msgpack:"n,omitempty"`
	Job           string          `msgpack:"j,omitempty"`
	User          string          `msgpack:"u,omitempty"`
	Administrator bool            `msgpack:"a,omitempty"`
	Cancel        bool            `msgpack:"c,omitempty"` // WishCancel, as brokers without Wish know it
	Group         string          `msgpack:"g,omitempty"`
	Wish          uint64          `msgpack:"w,omitempty"`
	Alter         *alterationBody `msgpack:"al,omitempty"`
	Key           string          `msgpack:"k,omitempty"`
	After         int64           `msgpack:"ma,omitempty"`
	Limit         int64           `msgpack:"ml,omitempty"`
	Echo          uint64          `msgpack:"e,omitempty"`
}

func fromRequest(m Request) *requestBody {
	b := &requestBody{
		Number: m.Number, Job: string(m.Job), User: m.User, Administrator: m.Administrator, Group: string(m.Group),
		Wish: uint64(m.Wish), Alter: fromAlteration(m.Alter), Key: m.Key, After: int64(m.After), Limit: int64(m.Limit), Echo: m.Echo,
	}
	if m.Wish == WishCancel {
		b.Cancel, b.Wish = true, 0
	}
	return b
}

func (b *requestBody) message(c *check) Message {
	m := Request{
		Number: b.Number, Job: c.optionalJobID("job", b.Job), Group: c.optionalGroupID("group", b.Group),
		User: c.word("user", b.User, MaxUser), Administrator: b.Administrator,
		Wish: Wish(min(b.Wish, uint64(wishes))), Key: c.word("key", b.Key, MaxKey),
		After: c.count("after", b.After, 0, grid.MaxSweep), Limit: c.count("limit", b.Limit, 0, MaxMembers), Echo: b.Echo,
	}
	if m.User == "" {
		c.fail("user", "it is empty")
	}
	if b.Alter != nil {
		a := nested(c, "alter", b.Alter.alteration)
		m.Alter = &a
	}
	if b.Cancel {
		m.Wish = WishCancel
	}
	switch {
	case b.Cancel && b.Wish != 0, m.Wish >= wishes:
		c.fail("wish", "%d is no wish", b.Wish)
	case (m.Job == "") == (m.Group == ""):
		c.fail("job", "it is about either a job or a group")
	case m.Group != "" && (m.Wish == WishAlter || m.Wish == WishResubmit || m.Wish == WishDecisions):
		c.fail("wish", "%d is no wish for a group", m.Wish)
	case (m.Alter != nil) != (m.Wish == WishAlter):
		c.fail("alter", "it comes with the wish %d, and with no other", WishAlter)
	case (m.Key != "") != (m.Wish == WishResubmit):
		c.fail("key", "it comes with the wish %d, and with no other", WishResubmit)
	}
	return m
}

type alterationBody struct {
	Held      *bool    `msgpack:"h,omitempty"`
	NotBefore *agoBody `msgpack:"nb,omitempty"`
	Deadline  *agoBody `msgpack:"dl,omitempty"`
	Priority  *int64   `msgpack:"p,omitempty"`
	Walltime  *int64   `msgpack:"w,omitempty"`
	Processes *int64   `msgpack:"n,omitempty"`
	Queue     *string  `msgpack:"q,omitempty"`
}

func fromAlteration(a *Alteration) *alterationBody {
	if a == nil {
		return nil
	}
	return &alterationBody{
		Held: a.Held, NotBefore: fromOptionalIn(a.NotBefore), Deadline: fromOptionalIn(a.Deadline),
		Priority: as(a.Priority, func(v int) int64 { return int64(v) }), Walltime: as(a.Walltime, func(v grid.Tick) int64 { return int64(v) }),
		Processes: as(a.Processes, func(v int) int64 { return int64(v) }), Queue: as(a.Queue, func(v grid.QueueName) string { return string(v) }),
	}
}

func (b *alterationBody) alteration(c *check) Alteration {
	return Alteration{
		Held: b.Held, NotBefore: optionalIn(c, "not_before", b.NotBefore), Deadline: optionalIn(c, "deadline", b.Deadline),
		Priority:  as(b.Priority, func(v int64) int { return c.count("priority", v, -grid.MaxPriority, grid.MaxPriority) }),
		Walltime:  as(b.Walltime, func(v int64) grid.Tick { return c.walltime("walltime", v) }),
		Processes: as(b.Processes, func(v int64) int { return c.count("processes", v, 1, grid.MaxProcesses) }),
		Queue:     as(b.Queue, func(v string) grid.QueueName { return c.queue("queue", v) }),
	}
}

// as converts what may be missing.
func as[A, B any](v *A, convert func(A) B) *B {
	if v == nil {
		return nil
	}
	to := convert(*v)
	return &to
}

type responseBody struct {
	Number    uint64           `msgpack:"n,omitempty"`
	Job       string           `msgpack:"j,omitempty"`
	Outcome   uint64           `msgpack:"o,omitempty"`
	Why       string           `msgpack:"y,omitempty"`
	Status    *statusBody      `msgpack:"s,omitempty"`
	Group     string           `msgpack:"g,omitempty"`
	About     *groupStatusBody `msgpack:"gs,omitempty"`
	New       string           `msgpack:"nj,omitempty"`
	Certain   bool             `msgpack:"c,omitempty"`
	Events    []eventBody      `msgpack:"h,omitempty"`
	Decisions []decisionBody   `msgpack:"d,omitempty"`
	Echo      uint64           `msgpack:"e,omitempty"`
}

func fromResponse(m Response) *responseBody {
	b := &responseBody{
		Number: m.Number, Job: string(m.Job), Group: string(m.Group), Outcome: uint64(m.Outcome), Why: plain(m.Why, MaxWhy),
		New: string(m.New), Certain: m.Certain, Events: each(m.Events, fromEvent), Decisions: each(m.Decisions, fromDecision), Echo: m.Echo,
	}
	if m.Status != nil {
		b.Status = fromStatus(*m.Status)
	}
	if m.About != nil {
		b.About = fromGroupStatus(*m.About)
	}
	return b
}

func (b *responseBody) message(c *check) Message {
	m := Response{
		Number: b.Number, Job: c.optionalJobID("job", b.Job), Group: c.optionalGroupID("group", b.Group),
		Outcome: Outcome(min(b.Outcome, uint64(outcomes))), Why: c.word("why", b.Why, MaxWhy),
		New: c.optionalJobID("new", b.New), Certain: b.Certain,
		Events:    list(c, "events", b.Events, MaxEvents, eventBody.event),
		Decisions: list(c, "decisions", b.Decisions, MaxDecisions, decisionBody.decision), Echo: b.Echo,
	}
	if m.Outcome < OutcomeDone || m.Outcome >= outcomes {
		c.fail("outcome", "%d is no outcome", b.Outcome)
	}
	if (m.Job == "") == (m.Group == "") {
		c.fail("job", "it is about either a job or a group")
	}
	done := m.Outcome == OutcomeDone
	if (done && m.Job != "") != (b.Status != nil) {
		c.fail("status", "it comes with a job and the outcome %d, and with no other", OutcomeDone)
	}
	if (done && m.Group != "") != (b.About != nil) {
		c.fail("about", "it comes with a group and the outcome %d, and with no other", OutcomeDone)
	}
	if b.Status != nil {
		s := nested(c, "status", b.Status.status)
		m.Status = &s
	}
	if b.About != nil {
		s := nested(c, "about", b.About.status)
		m.About = &s
	}
	return m
}

type statusBody struct {
	Name      string     `msgpack:"n,omitempty"`
	UserHome  string     `msgpack:"uh,omitempty"`
	UserName  string     `msgpack:"un,omitempty"`
	Home      string     `msgpack:"h,omitempty"`
	Owner     string     `msgpack:"o,omitempty"`
	State     uint64     `msgpack:"s,omitempty"`
	Epoch     epochBody  `msgpack:"e,omitempty"`
	Demand    demandBody `msgpack:"d,omitempty"`
	Walltime  int64      `msgpack:"w,omitempty"`
	Defaulted bool       `msgpack:"wd,omitempty"`
	Queue     string     `msgpack:"q,omitempty"`
	Submitted agoBody    `msgpack:"tb,omitempty"`
	Started   agoBody    `msgpack:"ts,omitempty"`
	Finished  agoBody    `msgpack:"tf,omitempty"`
	Ended     agoBody    `msgpack:"tz,omitempty"`
	Lost      agoBody    `msgpack:"tl,omitempty"`
	Predicted agoBody    `msgpack:"tp,omitempty"`
	Estimate  agoBody    `msgpack:"te,omitempty"`
	End       uint64     `msgpack:"z,omitempty"`
	ExitCode  int64      `msgpack:"x,omitempty"`
	HasExit   bool       `msgpack:"xh,omitempty"`
	Signal    int64      `msgpack:"xs,omitempty"`
	Reason    string     `msgpack:"y,omitempty"`
	Cancel    bool       `msgpack:"c,omitempty"`
	Outputs   []fileBody `msgpack:"f,omitempty"`
	Usage     usageBody  `msgpack:"u,omitempty"`
	// Output and Error came later: a broker without them skips them.
	Output string `msgpack:"so,omitempty"`
	Error  string `msgpack:"se,omitempty"`
	// Outline came with the wishes: a broker without them takes what stands there for known.
	Outline bool `msgpack:"ol,omitempty"`
	// Local came later.
	Local string `msgpack:"lo,omitempty"`
}

func fromStatus(m Status) *statusBody {
	if m.Outline {
		m.Demand, m.Walltime = grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}, 1
	}
	return &statusBody{
		Name: m.Name, UserHome: string(m.User.Home), UserName: m.User.Name,
		Home: string(m.Home), Owner: string(m.Owner), State: uint64(m.State), Epoch: fromEpoch(m.Epoch),
		Demand: fromDemand(m.Demand), Walltime: int64(m.Walltime), Defaulted: m.WalltimeDefaulted, Queue: string(m.Queue),
		Submitted: fromAgo(m.Submitted), Started: fromAgo(m.Started), Finished: fromAgo(m.Finished), Ended: fromAgo(m.Ended),
		Lost: fromAgo(m.ContactLost), Predicted: fromAgo(Ago(m.Predicted)), Estimate: fromAgo(Ago(m.Estimate)),
		End: uint64(m.End), ExitCode: int64(m.ExitCode), HasExit: m.HasExit, Signal: int64(m.Signal),
		Reason: plain(m.Reason, MaxWhy), Cancel: m.Cancel, Outputs: each(m.Outputs, fromFile), Usage: fromUsage(m.Usage),
		Output: plain(m.Output, grid.MaxPath), Error: plain(m.Error, grid.MaxPath),
		Outline: m.Outline, Local: string(m.Local),
	}
}

func (b *statusBody) status(c *check) Status {
	m := Status{
		Name: c.word("name", b.Name, grid.MaxText),
		User: grid.User{Home: c.peer("user.home", b.UserHome), Name: c.word("user.name", b.UserName, MaxUser)},
		Home: c.peer("home", b.Home), Owner: c.optionalPeer("owner", b.Owner),
		State: c.state("state", b.State), Epoch: nested(c, "epoch", b.Epoch.epoch),
		Demand: nested(c, "demand", b.Demand.demand), Walltime: c.walltime("walltime", b.Walltime),
		WalltimeDefaulted: b.Defaulted, Queue: c.queue("queue", b.Queue),
		Submitted: b.Submitted.ago(c, "submitted"), Started: b.Started.ago(c, "started"),
		Finished: b.Finished.ago(c, "finished"), Ended: b.Ended.ago(c, "ended"),
		ContactLost: b.Lost.ago(c, "contact_lost"), Predicted: In(b.Predicted.ago(c, "predicted")),
		Estimate: In(b.Estimate.ago(c, "estimate")),
		ExitCode: int(c.between("exit_code", b.ExitCode, -1<<31, 1<<31-1)), HasExit: b.HasExit,
		Signal: c.count("signal", b.Signal, 0, maxSignal),
		Reason: c.word("reason", b.Reason, MaxWhy), Cancel: b.Cancel,
		Outputs: c.manifest("outputs", b.Outputs),
		Usage:   nested(c, "usage", b.Usage.usage),
		Output:  c.word("output", b.Output, grid.MaxPath), Error: c.word("error", b.Error, grid.MaxPath),
		Local: grid.LocalID(c.word("local", b.Local, MaxLocal)),
	}
	if b.End != 0 {
		if m.End = c.state("end", b.End); !m.End.Terminal() {
			c.fail("end", "%v is no end", m.End)
		}
	}
	if m.Outline = b.Outline; m.Outline {
		m.Demand, m.Walltime = grid.Demand{}, 0
	}
	return m
}
