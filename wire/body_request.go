package wire

import "gbroker/grid"

type requestBody struct {
	Number        uint64 `msgpack:"n,omitempty"`
	Job           string `msgpack:"j,omitempty"`
	User          string `msgpack:"u,omitempty"`
	Administrator bool   `msgpack:"a,omitempty"`
	Cancel        bool   `msgpack:"c,omitempty"`
}

func (b *requestBody) message(c *check) Message {
	m := Request{b.Number, c.jobID("job", b.Job), c.word("user", b.User, MaxUser), b.Administrator, b.Cancel}
	if m.User == "" {
		c.fail("user", "it is empty")
	}
	return m
}

type responseBody struct {
	Number  uint64      `msgpack:"n,omitempty"`
	Job     string      `msgpack:"j,omitempty"`
	Outcome uint64      `msgpack:"o,omitempty"`
	Why     string      `msgpack:"y,omitempty"`
	Status  *statusBody `msgpack:"s,omitempty"`
}

func fromResponse(m Response) *responseBody {
	b := &responseBody{Number: m.Number, Job: string(m.Job), Outcome: uint64(m.Outcome), Why: plain(m.Why, MaxWhy)}
	if m.Status != nil {
		b.Status = fromStatus(*m.Status)
	}
	return b
}

func (b *responseBody) message(c *check) Message {
	m := Response{
		Number: b.Number, Job: c.jobID("job", b.Job), Outcome: Outcome(b.Outcome),
		Why: c.word("why", b.Why, MaxWhy),
	}
	if b.Outcome < uint64(OutcomeDone) || b.Outcome > uint64(OutcomeLater) {
		c.fail("outcome", "%d is no outcome", b.Outcome)
	}
	if (m.Outcome == OutcomeDone) != (b.Status != nil) {
		c.fail("status", "it comes with the outcome %d, and with no other", OutcomeDone)
	}
	if b.Status != nil {
		s := nested(c, "status", b.Status.status)
		m.Status = &s
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
}

func fromStatus(m Status) *statusBody {
	return &statusBody{
		Name: m.Name, UserHome: string(m.User.Home), UserName: m.User.Name,
		Home: string(m.Home), Owner: string(m.Owner), State: uint64(m.State), Epoch: fromEpoch(m.Epoch),
		Demand: fromDemand(m.Demand), Walltime: int64(m.Walltime), Defaulted: m.WalltimeDefaulted, Queue: string(m.Queue),
		Submitted: fromAgo(m.Submitted), Started: fromAgo(m.Started), Finished: fromAgo(m.Finished), Ended: fromAgo(m.Ended),
		Lost: fromAgo(m.ContactLost), Predicted: fromAgo(Ago(m.Predicted)), Estimate: fromAgo(Ago(m.Estimate)),
		End: uint64(m.End), ExitCode: int64(m.ExitCode), HasExit: m.HasExit, Signal: int64(m.Signal),
		Reason: plain(m.Reason, MaxWhy), Cancel: m.Cancel, Outputs: each(m.Outputs, fromFile), Usage: fromUsage(m.Usage),
		Output: plain(m.Output, grid.MaxPath), Error: plain(m.Error, grid.MaxPath),
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
	}
	if b.End != 0 {
		if m.End = c.state("end", b.End); !m.End.Terminal() {
			c.fail("end", "%v is no end", m.End)
		}
	}
	return m
}
