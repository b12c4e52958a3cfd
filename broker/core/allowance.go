package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// What one member can make this site hold. An offer costs its document, in memory and in
// the journal, and its files, on the disk, from when it comes until it is committed or has
// died, and a member that never commits pays nothing for it. So what is held for each
// member is bounded: what comes beyond is refused for now. Jobs that are owned here count
// no more: their home can prove what it gave away.

const (
	maxOffersOf   = 128             // of one member that wait for a snapshot, fetch their files or are PREPARED
	maxFetchingOf = 64              // of them, whose files are being fetched
	maxOfferBytes = int64(32) << 20 // bytes of their documents: more than the largest one
)

// tooManyOf is the reason: the owner tries again.
const tooManyOf = "it holds as many offers of this neighbour as it takes at once"

// allowance is what is held for one member.
type allowance struct {
	offers, fetching int
	documents, files int64
}

func (a *allowance) add(j *grid.Job) {
	a.offers++
	a.documents += j.DocumentSize()
	a.files += j.Inputs.Size()
}

// usedBy is what is held for a member without those offers that are PREPARED.
func (c *ownership) usedBy(p grid.PeerID) (a allowance) {
	for _, o := range c.offers {
		if o.from == p {
			a.add(&o.offer.Job)
		}
	}
	for _, k := range c.accepted {
		if k.from == p {
			a.add(&k.offer.Job)
			a.fetching++
		}
	}
	return a
}

// usedByMember is what is held for each member.
func (c *ownership) usedByMember() map[grid.PeerID]*allowance {
	held := map[grid.PeerID]*allowance{}
	of := func(p grid.PeerID) *allowance {
		if held[p] == nil {
			a := c.usedBy(p)
			held[p] = &a
		}
		return held[p]
	}
	for p := range c.members {
		of(p)
	}
	for _, j := range c.live {
		if j.rec.Role == grid.Prepared && !c.isHome(j) {
			of(j.rec.Owner).add(&j.rec.Job)
			of(j.rec.Owner).documents += j.brief
		}
	}
	return held
}

// beyond is the refusal of one more offer; nil is none.
func (c *ownership) beyond(a *allowance, j *grid.Job) *grid.Refusal {
	refuse := func(asked, most any) *grid.Refusal {
		return &grid.Refusal{Kind: grid.Temporary, Reason: tooManyOf, Asked: fmt.Sprint(asked), Available: fmt.Sprint(most)}
	}
	switch size := j.DocumentSize(); {
	case j.Home == c.cfg.Self: // it holds that job anyway
		return nil
	case a.offers >= maxOffersOf:
		return refuse(a.offers+1, maxOffersOf)
	case a.fetching >= maxFetchingOf:
		return refuse(a.fetching+1, maxFetchingOf)
	case a.documents+size > maxOfferBytes:
		return refuse(a.documents+size, maxOfferBytes)
	case a.files+j.Inputs.Size() > c.cfg.OfferFiles:
		return refuse(a.files+j.Inputs.Size(), c.cfg.OfferFiles)
	}
	return nil
}

// keepOffer keeps an offer until a snapshot comes, or refuses it.
func (c *ownership) keepOffer(from grid.PeerID, o wire.Offer) {
	if slices.ContainsFunc(c.offers, func(p pendingOffer) bool { return p.from == from && p.offer.Handoff == o.Handoff }) {
		return // it was said twice
	}
	a := c.usedBy(from)
	refusal := c.beyond(&a, &o.Job)
	if refusal == nil && len(c.offers) >= maxPending {
		refusal = forNow(tooMany)
	}
	if refusal != nil {
		c.send(from, wire.Refuse{Handoff: o.Handoff, Estimate: grid.Estimate{Refusal: refusal}})
		return
	}
	c.offers = append(c.offers, pendingOffer{from, o})
	c.estimator.look()
}

// takeOffers gives the offers that wait for a snapshot, which are kept no longer.
func (c *ownership) takeOffers() []pendingOffer {
	list := c.offers
	c.offers = nil
	return list
}

// offersRemoved drops those of sites that are no members any more.
func (c *ownership) offersRemoved() {
	c.offers = slices.DeleteFunc(c.offers, func(o pendingOffer) bool { return c.members[o.from] == nil })
}

// declineRemoved drops what was offered by those who were forgotten, or are no members any more: nobody will
// commit it. Where the job's home is one, that may still say who owns it. After a start the control directory speaks first.
func (c *ownership) declineRemoved(j *job) {
	r := &j.rec
	switch {
	case r.Role != grid.Prepared || c.isHome(j) || c.gates.beforeUnpreparing(j) != open:
	case j.giverGone:
		c.decline(j, j.giverWord)
	case c.members[r.Owner] == nil && c.members[r.Job.Home] == nil:
		c.decline(j, "the site that offered it is no neighbour any more")
	}
}
