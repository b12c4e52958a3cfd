package wire

import "gbroker/grid"

type reportBody struct {
	Job          string            `msgpack:"j,omitempty"`
	Epoch        epochBody         `msgpack:"e,omitempty"`
	Number       uint64            `msgpack:"n,omitempty"`
	State        uint64            `msgpack:"s,omitempty"`
	Attempt      uint64            `msgpack:"a,omitempty"`
	Local        string            `msgpack:"l,omitempty"`
	Started      agoBody           `msgpack:"ts,omitempty"`
	Finished     agoBody           `msgpack:"tf,omitempty"`
	Estimate     agoBody           `msgpack:"te,omitempty"`
	End          uint64            `msgpack:"z,omitempty"`
	ExitCode     int64             `msgpack:"x,omitempty"`
	HasExit      bool              `msgpack:"xh,omitempty"`
	Signal       int64             `msgpack:"xs,omitempty"`
	Reason       string            `msgpack:"y,omitempty"`
	Cancel       bool              `msgpack:"c,omitempty"`
	Outputs      []fileBody        `msgpack:"f,omitempty"`
	Certificates []certificateBody `msgpack:"o,omitempty"`
	Usage        usageBody         `msgpack:"u,omitempty"`
	Version      []byte            `msgpack:"d,omitempty"`
	Arrival      *arrivalBody      `msgpack:"ar,omitempty"`
}

func fromReport(m Report) *reportBody {
	return &reportBody{
		Job: string(m.Job), Epoch: fromEpoch(m.Epoch), Number: m.Number,
		State: uint64(m.State), Attempt: uint64(m.Attempt), Local: string(m.Local),
		Started: fromAgo(m.Started), Finished: fromAgo(m.Finished), Estimate: fromAgo(Ago(m.Estimate)),
		End: uint64(m.End), ExitCode: int64(m.ExitCode), HasExit: m.HasExit, Signal: int64(m.Signal),
		Reason: plain(m.Reason, MaxWhy), Cancel: m.Cancel,
		Outputs:      each(m.Outputs, fromFile),
		Certificates: each(m.Certificates, fromCertificate),
		Usage:        fromUsage(m.Usage),
		Version:      fromOptionalHash(m.Version),
		Arrival:      fromArrival(&m),
	}
}

const maxSignal = 255

func (b *reportBody) message(c *check) Message {
	m := Report{
		Job:          c.jobID("job", b.Job),
		Epoch:        nested(c, "epoch", b.Epoch.epoch),
		Number:       b.Number,
		State:        c.state("state", b.State),
		Attempt:      c.u32("attempt", b.Attempt),
		Local:        grid.LocalID(c.word("local", b.Local, MaxLocal)),
		Started:      b.Started.ago(c, "started"),
		Finished:     b.Finished.ago(c, "finished"),
		Estimate:     In(b.Estimate.ago(c, "estimate")),
		ExitCode:     int(c.between("exit_code", b.ExitCode, -1<<31, 1<<31-1)),
		HasExit:      b.HasExit,
		Signal:       c.count("signal", b.Signal, 0, maxSignal),
		Reason:       c.word("reason", b.Reason, MaxWhy),
		Cancel:       b.Cancel,
		Outputs:      c.manifest("outputs", b.Outputs),
		Certificates: list(c, "certificates", b.Certificates, grid.MaxCertificates, certificateBody.certificate),
		Usage:        nested(c, "usage", b.Usage.usage),
		Version:      c.optionalHash("version", b.Version),
	}
	b.Arrival.arrival(c, &m)
	if b.End != 0 {
		if m.End = c.state("end", b.End); !m.End.Terminal() {
			c.fail("end", "%v is no end", m.End)
		}
	}
	return m
}

// usageBody is what a job has used; what is not known is left out.
type usageBody struct {
	CPU    int64  `msgpack:"c,omitempty"`
	Memory int64  `msgpack:"m,omitempty"`
	Nodes  string `msgpack:"n,omitempty"`
}

func fromUsage(u grid.Usage) usageBody {
	return usageBody{int64(u.CPU), u.Memory, plain(u.Nodes, MaxWhy)}
}

func (b usageBody) usage(c *check) grid.Usage {
	return grid.Usage{
		CPU:    grid.Tick(c.between("cpu", b.CPU, 0, int64(grid.MaxUsedCPU))),
		Memory: c.between("memory", b.Memory, 0, grid.MaxUsedMemory),
		Nodes:  c.word("nodes", b.Nodes, MaxWhy),
	}
}

// agoBody is an Ago or an In; left out if not known.
type agoBody struct {
	Span  int64 `msgpack:"s,omitempty"`
	Known bool  `msgpack:"k,omitempty"`
}

func fromAgo(a Ago) agoBody {
	if !a.Known {
		return agoBody{}
	}
	return agoBody{int64(a.Span), true}
}

func (b agoBody) ago(c *check, name string) Ago {
	if !b.Known {
		return Ago{}
	}
	return Ago{c.span(name, b.Span), true}
}

// fromOptionalIn and optionalIn are for fields that came later: what is not known is left out as a whole.
func fromOptionalIn(i In) *agoBody {
	if !i.Known {
		return nil
	}
	b := fromAgo(Ago(i))
	return &b
}

func optionalIn(c *check, name string, b *agoBody) In {
	if b == nil {
		return In{}
	}
	return In(b.ago(c, name))
}

type reportAckBody struct {
	Job    string    `msgpack:"j,omitempty"`
	Epoch  epochBody `msgpack:"e,omitempty"`
	Number uint64    `msgpack:"n,omitempty"`
	Closed bool      `msgpack:"z,omitempty"`
	Cancel bool      `msgpack:"c,omitempty"`
	End    uint64    `msgpack:"x,omitempty"`
	Exit   int64     `msgpack:"y,omitempty"`
	Exited bool      `msgpack:"h,omitempty"`
	Signal int64     `msgpack:"g,omitempty"`

	Back     bool     `msgpack:"b,omitempty"`
	Deadline *agoBody `msgpack:"d,omitempty"`
}

func (b *reportAckBody) message(c *check) Message {
	m := ReportAck{
		Job: c.jobID("job", b.Job), Epoch: nested(c, "epoch", b.Epoch.epoch), Number: b.Number, Closed: b.Closed, Cancel: b.Cancel,
		ExitCode: int(c.between("exit_code", b.Exit, -1<<31, 1<<31-1)), HasExit: b.Exited, Signal: c.count("signal", b.Signal, 0, maxSignal),
		Back: b.Back, Deadline: optionalIn(c, "deadline", b.Deadline),
	}
	if b.End != 0 {
		if m.End = c.state("end", b.End); !m.End.Terminal() {
			c.fail("end", "%v is no end", m.End)
		}
	}
	return m
}

type cancelBody struct {
	Job   string    `msgpack:"j,omitempty"`
	Epoch epochBody `msgpack:"e,omitempty"`
}

func (b *cancelBody) message(c *check) Message {
	return Cancel{c.jobID("job", b.Job), nested(c, "epoch", b.Epoch.epoch)}
}

type closedBody struct {
	Job  string `msgpack:"j,omitempty"`
	Term uint64 `msgpack:"t,omitempty"`
}

func (b *closedBody) message(c *check) Message {
	return Closed{c.jobID("job", b.Job), c.u32("term", b.Term)}
}

type errorBody struct {
	Of  uint64    `msgpack:"o,omitempty"`
	Job string    `msgpack:"j,omitempty"`
	Why string    `msgpack:"y,omitempty"`
	Had epochBody `msgpack:"h,omitempty"`
	At  epochBody `msgpack:"a,omitempty"`
}

func (b *errorBody) message(c *check) Message {
	return Error{
		Of:  Kind(c.between("of", int64(min(b.Of, 256)), 0, 255)),
		Job: c.optionalJobID("job", b.Job),
		Why: c.word("why", b.Why, MaxWhy),
		Had: nested(c, "had", b.Had.epoch),
		At:  nested(c, "at", b.At.epoch),
	}
}
