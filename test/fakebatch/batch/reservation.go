package batch

import (
	"fmt"
	"time"
)

// Reservation is an advance reservation.
type Reservation struct {
	ID        string // R42.pbs1, or name.0
	Name      string
	Owner     string
	Users     []string // who may use it
	Accounts  []string // whose jobs may, too
	From, To  time.Time
	Held      []Reserved
	Confirmed bool
	Loose     bool // Maui's leak: others' jobs start inside once one of its users has a job on the node
	ByHost    bool // made for named hosts
	// Expression by which they were named.
	Expression string
	Place      string
	Asked      []Value
	Idle       time.Duration // deleted after so long without a job; 0 is never
	Ending     bool
	Created    time.Time
	Modified   time.Time
	used       time.Time // a job of it last ran
}

// Reserved is what a reservation holds of a node.
type Reserved struct {
	Node   string
	Cores  int
	Memory int64 // KiB
}

// Runs reports that its time has come.
func (b *Reservation) Runs(now time.Time) bool { return b.Confirmed && !now.Before(b.From) }

// on is the number of cores that it holds of a node.
func (b *Reservation) on(node string) int {
	for _, h := range b.Held {
		if h.Node == node {
			return h.Cores
		}
	}
	return 0
}

// Covers reports that it holds something of a node.
func (b *Reservation) Covers(node string) bool { return b.on(node) > 0 }

// Cores is all that it holds.
func (b *Reservation) Cores() int {
	n := 0
	for _, h := range b.Held {
		n += h.Cores
	}
	return n
}

// Reservation finds a reservation by its identifier.
func (s *System) Reservation(id string) *Reservation {
	for _, b := range s.Reservations {
		if b.ID == id {
			return b
		}
	}
	return nil
}

// ReservationName is a free identifier of the form name.n.
func (s *System) ReservationName(name string) string {
	for n := 0; ; n++ {
		if id := fmt.Sprintf("%s.%d", name, n); s.Reservation(id) == nil {
			return id
		}
	}
}

// mayUse reports whether a reservation is open to a job that is bound to it.
func (s *System) mayUse(j *Job, b *Reservation) bool {
	return contains(b.Users, j.User) || j.Account != "" && contains(b.Accounts, j.Account)
}

// open reports that a reservation does not keep a job off a node. Under Maui, whoever may
// use it may also run in it unbound.
func (s *System) open(b *Reservation, node string, j *Job) bool {
	if s.Face != "torque" || j == nil {
		return false
	}
	if s.mayUse(j, b) {
		return true
	}
	if !b.Loose {
		return false
	}
	for _, r := range s.On(node) {
		if s.mayUse(r, b) {
			return true
		}
	}
	return false
}

// Find places a reservation beside all else over its time; nil where it does not fit.
func (s *System) Find(j *Job, from, to, now time.Time, except *Reservation) []Part {
	j.Wall = to.Sub(from)
	all := s.Reservations
	if except != nil {
		s.Reservations = nil
		for _, b := range all {
			if b != except {
				s.Reservations = append(s.Reservations, b)
			}
		}
	}
	parts := s.fit(j, s.sees(nil, now), from, nil)
	s.Reservations = all
	return parts
}

// Later is the first instant from which a reservation that does not fit at its own time would; zero is never.
func (s *System) Later(j *Job, from, to, now time.Time) time.Time {
	seen := s.sees(nil, now)
	j.Wall = to.Sub(from)
	for _, at := range candidates(seen, nil, from) {
		if s.fit(j, seen, at, nil) != nil {
			return at
		}
	}
	return time.Time{}
}

// Gather sums parts by node.
func Gather(parts []Part) []Reserved {
	var out []Reserved
next:
	for _, p := range parts {
		for i := range out {
			if out[i].Node == p.Node {
				out[i].Cores += len(p.Cores)
				out[i].Memory += p.Memory
				continue next
			}
		}
		out = append(out, Reserved{p.Node, len(p.Cores), p.Memory})
	}
	return out
}

// MakeReservation enters a reservation.
func (s *System) MakeReservation(b *Reservation, now time.Time) {
	b.Created, b.Modified, b.used = now, now, now
	s.Reservations = append(s.Reservations, b)
	s.Wake()
}

// EndReservation takes a reservation out.
func (s *System) EndReservation(b *Reservation) {
	for i, have := range s.Reservations {
		if have == b {
			s.Reservations = append(s.Reservations[:i], s.Reservations[i+1:]...)
			s.Wake()
			return
		}
	}
}

// turnReservations ends those whose time is over, or that lie idle. With OpenPBS their jobs end with them.
func (s *System) turnReservations(now time.Time) {
	for _, b := range append([]*Reservation{}, s.Reservations...) {
		left := s.Bound(b)
		for _, j := range left {
			if j.Runs() {
				b.used = now
			}
		}
		since := b.From
		if b.used.After(since) {
			since = b.used
		}
		idle := b.Idle > 0 && b.Runs(now) && now.Sub(since) >= b.Idle
		if now.Before(b.To) && !idle && !b.Ending {
			continue
		}
		if s.Face == "torque" {
			s.EndReservation(b)
			continue
		}
		s.CloseReservation(b, "root", now)
	}
}

// CloseReservation ends an OpenPBS reservation: its jobs are deleted, and it goes when none runs.
func (s *System) CloseReservation(b *Reservation, by string, now time.Time) {
	b.Ending = true
	busy := false
	for _, j := range s.Bound(b) {
		busy = busy || j.Runs()
		if j.Waits() || j.Runs() && j.By == "" {
			s.Delete(j, by, now)
		}
	}
	if !busy {
		s.EndReservation(b)
	}
}

// Bound lists the jobs of a reservation that have not ended.
func (s *System) Bound(b *Reservation) []*Job {
	var out []*Job
	for _, j := range s.Jobs {
		if j.Reservation == b.ID && !j.Ended() {
			out = append(out, j)
		}
	}
	return out
}
