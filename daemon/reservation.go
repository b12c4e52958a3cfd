package daemon

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"gbroker/api"
	"gbroker/broker"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/wire"
)

// reserver is the batch system as the broker has nodes held by it: for the account that the jobs of the holder
// run as.
type reserver struct {
	site   *site
	system pbs.Reserver
}

func (s *site) reserver() *reserver {
	if system, can := s.batch.(pbs.Reserver); can && s.cfg.Reservations.Offered {
		return &reserver{s, system}
	}
	return nil
}

// portReserver is nil where there is none.
func (s *site) portReserver() broker.Reserver {
	if r := s.reserver(); r != nil {
		return r
	}
	return nil
}

// slack is how much longer than its job's limit a reservation must be.
func (s *site) slack() grid.Tick {
	if r := s.reserver(); r != nil {
		return r.system.Slack()
	}
	return 0
}

func (v *reserver) Reserve(ctx context.Context, r grid.Reservation, change bool) error {
	account, err := v.site.fileAccount(r.Holder)
	if err != nil {
		return fmt.Errorf("the account of %s: %w", r.Holder.Name, err)
	}
	asked := pbs.Reservation{ID: string(r.ID), Nodes: r.Nodes, Start: r.Start, End: r.End, Account: account}
	if change {
		return v.system.Change(ctx, asked)
	}
	return v.system.Reserve(ctx, asked)
}

func (v *reserver) Release(ctx context.Context, id grid.ReservationID) error {
	return v.system.Release(ctx, string(id))
}

func (v *reserver) Reservations(ctx context.Context) ([]core.HeldReservation, error) {
	all, err := v.system.Reservations(ctx)
	if err != nil {
		return nil, err
	}
	shot, err := v.site.batch.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	down := map[grid.NodeName]bool{}
	for _, n := range shot.Nodes {
		down[n.Name] = n.Down
	}
	var list []core.HeldReservation
	for _, r := range all {
		if strings.HasPrefix(r.ID, handOwner) {
			continue // made by hand, and to be ended by hand
		}
		h := core.HeldReservation{ID: grid.ReservationID(r.ID), Place: grid.Place{Nodes: r.Nodes, Start: r.Start, End: r.End}, Others: r.Others}
		for _, n := range r.Nodes {
			if down[n] {
				h.Down = append(h.Down, n)
			}
		}
		list = append(list, h)
	}
	return list, nil
}

// Limits of what users ask for here.
const (
	tentativeLimit = 2 * grid.Minute // between the site's word and the confirmation
	defaultGrace   = 5 * grid.Minute // for its job to come
)

// Reserve asks a site for nodes for a user.
func (s service) Reserve(ctx context.Context, who api.Identity, n api.NewReservation) (grid.Reservation, error) {
	at := s.site.self
	if n.Site != "" && n.Site != s.site.facts.Name {
		m, err := s.memberNamed(n.Site)
		if err != nil {
			return grid.Reservation{}, err
		}
		at = m.Peer
	}
	// None begins with the mark of what is made by hand.
	id := "r" + strings.ToLower(rand.Text()[:20])
	m := wire.Reserve{
		ID: grid.ReservationID(id), Holder: grid.User{Home: s.site.self, Name: who.Name}, What: grid.NodesReserved,
		Demand: n.Demand, Queue: n.Queue, From: n.From, Until: n.Until, Length: n.Length, Early: n.Early,
		Limit: tentativeLimit, Grace: defaultGrace,
	}
	if n.Bandwidth > 0 {
		m.What, m.Bandwidth, m.Grace = grid.DeliveryReserved, n.Bandwidth, 0
	}
	r, _, err := s.site.broker.Reserve(ctx, at, m)
	return r, err
}

func (s service) memberNamed(name grid.SiteName) (grid.Member, error) {
	for _, m := range s.site.memberList() {
		if m.Name == name {
			return m, nil
		}
	}
	return grid.Member{}, fmt.Errorf("%w: %s is no neighbour of this site", grid.ErrNotFound, name)
}

// Reservations are those of a user; for administrators all that are known here.
func (s service) Reservations(_ context.Context, who api.Identity) ([]grid.Reservation, error) {
	var list []grid.Reservation
	for _, r := range s.site.broker.Reservations() {
		if who.Administrator || s.mayRelease(who, r) {
			list = append(list, r)
		}
	}
	return list, nil
}

func (s service) mayRelease(who api.Identity, r grid.Reservation) bool {
	return r.Holder == grid.User{Home: s.site.self, Name: who.Name}
}

// mine finds a reservation that one may change or give up: his own, and for administrators all that are held from here.
func (s service) mine(who api.Identity, id grid.ReservationID) error {
	for _, r := range s.site.broker.Reservations() {
		switch {
		case r.ID != id:
		case s.mayRelease(who, r), who.Administrator && r.Holder.Home == s.site.self:
			return nil
		case who.Administrator:
			return fmt.Errorf("%w: reservation %s is held at %s: only that site changes it or gives it up; a maintenance window takes its place", grid.ErrForbidden, id, s.SiteName(r.Holder.Home))
		}
	}
	return fmt.Errorf("%w: reservation %.30s", grid.ErrNotFound, id)
}

// Release gives a reservation up.
func (s service) Release(ctx context.Context, who api.Identity, id grid.ReservationID) (grid.Reservation, error) {
	if err := s.mine(who, id); err != nil {
		return grid.Reservation{}, err
	}
	return s.site.broker.Release(ctx, id, who.Name)
}

// ChangeReservation gives one another place.
func (s service) ChangeReservation(ctx context.Context, who api.Identity, id grid.ReservationID, to api.NewPlace) (grid.Reservation, error) {
	if err := s.mine(who, id); err != nil {
		return grid.Reservation{}, err
	}
	return s.site.broker.ChangeReservation(ctx, id, to.Start, to.Length, to.Nodes)
}
