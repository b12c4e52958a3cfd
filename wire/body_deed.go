package wire

import "gbroker/grid"

type deedBody struct {
	Epoch     epochBody `msgpack:"e,omitempty"`
	To        string    `msgpack:"c,omitempty"`
	Signature []byte    `msgpack:"s,omitempty"`
}

func fromDeed(d grid.Deed) deedBody { return deedBody{fromEpoch(d.Epoch), string(d.To), d.Signature} }

func (b deedBody) deed(c *check) grid.Deed {
	if n := len(b.Signature); n == 0 || n > grid.MaxSignature {
		c.fail("signature", "%d bytes: it has 1 to %d", n, grid.MaxSignature)
	}
	return grid.Deed{
		Epoch:     nested(c, "epoch", b.Epoch.epoch),
		To:        c.peer("to", b.To),
		Signature: b.Signature,
	}
}

// fromOptionalDeed leaves out a deed that is not there.
func fromOptionalDeed(d grid.Deed) *deedBody {
	if d.To == "" {
		return nil
	}
	b := fromDeed(d)
	return &b
}

func optionalDeed(c *check, name string, b *deedBody) grid.Deed {
	if b == nil {
		return grid.Deed{}
	}
	return nested(c, name, b.deed)
}

type movedBody struct {
	Job   string     `msgpack:"j,omitempty"`
	Deeds []deedBody `msgpack:"o,omitempty"`
}

func (b *movedBody) message(c *check) Message {
	if len(b.Deeds) == 0 {
		c.fail("deeds", "there is none")
	}
	return Moved{c.jobID("job", b.Job), list(c, "deeds", b.Deeds, grid.MaxDeeds, deedBody.deed)}
}

type movedAckBody struct {
	Job   string    `msgpack:"j,omitempty"`
	Epoch epochBody `msgpack:"e,omitempty"`
}

func (b *movedAckBody) message(c *check) Message {
	return MovedAck{c.jobID("job", b.Job), nested(c, "epoch", b.Epoch.epoch)}
}

type announceBody struct {
	Site siteBody `msgpack:"s,omitempty"`
}

func (b *announceBody) message(c *check) Message {
	return Announce{nested(c, "site", b.Site.site)}
}
