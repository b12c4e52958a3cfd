package wire

import "gbroker/grid"

type epochBody struct {
	Term uint64 `msgpack:"t,omitempty"`
	Hop  uint64 `msgpack:"h,omitempty"`
}

func fromEpoch(e grid.Epoch) epochBody { return epochBody{uint64(e.Term), uint64(e.Hop)} }

func (b epochBody) epoch(c *check) grid.Epoch {
	return grid.Epoch{Term: c.u32("term", b.Term), Hop: c.u32("hop", b.Hop)}
}

type handoffBody struct {
	Job    string    `msgpack:"j,omitempty"`
	Epoch  epochBody `msgpack:"e,omitempty"`
	To     string    `msgpack:"c,omitempty"`
	Digest []byte    `msgpack:"d,omitempty"`
}

func fromHandoff(b HandoffID) handoffBody {
	return handoffBody{string(b.Job), fromEpoch(b.Epoch), string(b.To), b.Digest[:]}
}

func (b handoffBody) handoff(c *check) HandoffID {
	return HandoffID{
		Job:    c.jobID("job", b.Job),
		Epoch:  nested(c, "epoch", b.Epoch.epoch),
		To:     c.peer("to", b.To),
		Digest: c.hash("digest", b.Digest),
	}
}

type offerBody struct {
	Handoff handoffBody `msgpack:"b,omitempty"`
	Job     jobBody     `msgpack:"j,omitempty"`
	Wait    int64       `msgpack:"w,omitempty"`
	Age     int64       `msgpack:"a,omitempty"`

	Certificates []certificateBody `msgpack:"o,omitempty"`
	Hops         uint64            `msgpack:"h,omitempty"`

	Journal  *journalBody `msgpack:"i,omitempty"`
	Deadline *agoBody     `msgpack:"d,omitempty"`
	Latest   int64        `msgpack:"l,omitempty"` // came later: a broker without it skips it
}

func fromOffer(m Offer) *offerBody {
	return &offerBody{
		fromHandoff(m.Handoff), fromJob(m.Job), int64(m.Wait), int64(m.Age), each(m.Certificates, fromCertificate), uint64(m.Hops),
		fromOptionalJournal(m.Journal), fromOptionalIn(m.Deadline), int64(m.Latest),
	}
}

func (b *offerBody) message(c *check) Message {
	m := Offer{
		Handoff: nested(c, "handoff", b.Handoff.handoff),
		Job:     nested(c, "job", b.Job.job),
		Wait:    c.wait("wait", b.Wait),
		Age:     c.span("age", b.Age),

		Certificates: list(c, "certificates", b.Certificates, grid.MaxCertificates, certificateBody.certificate),
		Hops:         c.u32("hops", b.Hops),

		Journal:  optionalJournal(b.Journal),
		Deadline: optionalIn(c, "deadline", b.Deadline),
		Latest:   c.wait("latest", b.Latest),
	}
	if m.Handoff.Job != m.Job.ID {
		c.fail("handoff.job", "it is %s, but the job offered is %s", m.Handoff.Job, m.Job.ID)
	}
	return m
}

type acceptBody struct {
	Handoff handoffBody `msgpack:"b,omitempty"`
	Journal journalBody `msgpack:"i,omitempty"`
}

func (b *acceptBody) message(c *check) Message {
	return Accept{nested(c, "handoff", b.Handoff.handoff), b.Journal.journal()}
}

type refuseBody struct {
	Handoff  handoffBody  `msgpack:"b,omitempty"`
	Estimate estimateBody `msgpack:"e,omitempty"`
}

func (b *refuseBody) message(c *check) Message {
	return Refuse{nested(c, "handoff", b.Handoff.handoff), nested(c, "estimate", b.Estimate.estimate)}
}

type readyBody struct {
	Handoff handoffBody `msgpack:"b,omitempty"`
	Journal journalBody `msgpack:"i,omitempty"`
}

func (b *readyBody) message(c *check) Message {
	return Ready{nested(c, "handoff", b.Handoff.handoff), b.Journal.journal()}
}

type abortBody struct {
	Handoff handoffBody `msgpack:"b,omitempty"`
	Why     string      `msgpack:"y,omitempty"`
}

func (b *abortBody) message(c *check) Message {
	return Abort{nested(c, "handoff", b.Handoff.handoff), c.word("why", b.Why, MaxWhy)}
}

type commitBody struct {
	Handoff     handoffBody      `msgpack:"b,omitempty"`
	Cancel      bool             `msgpack:"x,omitempty"`
	Certificate *certificateBody `msgpack:"o,omitempty"`

	Journal *journalBody `msgpack:"i,omitempty"`
	Ready   *journalBody `msgpack:"r,omitempty"`
}

func fromCommit(m Commit) *commitBody {
	return &commitBody{fromHandoff(m.Handoff), m.Cancel, fromOptionalCertificate(m.Certificate), fromOptionalJournal(m.Journal), fromOptionalJournal(m.Ready)}
}

func (b *commitBody) message(c *check) Message {
	return Commit{nested(c, "handoff", b.Handoff.handoff), b.Cancel, optionalCertificate(c, "certificate", b.Certificate), optionalJournal(b.Journal), optionalJournal(b.Ready)}
}

// fromOptionalJournal is nil for a journal that is not told.
func fromOptionalJournal(id grid.JournalID) *journalBody {
	if id == (grid.JournalID{}) {
		return nil
	}
	b := fromJournal(id)
	return &b
}

func optionalJournal(b *journalBody) grid.JournalID {
	if b == nil {
		return grid.JournalID{}
	}
	return b.journal()
}

type ownedBody struct {
	Handoff handoffBody `msgpack:"b,omitempty"`
	Owner   string      `msgpack:"o,omitempty"`

	Certificate *certificateBody `msgpack:"p,omitempty"`
}

func (b *ownedBody) message(c *check) Message {
	return Owned{nested(c, "handoff", b.Handoff.handoff), c.optionalPeer("owner", b.Owner), optionalCertificate(c, "certificate", b.Certificate)}
}

type inquireBody struct {
	Handoff handoffBody  `msgpack:"b,omitempty"`
	Journal *journalBody `msgpack:"i,omitempty"`
}

func fromInquire(m Inquire) *inquireBody {
	return &inquireBody{fromHandoff(m.Handoff), fromOptionalJournal(m.Journal)}
}

func (b *inquireBody) message(c *check) Message {
	return Inquire{nested(c, "handoff", b.Handoff.handoff), optionalJournal(b.Journal)}
}

type inquireReplyBody struct {
	Handoff     handoffBody      `msgpack:"b,omitempty"`
	Verdict     uint64           `msgpack:"v,omitempty"`
	Owner       string           `msgpack:"o,omitempty"`
	Cancel      bool             `msgpack:"x,omitempty"`
	Certificate *certificateBody `msgpack:"p,omitempty"`

	Ready *journalBody `msgpack:"r,omitempty"`
}

func (b *inquireReplyBody) message(c *check) Message {
	if b.Verdict < uint64(VerdictOpen) || b.Verdict > uint64(VerdictUnknown) {
		c.fail("verdict", "%d is no verdict", b.Verdict)
	}
	return InquireReply{
		Handoff:     nested(c, "handoff", b.Handoff.handoff),
		Verdict:     Verdict(b.Verdict),
		Owner:       c.optionalPeer("owner", b.Owner),
		Cancel:      b.Cancel,
		Certificate: optionalCertificate(c, "certificate", b.Certificate),
		Ready:       optionalJournal(b.Ready),
	}
}

type declinedBody struct {
	Handoff handoffBody  `msgpack:"b,omitempty"`
	Journal journalBody  `msgpack:"i,omitempty"`
	Ready   *journalBody `msgpack:"r,omitempty"`
}

func (b *declinedBody) message(c *check) Message {
	return Declined{nested(c, "handoff", b.Handoff.handoff), b.Journal.journal(), optionalJournal(b.Ready)}
}

type unknownBody struct {
	Handoff handoffBody `msgpack:"b,omitempty"`
	Journal journalBody `msgpack:"i,omitempty"`
}

func (b *unknownBody) message(c *check) Message {
	return Unknown{nested(c, "handoff", b.Handoff.handoff), b.Journal.journal()}
}
