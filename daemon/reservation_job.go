package daemon

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"gbroker/api"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

const (
	// reservedMore is what a reservation for a job is longer than its limit there: its start and its end take some time.
	reservedMore = 2 * grid.Minute
	// keptWithin is how much later than estimated a guaranteed job may begin.
	keptWithin = grid.Minute
)

// reserved is [service.reservedNow], but that a job which was handed in before, under its key, needs no other: its reservation is bound, or over.
func (s service) reserved(ctx context.Context, who api.Identity, j *grid.Job, n api.NewJob) (giveUp func(), err error) {
	if giveUp, err = s.reservedNow(ctx, who, j, n); err == nil || n.Key == "" {
		return giveUp, err
	}
	if d, bad := s.site.broker.Where(ctx, *j, n.Key); bad != nil || len(d.Candidates) > 0 {
		return giveUp, err
	}
	return giveUp, nil
}

// reservedNow binds a job to the reservation that it names, or to one that is made for it; giveUp releases that, if the
// job is not handed in after all.
func (s service) reservedNow(ctx context.Context, who api.Identity, j *grid.Job, n api.NewJob) (giveUp func(), err error) {
	giveUp = func() {}
	switch {
	case n.Reserved != "":
		s.bindIfThere(j, n.Reserved)
		return giveUp, nil
	case n.Guaranteed && j.Reservation != "":
		return giveUp, fmt.Errorf("%w: a job is guaranteed by a reservation that is made for it, or for one that there is: not both", grid.ErrInvalid)
	case n.Guaranteed && j.Coallocation != nil:
		return giveUp, fmt.Errorf("%w: --guaranteed reserves at one site, and a job that may have several reserves at all of them by itself: leave out one of the two", grid.ErrInvalid)
	case n.Guaranteed:
		made, err := s.guarantee(ctx, j)
		if err != nil {
			return giveUp, fmt.Errorf("a reservation for the job: %w", err)
		}
		giveUp = func() {
			if _, err := s.site.broker.Release(context.WithoutCancel(ctx), made.ID, who.Name); err != nil {
				s.site.log.Warn("giving up the reservation of a job that was not handed in", zap.String("reservation", string(made.ID)), zap.Error(err))
			}
		}
		sites := j.Sites
		err = s.bind(j, made)
		j.Guaranteed = &sites
		return giveUp, err
	case j.Reservation == "":
		return giveUp, nil
	}
	for _, r := range s.site.broker.Reservations() {
		if r.ID == j.Reservation && r.Holder == j.User {
			return giveUp, s.bind(j, r)
		}
	}
	return giveUp, fmt.Errorf("%w: reservation %s is none of yours that this site knows", grid.ErrNotFound, j.Reservation)
}

// bindIfThere binds a job to a reservation that was made for it, if that is there yet.
func (s service) bindIfThere(j *grid.Job, id grid.ReservationID) {
	sites := j.Sites
	for _, r := range s.site.broker.Reservations() {
		if r.ID == id && r.Holder == j.User && s.bind(j, r) == nil {
			j.Guaranteed = &sites
		}
	}
}

// stateInWords is the state of a reservation, with why it is over or which job has it.
func stateInWords(r *grid.Reservation) string {
	switch {
	case r.State.Over() && r.Reason != "":
		return fmt.Sprintf("%v: %s", r.State, r.Reason)
	case !r.State.Over() && r.For != "":
		return fmt.Sprintf("%v, of job %s", r.State, r.For)
	}
	return r.State.String()
}

// bind pins a job to a reservation and its site.
func (s service) bind(j *grid.Job, r grid.Reservation) error {
	if r.State.Over() || r.For != "" {
		return fmt.Errorf("%w: reservation %s is %s", grid.ErrInvalid, r.ID, stateInWords(&r))
	}
	site := r.Site
	if site == "" {
		site = s.site.self
	}
	j.Reservation = r.ID
	j.Sites = grid.Choice{Only: []grid.SiteName{grid.SiteName(s.SiteName(site))}}
	return nil
}

// guarantee reserves what a job needs, where it would end first, so that it begins when that was estimated.
func (s service) guarantee(ctx context.Context, j *grid.Job) (grid.Reservation, error) {
	d, _, _, err := s.site.broker.WhereAll(ctx, *j)
	if err != nil {
		return grid.Reservation{}, err
	}
	for _, c := range d.Candidates {
		if c.Site != d.Chosen || c.Refusal != nil {
			continue
		}
		second := func(t grid.Tick) grid.Tick { return (t + grid.Second - 1) / grid.Second * grid.Second }
		length := second(max(j.Walltime, c.Run) + reservedMore)
		from := second(s.site.clock() + c.Delivery + 10*grid.Second)
		r, _, err := s.site.broker.Reserve(ctx, c.Peer, wire.Reserve{
			ID: grid.ReservationID("r" + strings.ToLower(rand.Text()[:20])), Holder: j.User, What: grid.NodesReserved, Demand: j.Demand, Queue: j.Queue,
			From: from, Until: second(from+c.Wait+keptWithin) + length, Length: length, Early: true, Limit: tentativeLimit, Grace: defaultGrace,
		})
		if r.Site == "" {
			r.Site = c.Peer
		}
		return r, err
	}
	if err := never(j, d, s.site.sizes()); err != nil {
		return grid.Reservation{}, err
	}
	return grid.Reservation{}, fmt.Errorf("%w: no site can run it now: %s", grid.ErrNotYet, core.Reasons(d))
}
