package embedded

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/internal/localfs"
	"gbroker/pbs"
	"gbroker/pbs/control"
	"gbroker/plan"

	"go.uber.org/zap"
)

var _ pbs.Reserver = (*System)(nil)

const (
	reservationSuffix = ".json"
	maxReservations   = 10_000
	maxReservation    = 64 << 10 // bytes of its file
	// farthest is how far ahead a reservation may begin.
	farthest = 10 * 366 * grid.Day
	// starting is how long a job's start takes at most, out of its reservation.
	starting = 2 * grid.Second
)

// Slack is for the start of the job, and for its grace at its limit.
func (s *System) Slack() grid.Tick { return starting + grid.Span(s.config.Grace) }

// Reserve enters a reservation into the list.
func (s *System) Reserve(_ context.Context, r pbs.Reservation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, there := s.byID[r.ID]; there {
		if !equal(old, r) {
			return fmt.Errorf("%w: reservation %s is there already, and another", grid.ErrInvalid, r.ID)
		}
		return nil
	}
	if len(s.byID) >= maxReservations {
		return fmt.Errorf("%w: reserving %s: the site holds %d reservations already", grid.ErrUnavailable, r.ID, len(s.byID))
	}
	return s.enter(r)
}

// Change enters other nodes or another time for a reservation.
func (s *System) Change(_ context.Context, r pbs.Reservation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.byID[r.ID]; !there {
		return fmt.Errorf("%w: there is no reservation %q to be changed", grid.ErrInvalid, r.ID)
	}
	return s.enter(r)
}

// Release strikes a reservation out of the list.
func (s *System) Release(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.strike(id)
}

// Reservations lists them, in the order of their starts.
func (s *System) Reservations(context.Context) ([]pbs.Reservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	return s.reserved(), nil
}

func equal(a, b pbs.Reservation) bool {
	return a.ID == b.ID && a.Start == b.Start && a.End == b.End && a.Account == b.Account && slices.Equal(a.Nodes, b.Nodes)
}

// reserved lists them in the order of the starts; s.mu is held.
func (s *System) reserved() []pbs.Reservation {
	all := make([]pbs.Reservation, 0, len(s.byID))
	for _, r := range s.byID {
		r.Nodes = slices.Clone(r.Nodes)
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b pbs.Reservation) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.ID, b.ID))
	})
	return all
}

// enter writes a reservation, if nothing speaks against it; s.mu is held.
func (s *System) enter(r pbs.Reservation) error {
	r.Nodes = slices.Clone(r.Nodes)
	if err := errors.Join(checkReservation(r), s.checkNodes(r)); err != nil {
		return fmt.Errorf("%w: reserving %q: %w", grid.ErrInvalid, r.ID, err)
	}
	if err := s.checkRoom(r); err != nil {
		return fmt.Errorf("%w: reserving %s: %w", grid.ErrInvalid, r.ID, err)
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = localfs.Replace(s.reservationFile(r.ID), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("%w: writing reservation %s: %w", grid.ErrUnavailable, r.ID, err)
	}
	s.byID[r.ID] = r
	s.kick()
	return nil
}

func checkReservation(r pbs.Reservation) error {
	if n := len(r.ID); n < 1 || n > 24 || strings.Trim(r.ID, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return fmt.Errorf("its name is %.40q: it must be 1 to 24 of a-z 0-9", r.ID)
	}
	now := control.Now()
	switch {
	case r.Start >= r.End || r.End-r.Start > grid.MaxWalltime+grid.Day:
		return fmt.Errorf("it is from %d to %d: at least 1 ms, and at most a day longer than a job", r.Start, r.End)
	case r.End <= now:
		return errors.New("it is over")
	case r.Start > now+farthest:
		return errors.New("it begins in more than ten years")
	}
	return nil
}

func (s *System) checkNodes(r pbs.Reservation) error {
	if len(r.Nodes) == 0 {
		return errors.New("it names no node")
	}
	for i, name := range r.Nodes {
		n := s.node(name)
		switch {
		case n < 0:
			return fmt.Errorf("there is no node %.80q", name)
		case s.config.Nodes[n].Down:
			return fmt.Errorf("node %s is down", name)
		case slices.Contains(r.Nodes[:i], name):
			return fmt.Errorf("it names node %s twice", name)
		}
	}
	return nil
}

// checkRoom looks for other reservations, and for jobs that may run into it.
func (s *System) checkRoom(r pbs.Reservation) error {
	for _, o := range s.byID {
		if o.ID == r.ID || o.End <= r.Start || o.Start >= r.End {
			continue
		}
		for _, name := range r.Nodes {
			if slices.Contains(o.Nodes, name) {
				return fmt.Errorf("it would overlap reservation %s on node %s", o.ID, name)
			}
		}
	}
	for _, e := range s.busy {
		if e.spec.Reservation == r.ID || e.started+e.limit() <= r.Start || e.started >= r.End {
			continue
		}
		for _, h := range e.shares {
			if name := s.config.Nodes[h.Node].Name; slices.Contains(r.Nodes, name) {
				return fmt.Errorf("job %s may still run on node %s then", e.spec.ID.Job, name)
			}
		}
	}
	return nil
}

// strike removes a reservation; s.mu is held.
func (s *System) strike(id string) error {
	if _, there := s.byID[id]; !there {
		return nil
	}
	if err := os.Remove(s.reservationFile(id)); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("%w: releasing reservation %s: %w", grid.ErrUnavailable, id, err)
	}
	delete(s.byID, id)
	s.kick()
	return nil
}

// expire strikes out what is over, and gives the next instant at which one begins or
// ends, or 0; s.mu is held.
func (s *System) expire() (next grid.Tick) {
	now := control.Now()
	for id, r := range s.byID {
		if r.End <= now {
			if err := s.strike(id); err != nil {
				s.log.Warn("a reservation that is over stays in the spool", zap.String("reservation", id), zap.Error(err))
			}
			continue
		}
		at := r.Start
		if at <= now {
			at = r.End
		}
		if next == 0 || at < next {
			next = at
		}
	}
	return next
}

// node is the index of a node, or -1.
func (s *System) node(name grid.NodeName) int {
	return slices.IndexFunc(s.config.Nodes, func(n plan.Node) bool { return n.Name == name })
}

// kept is what the planner must keep free of nodes for reservations: for the job that
// waits for one, or for nobody. Beside the job that runs in one the rest is kept too.
func (s *System) kept() []plan.Reservation {
	var out []plan.Reservation
	for _, r := range s.reserved() {
		k := plan.Reservation{ID: r.ID, Start: r.Start, End: r.End}
		e := s.boundTo(r.ID)
		for _, name := range r.Nodes {
			i := s.node(name)
			if i < 0 {
				continue
			}
			n := s.config.Nodes[i]
			h := plan.Share{Node: i, Cores: n.Cores, Memory: n.Memory, Resources: slices.Clone(n.Resources)}
			if e != nil && !e.waiting {
				h = without(h, e.shares)
			}
			if h.Cores > 0 {
				k.Shares = append(k.Shares, h)
			}
		}
		if e != nil && e.waiting {
			k.Job = e.spec.ID.Job
		}
		out = append(out, k)
	}
	return out
}

// without is the share of a node less what a job has there.
func without(h plan.Share, job []plan.Share) plan.Share {
	for _, o := range job {
		if o.Node != h.Node {
			continue
		}
		h.Cores -= o.Cores
		h.Memory = max(h.Memory-o.Memory, 0)
		for _, r := range o.Resources {
			if i := slices.IndexFunc(h.Resources, func(x grid.Resource) bool { return x.Name == r.Name }); i >= 0 {
				h.Resources[i].Amount = max(h.Resources[i].Amount-r.Amount, 0)
			}
		}
	}
	h.Resources = slices.DeleteFunc(h.Resources, func(r grid.Resource) bool { return r.Amount == 0 })
	return h
}

// boundTo is the job that waits for a reservation or runs in it, or nil.
func (s *System) boundTo(id string) *entry {
	for _, list := range [][]*entry{s.busy, s.queue} {
		for _, e := range list {
			if e.spec.Reservation == id {
				return e
			}
		}
	}
	return nil
}

// barred tells whether a waiting job may not start whatever room there is: it is held,
// or its reservation is gone.
func (s *System) barred(e *entry) bool {
	_, there := s.byID[e.spec.Reservation]
	return e.spec.Held || e.spec.Reservation != "" && !there
}

// checkBinding says why a job cannot be bound to its reservation; s.mu is held.
func (s *System) checkBinding(sub grid.Submission) error {
	if sub.Reservation == "" {
		return nil
	}
	s.expire()
	r, there := s.byID[sub.Reservation]
	if !there {
		return fmt.Errorf("%w: there is no reservation %.80q", grid.ErrInvalid, sub.Reservation)
	}
	if limit := sub.BatchLimit(); limit > r.End-r.Start {
		return fmt.Errorf("%w: its limit is %d ms and reservation %s is for %d", grid.ErrInvalid, limit, r.ID, r.End-r.Start)
	}
	if e := s.boundTo(r.ID); e != nil && e.spec.ID.Job != sub.ID.Job {
		return fmt.Errorf("%w: reservation %s is for job %s", grid.ErrInvalid, r.ID, e.spec.ID.Job)
	}
	var nodes []plan.Node
	for _, name := range r.Nodes {
		if i := s.node(name); i >= 0 {
			nodes = append(nodes, s.config.Nodes[i])
		}
	}
	if why := plan.Refuse(plan.Snapshot{Site: s.config.Site, Nodes: nodes}, plan.Question{Demand: sub.Job.Demand, Limit: sub.Limit}); why != nil {
		return fmt.Errorf("%w: it can never run in reservation %s: %s (asked %s, available %s)",
			grid.ErrInvalid, r.ID, why.Reason, why.Asked, why.Available)
	}
	return nil
}

func (s *System) reservationFile(id string) string {
	return filepath.Join(s.config.Spool, "reservations", id+reservationSuffix)
}

// loadReservations takes up the reservations of the spool.
func (s *System) loadReservations() error {
	dir := filepath.Join(s.config.Spool, "reservations")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the reservations: %w", err)
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the reservations: %w", err)
	}
	for _, n := range names {
		name := filepath.Join(dir, n.Name())
		id, is := strings.CutSuffix(n.Name(), reservationSuffix)
		if !is {
			os.Remove(name) // it was being written
			continue
		}
		r, err := readReservation(name)
		if err == nil && r.ID != id {
			err = fmt.Errorf("it is reservation %q and belongs to another file", r.ID)
		}
		if err != nil {
			return fmt.Errorf("reservation %s cannot be read: remove the file if it is not needed: %w", name, err)
		}
		s.byID[id] = r
	}
	return nil
}

func readReservation(name string) (r pbs.Reservation, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return r, err
	}
	if info.Size() > maxReservation {
		return r, fmt.Errorf("it has %d bytes: at most %d", info.Size(), maxReservation)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return r, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, err
	}
	return r, nil
}
