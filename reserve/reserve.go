package reserve

import (
	"cmp"
	"fmt"

	"gbroker/grid"
)

// Ask is what a holder asks for: named nodes for all of an interval, or bandwidth.
type Ask struct {
	ID        grid.ReservationID
	Holder    grid.User
	For       grid.JobID
	Kind      grid.ReservationKind
	Place     grid.Place
	Cores     int // of its nodes
	Bandwidth int64
	Peer      grid.PeerID // of a delivery: with whom; "" is the holder's site
	Limit     grid.Tick   // how long it may be tentative; 0 is as long as the site allows
	Grace     grid.Tick
	Early     bool
	Price     float64
}

// Reserve makes a tentative reservation, or says why not. One that is there already is given as it is; one that
// is over stays so.
func (b *Book) Reserve(now grid.Tick, site grid.PeerID, a Ask) (r grid.Reservation, why *grid.Refusal) {
	b.Pass(now)
	if is := b.all[a.ID]; is != nil {
		if is.Holder.Home != a.Holder.Home {
			return grid.Reservation{ID: a.ID}, refused("there is another reservation of that name")
		}
		if is.State.Over() {
			why = refused("it is over: " + is.Reason)
		}
		return *is, why
	}
	if why := b.refuse(now, site, a); why != nil {
		return grid.Reservation{ID: a.ID}, why
	}
	limit := b.rules.limit()
	if a.Limit > 0 {
		limit = min(limit, a.Limit)
	}
	is := &grid.Reservation{
		ID: a.ID, Kind: a.Kind, Site: site, Holder: a.Holder, For: a.For, Nodes: a.Place.Nodes, Start: a.Place.Start, End: a.Place.End,
		Bandwidth: a.Bandwidth, Grace: a.Grace, Early: a.Early, Price: a.Price, Cores: a.Cores, Made: now, Until: now + limit, Holding: grid.Making,
	}
	if a.Kind == grid.DeliveryReserved {
		is.Peer, is.Holding = cmp.Or(a.Peer, a.Holder.Home), grid.NotPlaced
	}
	b.all[a.ID] = is
	b.become(is, grid.Tentative, now, "")
	return *is, nil
}

// maxRemembered bounds the reservations of a member that are over and remembered.
const maxRemembered = 1000

func (b *Book) remembered(member grid.PeerID) (n int) {
	for _, r := range b.all {
		if r.State.Over() && r.Holder.Home == member {
			n++
		}
	}
	return n
}

// refuse says why something is not reserved.
func (b *Book) refuse(now grid.Tick, site grid.PeerID, a Ask) *grid.Refusal {
	switch {
	case b.remembered(a.Holder.Home) >= maxRemembered:
		return &grid.Refusal{Kind: grid.Temporary, Reason: "its site has asked for too many in a short time", Again: defaultKeep}
	case !b.rules.Offered:
		return refused("this site makes no reservations")
	case a.Place.Start%grid.Second != 0 || a.Place.End%grid.Second != 0:
		return refused("it is not from one whole second to another")
	case a.Place.End <= now:
		return refused("it is over already")
	case a.Place.End-a.Place.Start > grid.MaxReservation:
		return refused("it is too long")
	case a.Kind == grid.NodesReserved && len(a.Place.Nodes) == 0:
		return refused("it names no node")
	}
	r := &grid.Reservation{
		ID: a.ID, Kind: a.Kind, Site: site, Holder: a.Holder, Nodes: a.Place.Nodes, Start: a.Place.Start, End: a.Place.End, Bandwidth: a.Bandwidth, Grace: a.Grace,
	}
	if by := comesBy(r); by > 0 && by <= now { // it would be over at once
		return refused("its start is so long ago that nobody can come to it in time")
	}
	if why := b.beyondQuota(now, r); why != nil {
		return why
	}
	return b.room(now, r)
}

// room says why there is none: a maintenance window, another reservation, or the uplink.
func (b *Book) room(now grid.Tick, r *grid.Reservation) *grid.Refusal {
	for _, w := range b.rules.Maintenance {
		if w.wants(r, r.Place()) {
			return &grid.Refusal{Kind: grid.Temporary, Reason: fmt.Sprintf("maintenance %q from %s to %s", w.Name, w.Start.Stamp(), w.End.Stamp()), Again: max(1, w.End-r.Start)}
		}
	}
	if r.Kind == grid.DeliveryReserved {
		return b.roomOnUplink(r)
	}
	if b.rules.Without.OverlapAllowed {
		return nil
	}
	for _, o := range b.All() {
		if o.ID == r.ID || o.Kind != grid.NodesReserved {
			continue
		}
		for _, p := range places(b.all[o.ID]) {
			if overlap(p, r.Place()) {
				return &grid.Refusal{Kind: grid.Temporary, Reason: fmt.Sprintf("its nodes are reserved from %s to %s", p.Start.Stamp(), p.End.Stamp()), Again: max(1, p.End-r.Start)}
			}
		}
	}
	return nil
}

// roomOnUplink: the most that deliveries have together during this one is at the start of one of them.
func (b *Book) roomOnUplink(r *grid.Reservation) *grid.Refusal {
	switch uplink := b.rules.Uplink; {
	case uplink == 0:
		return refused("this site offers no uplink")
	case r.Bandwidth > uplink && r.Holder.Home != r.Site: // what the site itself delivers needs less where it has more time
		return &grid.Refusal{Kind: grid.Permanent, Reason: "it offers less of its uplink", Asked: fmt.Sprint(r.Bandwidth), Available: fmt.Sprint(uplink)}
	}
	if used := b.uplinkUsed(r) + r.Bandwidth; used > b.rules.Uplink {
		return &grid.Refusal{
			Kind: grid.Temporary, Reason: "its uplink is reserved", Asked: fmt.Sprint(r.Bandwidth), Available: fmt.Sprint(max(0, b.rules.Uplink-used+r.Bandwidth)), Again: r.End - r.Start,
		}
	}
	return nil
}

func (b *Book) uplinkUsed(r *grid.Reservation) int64 {
	return b.most(r.Start, r.End, func(o *grid.Reservation) int64 {
		if o.ID == r.ID || o.Kind != grid.DeliveryReserved {
			return 0
		}
		return o.Bandwidth
	})
}

// Away is how many cores the users of other sites have here, but for one reservation, at most at any time of an interval.
func (b *Book) Away(but grid.ReservationID, from, to grid.Tick) int {
	return int(b.most(from, to, func(o *grid.Reservation) int64 {
		if o.ID == but || o.Kind != grid.NodesReserved || o.Holder.Home == o.Site {
			return 0
		}
		return int64(o.Cores)
	}))
}

// most is the most that live reservations have together at any time of an interval: at its start, or that of one.
func (b *Book) most(from, to grid.Tick, has func(*grid.Reservation) int64) (most int64) {
	at := func(t grid.Tick) (sum int64) {
		for _, o := range b.all {
			if !o.State.Over() && o.Start <= t && t < o.End {
				sum += has(o)
			}
		}
		return sum
	}
	most = at(from)
	for _, o := range b.all {
		if o.Start > from && o.Start < to {
			most = max(most, at(o.Start))
		}
	}
	return most
}

// beyondQuota says why a holder may not have this too.
func (b *Book) beyondQuota(now grid.Tick, r *grid.Reservation) *grid.Refusal {
	type quotaOf struct {
		of     string
		quota  Quota
		counts func(*grid.Reservation) bool
	}
	member := func(o *grid.Reservation) bool { return o.Kind == r.Kind && o.Holder.Home == r.Holder.Home }
	user := func(o *grid.Reservation) bool { return o.Kind == r.Kind && o.Holder == r.Holder }
	quotas := []quotaOf{{"its site", b.rules.Member, member}, {"its user", b.rules.User, user}}
	switch {
	case r.Kind == grid.DeliveryReserved && r.Holder.Home == r.Site:
		return nil // for its own parts, as many as there are: the uplink bounds them
	case r.Kind == grid.DeliveryReserved:
		quotas = []quotaOf{{"its site", b.rules.Deliveries, member}}
	}
	for _, q := range quotas {
		number, seconds := 1, nodeSeconds(r)
		for _, o := range b.all {
			if o.ID != r.ID && !o.State.Over() && q.counts(o) {
				number++
				seconds += nodeSeconds(o)
			}
		}
		switch {
		case q.quota.Horizon > 0 && r.End > now+q.quota.Horizon:
			return beyond(q.of+" may not reserve so far ahead", r.End-now, q.quota.Horizon)
		case q.quota.Number > 0 && number > q.quota.Number:
			return &grid.Refusal{Kind: grid.Temporary, Reason: q.of + " has too many reservations here", Asked: fmt.Sprint(number), Available: fmt.Sprint(q.quota.Number)}
		case q.quota.NodeSeconds > 0 && seconds > q.quota.NodeSeconds:
			return &grid.Refusal{
				Kind: grid.Temporary, Reason: q.of + " has too many node-seconds reserved here", Asked: fmt.Sprint(seconds), Available: fmt.Sprint(q.quota.NodeSeconds),
			}
		}
	}
	return nil
}

// nodeSeconds are counted in whole seconds, as reservations are.
func nodeSeconds(r *grid.Reservation) int64 {
	return int64(len(r.Nodes)) * int64((r.End-r.Start)/grid.Second)
}

func beyond(what string, asked, most grid.Tick) *grid.Refusal {
	return &grid.Refusal{Kind: grid.Permanent, Reason: what, Asked: asked.Duration().String(), Available: most.Duration().String()}
}

func refused(why string) *grid.Refusal { return &grid.Refusal{Kind: grid.Permanent, Reason: why} }
