package external

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/internal/localfs"
	"gbroker/pbs"
	"gbroker/pbs/control"
)

var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ownerWord begins the identifiers of an owner's reservations in the batch system, so that
// those of other brokers and those made by hand are never taken for ours.
func ownerWord(owner string) string {
	h := sha256.Sum256([]byte(owner))
	return letters.EncodeToString(h[:])[:5]
}

const ownWord = 19 // what is left of 24 characters

// nameOf is the identifier of a reservation in the batch system: the owner's word, and the
// identifier or, where that is too long, a hash of it.
func (s *System) nameOf(id string) string {
	if len(id) > ownWord {
		h := sha256.Sum256([]byte(id))
		id = letters.EncodeToString(h[:])[:ownWord]
	}
	return ownerWord(s.config.Owner) + id
}

// ourReservation tells whether a reservation is ours, and our identifier of it.
func (s *System) ourReservation(b Reservation) (id string, is bool) {
	rest, is := strings.CutPrefix(b.ID, ownerWord(s.config.Owner))
	if !is || rest == "" {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.reserved {
		if s.nameOf(id) == b.ID {
			return id, true
		}
	}
	return rest, true
}

func goodID(id string) bool {
	return id != "" && len(id) <= 24 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

func (s *System) reserver() (Reserver, error) {
	b, is := s.config.Client.(Reserver)
	if !is {
		return nil, pbs.ErrNoReservations
	}
	return b, nil
}

// Slack is how much longer than its job's limit a reservation must be.
func (s *System) Slack() grid.Tick { return s.config.Client.Traits().Slack }

// Reservations lists those of ours, as the batch system holds them now.
func (s *System) Reservations(ctx context.Context) ([]pbs.Reservation, error) {
	b, err := s.reserver()
	if err != nil {
		return nil, err
	}
	all, err := b.Reservations(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the reservations: %w", err)
	}
	got, err := s.poller.cached(ctx)
	if err != nil {
		return nil, err
	}
	others := s.entered(got.Jobs)
	var ours []pbs.Reservation
	for _, x := range all {
		if id, is := s.ourReservation(x); is {
			ours = append(ours, pbs.Reservation{ID: id, Nodes: x.Nodes, Start: x.Start, End: x.End, Account: s.foreignAccount(x.User), Others: others[x.Native]})
		}
	}
	return ours, nil
}

// entered are the jobs in each reservation that are none of ours.
func (s *System) entered(jobs []Job) map[string][]string {
	in := map[string][]string{}
	for _, j := range jobs {
		if j.Reservation == "" || j.State == Done {
			continue
		}
		if _, is := parseMark(s.config.Owner, j.Mark); !is {
			in[j.Reservation] = append(in[j.Reservation], fmt.Sprintf("%s of %s", j.Local, j.User))
		}
	}
	return in
}

// Reserve makes a reservation, and reads it back.
func (s *System) Reserve(ctx context.Context, r pbs.Reservation) error {
	if err := s.reserve(ctx, r); err != nil {
		return fmt.Errorf("reserving %s: %w", r.ID, err)
	}
	return nil
}

func (s *System) reserve(ctx context.Context, r pbs.Reservation) error {
	if !goodID(r.ID) {
		return fmt.Errorf("%w: a reservation is named by 1 to 24 of a-z 0-9, not by %.40q", grid.ErrInvalid, r.ID)
	}
	b, done, err := s.openBook(ctx)
	if err != nil {
		return err
	}
	defer done()
	if has := s.reservationOf(b.all, r.ID); has != nil {
		if !s.asAsked(*has, r) {
			return fmt.Errorf("%w: there is another reservation of that name, from %v to %v on %v for %q", grid.ErrInvalid, has.Start.Time(), has.End.Time(), has.Nodes, has.User)
		}
		return s.keep(r, true)
	}
	if err := s.free(b.listing, b.all, r); err != nil {
		return err
	}
	if err := s.keep(r, false); err != nil {
		return err
	}
	if _, err := b.MakeReservation(ctx, s.reservation("", r)); err != nil {
		return s.undo(ctx, b, r, fmt.Errorf("the batch system: %w", err))
	}
	if err := s.readBack(ctx, b, r); err != nil {
		return s.undo(ctx, b, r, err)
	}
	s.Poll()
	return s.keep(r, true)
}

func (s *System) reservation(native string, r pbs.Reservation) Reservation {
	return Reservation{Native: native, ID: s.nameOf(r.ID), Nodes: r.Nodes, Start: r.Start, End: r.End, User: s.account(r.Account)}
}

func (s *System) reservationOf(all []Reservation, id string) *Reservation {
	name := s.nameOf(id)
	if i := slices.IndexFunc(all, func(b Reservation) bool { return b.ID == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// asAsked tells whether a reservation holds what was asked for, for whom; not every system tells that. One that was to begin
// while it was made may have begun a little earlier, or later. A system that is told then how long it lasts may end it so much later.
func (s *System) asAsked(b Reservation, r pbs.Reservation) bool {
	early := s.config.Client.Traits().Early
	begun := r.Start-early <= b.Start && b.Start <= control.Now()
	begins, ends := b.Start == r.Start || begun, b.End == r.End || begun && r.End <= b.End && b.End <= r.End+early
	has, wants := slices.Sorted(slices.Values(b.Nodes)), slices.Sorted(slices.Values(r.Nodes))
	forWhom := b.User == "" || b.User == s.account(r.Account)
	return slices.Equal(has, wants) && begins && ends && b.Cores == nil && forWhom
}

// free refuses what the batch system would allow, or could not hold: it is checked by a
// fresh listing before, and by reading back after.
func (s *System) free(l Listing, all []Reservation, r pbs.Reservation) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", grid.ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch {
	case len(r.Nodes) == 0:
		return wrong("it names no node")
	case r.Start >= r.End:
		return wrong("it ends at %s, and starts at %s", instant(r.End), instant(r.Start))
	case r.End <= l.At:
		return wrong("it is over already: it ends at %s, and it is %s", instant(r.End), instant(l.At))
	}
	if r.Start%grid.Second != 0 || r.End%grid.Second != 0 {
		return wrong("batch systems keep whole seconds: from %v to %v", r.Start.Time(), r.End.Time())
	}
	for i, name := range r.Nodes {
		n := nodeIndex(l, name)
		switch {
		case n < 0:
			return wrong("there is no node %.63q", name)
		case l.Nodes[n].Down:
			return wrong("node %s is down", name)
		case slices.Contains(r.Nodes[:i], name):
			return wrong("node %s is named twice", name)
		}
	}
	for _, b := range all {
		if b.ID != s.nameOf(r.ID) && s.overlaps(b, r) {
			return wrong("it overlaps reservation %s, from %s to %s", b.Native, instant(b.Start), instant(b.End))
		}
	}
	for _, j := range l.Jobs {
		if !j.holds() {
			continue
		}
		end := running(l, j, "").End
		for _, p := range j.Places {
			if slices.Contains(r.Nodes, p.Node) && end > r.Start {
				return wrong("job %s may run on node %s until %v", j.Local, p.Node, end.Time())
			}
		}
	}
	return nil
}

// instant is a time for people.
func instant(t grid.Tick) string { return t.Time().UTC().Format(time.RFC3339) }

// overlaps tells that a reservation stands in the way of one that is asked for. Of ours that is as it was asked for that counts, where it
// is no other one: the system may end it a little later, and nobody is promised that.
func (s *System) overlaps(b Reservation, r pbs.Reservation) bool {
	if id, is := s.ourReservation(b); is {
		s.mu.Lock()
		k := s.reserved[id]
		s.mu.Unlock()
		if k != nil && s.asAsked(b, k.Reservation) {
			b.Start, b.End = k.Start, k.End
		}
	}
	return b.Start < r.End && r.Start < b.End &&
		slices.ContainsFunc(b.Nodes, func(n grid.NodeName) bool { return slices.Contains(r.Nodes, n) })
}

// readBack checks that a reservation is there, as asked, and overlaps none.
func (s *System) readBack(ctx context.Context, b Reserver, r pbs.Reservation) error {
	all, err := b.Reservations(ctx)
	if err != nil {
		return err
	}
	has := s.reservationOf(all, r.ID)
	if has == nil {
		return fmt.Errorf("%w: the batch system took it, and does not show it", grid.ErrUnavailable)
	}
	if !s.asAsked(*has, r) {
		return fmt.Errorf("%w: the batch system made something else of it: %v from %v to %v for %q",
			grid.ErrInvalid, has.Nodes, has.Start.Time(), has.End.Time(), has.User)
	}
	for _, x := range all {
		if x.Native != has.Native && s.overlaps(x, r) {
			return fmt.Errorf("%w: it overlaps reservation %s, which came meanwhile", grid.ErrInvalid, x.Native)
		}
	}
	return nil
}

// undo leaves nothing behind of a reservation that could not be made; what cannot be undone
// now is swept later, as it is not confirmed in the spool.
func (s *System) undo(ctx context.Context, b Reserver, r pbs.Reservation, why error) error {
	if err := s.endReservation(ctx, b, r.ID); err != nil {
		return fmt.Errorf("%w; and undoing it: %w", why, err)
	}
	return why
}

// endReservation ends all that carries the name of a reservation, and forgets it.
func (s *System) endReservation(ctx context.Context, b Reserver, id string) error {
	all, err := b.Reservations(ctx)
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.ID != s.nameOf(id) {
			continue
		}
		if err := b.EndReservation(ctx, x.Native); err != nil {
			return err
		}
	}
	s.mu.Lock()
	delete(s.reserved, id)
	s.mu.Unlock()
	if err := os.Remove(s.reservationFile(id)); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
	}
	s.Poll()
	return nil
}

// keep notes a reservation in the spool.
func (s *System) keep(r pbs.Reservation, confirmed bool) error {
	k := &kept{Version: spoolVersion, Reservation: r, Confirmed: confirmed}
	data, err := json.Marshal(k)
	if err == nil {
		err = localfs.Replace(s.reservationFile(r.ID), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("%w: spooling it: %w", grid.ErrUnavailable, err)
	}
	s.mu.Lock()
	s.reserved[r.ID] = k
	s.mu.Unlock()
	return nil
}

// Change moves, shortens or lengthens a reservation; where that fails it is as it was.
func (s *System) Change(ctx context.Context, r pbs.Reservation) error {
	if err := s.changeReservation(ctx, r); err != nil {
		return fmt.Errorf("changing reservation %s: %w", r.ID, err)
	}
	return nil
}

func (s *System) changeReservation(ctx context.Context, r pbs.Reservation) error {
	b, done, err := s.openBook(ctx)
	if err != nil {
		return err
	}
	defer done()
	has := s.reservationOf(b.all, r.ID)
	if has == nil {
		return fmt.Errorf("%w: there is none of that name", grid.ErrInvalid)
	}
	if s.asAsked(*has, r) {
		return s.keep(r, true)
	}
	if err := s.free(withoutUsers(b.listing, *has), b.all, r); err != nil {
		return err
	}
	was := *has
	err = b.ChangeReservation(ctx, s.reservation(has.Native, r))
	if errors.Is(err, grid.ErrInvalid) && !errors.Is(err, grid.ErrUnavailable) {
		return err // nothing has changed
	}
	// Where the answer was lost, what is there now says what has become of it.
	if wrong := s.readBack(ctx, b, r); wrong != nil {
		return errors.Join(err, wrong, b.ChangeReservation(ctx, was))
	}
	s.Poll()
	return s.keep(r, true)
}

// withoutUsers is a listing without the jobs that run in a reservation: they are no
// hindrance to it.
func withoutUsers(l Listing, b Reservation) Listing {
	l.Jobs = slices.DeleteFunc(slices.Clone(l.Jobs), func(j Job) bool { return j.Reservation == b.Native })
	return l
}

// Release ends a reservation.
func (s *System) Release(ctx context.Context, id string) error {
	b, err := s.reserver()
	if err != nil {
		return err
	}
	if !goodID(id) {
		return nil // there is none of such a name
	}
	done, err := s.alone(ctx, "reservations")
	if err != nil {
		return err
	}
	defer done()
	if err := s.endReservation(ctx, b, id); err != nil {
		return fmt.Errorf("releasing reservation %s: %w", id, err)
	}
	return nil
}

// native is the system's name of a reservation of ours.
func (s *System) native(ctx context.Context, id string) (string, error) {
	b, err := s.reserver()
	if err != nil {
		return "", fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	all, err := b.Reservations(ctx)
	if err != nil {
		return "", err
	}
	has := s.reservationOf(all, id)
	if has == nil {
		return "", fmt.Errorf("%w: there is no reservation %s, or no more", grid.ErrInvalid, id)
	}
	return has.Native, nil
}
