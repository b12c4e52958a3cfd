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

type bondBody struct {
	Job    string    `msgpack:"j,omitempty"`
	Epoch  epochBody `msgpack:"e,omitempty"`
	To     string    `msgpack:"c,omitempty"`
	Digest []byte    `msgpack:"d,omitempty"`
}

func fromBond(b Bond) bondBody {
	return bondBody{string(b.Job), fromEpoch(b.Epoch), string(b.To), b.Digest[:]}
}

func (b bondBody) bond(c *check) Bond {
	return Bond{
		Job:    c.jobID("job", b.Job),
		Epoch:  nested(c, "epoch", b.Epoch.epoch),
		To:     c.peer("to", b.To),
		Digest: c.hash("digest", b.Digest),
	}
}

type offerBody struct {
	Bond bondBody `msgpack:"b,omitempty"`
	Job  jobBody  `msgpack:"j,omitempty"`
	Wait int64    `msgpack:"w,omitempty"`
	Age  int64    `msgpack:"a,omitempty"`

	Deeds []deedBody `msgpack:"o,omitempty"`
	Hops  uint64     `msgpack:"h,omitempty"`

	Journal *journalBody `msgpack:"i,omitempty"`
}

func fromOffer(m Offer) *offerBody {
	return &offerBody{fromBond(m.Bond), fromJob(m.Job), int64(m.Wait), int64(m.Age), each(m.Deeds, fromDeed), uint64(m.Hops), fromOptionalJournal(m.Journal)}
}

func (b *offerBody) message(c *check) Message {
	m := Offer{
		Bond: nested(c, "bond", b.Bond.bond),
		Job:  nested(c, "job", b.Job.job),
		Wait: c.wait("wait", b.Wait),
		Age:  c.span("age", b.Age),

		Deeds: list(c, "deeds", b.Deeds, grid.MaxDeeds, deedBody.deed),
		Hops:  c.u32("hops", b.Hops),

		Journal: optionalJournal(b.Journal),
	}
	if m.Bond.Job != m.Job.ID {
		c.fail("bond.job", "it is %s, but the job offered is %s", m.Bond.Job, m.Job.ID)
	}
	return m
}

type acceptBody struct {
	Bond    bondBody    `msgpack:"b,omitempty"`
	Journal journalBody `msgpack:"i,omitempty"`
}

func (b *acceptBody) message(c *check) Message {
	return Accept{nested(c, "bond", b.Bond.bond), b.Journal.journal()}
}

type refuseBody struct {
	Bond     bondBody     `msgpack:"b,omitempty"`
	Estimate estimateBody `msgpack:"e,omitempty"`
}

func (b *refuseBody) message(c *check) Message {
	return Refuse{nested(c, "bond", b.Bond.bond), nested(c, "estimate", b.Estimate.estimate)}
}

type readyBody struct {
	Bond    bondBody    `msgpack:"b,omitempty"`
	Journal journalBody `msgpack:"i,omitempty"`
}

func (b *readyBody) message(c *check) Message {
	return Ready{nested(c, "bond", b.Bond.bond), b.Journal.journal()}
}

type abortBody struct {
	Bond bondBody `msgpack:"b,omitempty"`
	Why  string   `msgpack:"y,omitempty"`
}

func (b *abortBody) message(c *check) Message {
	return Abort{nested(c, "bond", b.Bond.bond), c.word("why", b.Why, MaxWhy)}
}

type commitBody struct {
	Bond   bondBody  `msgpack:"b,omitempty"`
	Cancel bool      `msgpack:"x,omitempty"`
	Deed   *deedBody `msgpack:"o,omitempty"`

	Journal *journalBody `msgpack:"i,omitempty"`
	Ready   *journalBody `msgpack:"r,omitempty"`
}

func fromCommit(m Commit) *commitBody {
	return &commitBody{fromBond(m.Bond), m.Cancel, fromOptionalDeed(m.Deed), fromOptionalJournal(m.Journal), fromOptionalJournal(m.Ready)}
}

func (b *commitBody) message(c *check) Message {
	return Commit{nested(c, "bond", b.Bond.bond), b.Cancel, optionalDeed(c, "deed", b.Deed), optionalJournal(b.Journal), optionalJournal(b.Ready)}
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
	Bond  bondBody `msgpack:"b,omitempty"`
	Owner string   `msgpack:"o,omitempty"`

	Deed *deedBody `msgpack:"p,omitempty"`
}

func (b *ownedBody) message(c *check) Message {
	return Owned{nested(c, "bond", b.Bond.bond), c.optionalPeer("owner", b.Owner), optionalDeed(c, "deed", b.Deed)}
}

type inquireBody struct {
	Bond    bondBody     `msgpack:"b,omitempty"`
	Journal *journalBody `msgpack:"i,omitempty"`
}

func fromInquire(m Inquire) *inquireBody {
	return &inquireBody{fromBond(m.Bond), fromOptionalJournal(m.Journal)}
}

func (b *inquireBody) message(c *check) Message {
	return Inquire{nested(c, "bond", b.Bond.bond), optionalJournal(b.Journal)}
}

type standingBody struct {
	Bond    bondBody  `msgpack:"b,omitempty"`
	Verdict uint64    `msgpack:"v,omitempty"`
	Owner   string    `msgpack:"o,omitempty"`
	Cancel  bool      `msgpack:"x,omitempty"`
	Deed    *deedBody `msgpack:"p,omitempty"`

	Ready *journalBody `msgpack:"r,omitempty"`
}

func (b *standingBody) message(c *check) Message {
	if b.Verdict < uint64(VerdictOpen) || b.Verdict > uint64(VerdictUnknown) {
		c.fail("verdict", "%d is no verdict", b.Verdict)
	}
	return Standing{
		Bond:    nested(c, "bond", b.Bond.bond),
		Verdict: Verdict(b.Verdict),
		Owner:   c.optionalPeer("owner", b.Owner),
		Cancel:  b.Cancel,
		Deed:    optionalDeed(c, "deed", b.Deed),
		Ready:   optionalJournal(b.Ready),
	}
}

type declinedBody struct {
	Bond    bondBody     `msgpack:"b,omitempty"`
	Journal journalBody  `msgpack:"i,omitempty"`
	Ready   *journalBody `msgpack:"r,omitempty"`
}

func (b *declinedBody) message(c *check) Message {
	return Declined{nested(c, "bond", b.Bond.bond), b.Journal.journal(), optionalJournal(b.Ready)}
}

type unknownBody struct {
	Bond    bondBody    `msgpack:"b,omitempty"`
	Journal journalBody `msgpack:"i,omitempty"`
}

func (b *unknownBody) message(c *check) Message {
	return Unknown{nested(c, "bond", b.Bond.bond), b.Journal.journal()}
}
