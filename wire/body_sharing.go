package wire

import "gbroker/grid"

type sharingBody struct {
	Keep   bool        `msgpack:"k,omitempty"`
	Grants []grantBody `msgpack:"g,omitempty"`
}

type grantBody struct {
	Holder    string `msgpack:"h,omitempty"`
	Content   []byte `msgpack:"c,omitempty"`
	Until     int64  `msgpack:"u,omitempty"`
	Signature []byte `msgpack:"s,omitempty"`
}

func fromSharing(s grid.Sharing) *sharingBody {
	if !s.Keep && len(s.Grants) == 0 {
		return nil
	}
	return &sharingBody{s.Keep, each(s.Grants, func(g grid.Grant) grantBody {
		return grantBody{string(g.Holder), g.Content[:], int64(g.Until), g.Signature}
	})}
}

func (b *sharingBody) sharing(c *check) grid.Sharing {
	if b == nil {
		return grid.Sharing{}
	}
	s := grid.Sharing{Keep: b.Keep, Grants: list(c, "grants", b.Grants, grid.MaxGrants, grantBody.grant)}
	c.valid("grants", s.Check())
	return s
}

func (b grantBody) grant(c *check) grid.Grant {
	return grid.Grant{
		Holder: c.peer("holder", b.Holder), Content: c.hash("content", b.Content),
		Until: grid.Tick(c.between("until", b.Until, 0, int64(MaxSpan))), Signature: b.Signature,
	}
}
