package wire

import "gbroker/grid"

type recallBody struct {
	Job string    `msgpack:"j,omitempty"`
	At  epochBody `msgpack:"a,omitempty"`
}

func (b *recallBody) message(c *check) Message {
	return Recall{c.jobID("job", b.Job), nested(c, "at", b.At.epoch)}
}

type recalledBody struct {
	Job          jobBody           `msgpack:"j,omitempty"`
	Epoch        epochBody         `msgpack:"e,omitempty"`
	Owning       bool              `msgpack:"o,omitempty"`
	Age          int64             `msgpack:"a,omitempty"`
	Cancel       bool              `msgpack:"c,omitempty"`
	Certificates []certificateBody `msgpack:"d,omitempty"`
	Deadline     *agoBody          `msgpack:"dl,omitempty"`
}

func fromRecalled(m Recalled) *recalledBody {
	return &recalledBody{fromJob(m.Job), fromEpoch(m.Epoch), m.Owning, int64(m.Age), m.Cancel, each(m.Certificates, fromCertificate), fromOptionalIn(m.Deadline)}
}

func (b *recalledBody) message(c *check) Message {
	return Recalled{
		Job:          nested(c, "job", b.Job.job),
		Epoch:        nested(c, "epoch", b.Epoch.epoch),
		Owning:       b.Owning,
		Age:          c.wait("age", b.Age),
		Cancel:       b.Cancel,
		Certificates: list(c, "certificates", b.Certificates, grid.MaxCertificates, certificateBody.certificate),
		Deadline:     optionalIn(c, "deadline", b.Deadline),
	}
}

type seenBody struct {
	Journals   []journalBody `msgpack:"j,omitempty"`
	Boots      []uint64      `msgpack:"b,omitempty"`
	Mine       journalBody   `msgpack:"m,omitempty"`
	WantsReply bool          `msgpack:"a,omitempty"`
	Stamp      uint64        `msgpack:"t,omitempty"`
	Question   uint64        `msgpack:"q,omitempty"`
	Answers    uint64        `msgpack:"n,omitempty"`
}

func (b *seenBody) message(c *check) Message {
	return Seen{
		Journals:   list(c, "journals", b.Journals, MaxJournals, func(j journalBody, _ *check) grid.JournalID { return j.journal() }),
		Boots:      list(c, "boots", b.Boots, MaxBoots, func(n uint64, _ *check) uint64 { return n }),
		Mine:       b.Mine.journal(),
		WantsReply: b.WantsReply,
		Stamp:      c.u32("stamp", b.Stamp),
		Question:   c.u32("question", b.Question),
		Answers:    c.u32("answers", b.Answers),
	}
}

type recountBody struct {
	Sequence uint64       `msgpack:"s,omitempty"`
	Journal  *journalBody `msgpack:"i,omitempty"`
}

func (b *recountBody) message(*check) Message { return Recount{b.Sequence, optionalJournal(b.Journal)} }

type recountedBody struct {
	Claims []claimBody `msgpack:"c,omitempty"`
	Traces []traceBody `msgpack:"t,omitempty"`
}

func (b *recountedBody) message(c *check) Message {
	return Recounted{list(c, "claims", b.Claims, MaxClaims, claimBody.claim), list(c, "traces", b.Traces, MaxTraces, traceBody.trace)}
}

type traceBody struct {
	Job   string    `msgpack:"j,omitempty"`
	Epoch epochBody `msgpack:"e,omitempty"`
}

func fromTrace(m Trace) traceBody { return traceBody{string(m.Job), fromEpoch(m.Epoch)} }

func (b traceBody) trace(c *check) Trace {
	return Trace{c.jobID("job", b.Job), nested(c, "epoch", b.Epoch.epoch)}
}

type claimBody struct {
	Job   string    `msgpack:"j,omitempty"`
	Epoch epochBody `msgpack:"e,omitempty"`
	Yours bool      `msgpack:"y,omitempty"`
	Ended bool      `msgpack:"x,omitempty"`
}

func fromClaim(m Claim) claimBody {
	return claimBody{string(m.Job), fromEpoch(m.Epoch), m.Yours, m.Ended}
}

func (b claimBody) claim(c *check) Claim {
	return Claim{c.jobID("job", b.Job), nested(c, "epoch", b.Epoch.epoch), b.Yours, b.Ended}
}

type supersededBody struct {
	Job     string    `msgpack:"j,omitempty"`
	Of      epochBody `msgpack:"f,omitempty"`
	Epoch   epochBody `msgpack:"e,omitempty"`
	Owner   string    `msgpack:"o,omitempty"`
	Keep    bool      `msgpack:"k,omitempty"`
	Answers uint64    `msgpack:"n,omitempty"`
}

func (b *supersededBody) message(c *check) Message {
	return Superseded{
		Job:     c.jobID("job", b.Job),
		Of:      nested(c, "of", b.Of.epoch),
		Epoch:   nested(c, "epoch", b.Epoch.epoch),
		Owner:   c.optionalPeer("owner", b.Owner),
		Keep:    b.Keep,
		Answers: b.Answers,
	}
}
