package batch

import (
	"fmt"
	"time"
)

// Booking is an advance reservation.
type Booking struct {
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
func (b *Booking) Runs(now time.Time) bool { return b.Confirmed && !now.Before(b.From) }

// on is the number of cores that it holds of a node.
func (b *Booking) on(node string) int {
	for _, h := range b.Held {
		if h.Node == node {
			return h.Cores
		}
	}
	return 0
}

// Covers reports that it holds something of a node.
func (b *Booking) Covers(node string) bool { return b.on(node) > 0 }

// Cores is all that it holds.
func (b *Booking) Cores() int {
	n := 0
	for _, h := range b.Held {
		n += h.Cores
	}
	return n
}

// Booking finds a reservation by its identifier.
func (s *System) Booking(id string) *Booking {
	for _, b := range s.Bookings {
		if b.ID == id {
			return b
		}
	}
	return nil
}

// BookingName is a free identifier of the form name.n.
func (s *System) BookingName(name string) string {
	for n := 0; ; n++ {
		if id := fmt.Sprintf("%s.%d", name, n); s.Booking(id) == nil {
			return id
		}
	}
}

// mayUse reports whether a reservation is open to a job that is bound to it.
func (s *System) mayUse(j *Job, b *Booking) bool {
	return contains(b.Users, j.User) || j.Account != "" && contains(b.Accounts, j.Account)
}

// open reports that a reservation does not keep a job off a node. Under Maui, whoever may
// use it may also run in it unbound.
func (s *System) open(b *Booking, node string, j *Job) bool {
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
func (s *System) Find(j *Job, from, to, now time.Time, except *Booking) []Part {
	j.Wall = to.Sub(from)
	all := s.Bookings
	if except != nil {
		s.Bookings = nil
		for _, b := range all {
			if b != except {
				s.Bookings = append(s.Bookings, b)
			}
		}
	}
	parts := s.fit(j, s.sees(nil, now), from, nil)
	s.Bookings = all
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

// Book enters a reservation.
func (s *System) Book(b *Booking, now time.Time) {
	b.Created, b.Modified, b.used = now, now, now
	s.Bookings = append(s.Bookings, b)
	s.Wake()
}

// Unbook takes a reservation out.
func (s *System) Unbook(b *Booking) {
	for i, have := range s.Bookings {
		if have == b {
			s.Bookings = append(s.Bookings[:i], s.Bookings[i+1:]...)
			s.Wake()
			return
		}
	}
}

// turnBookings ends those whose time is over, or that lie idle. With OpenPBS their jobs end with them.
func (s *System) turnBookings(now time.Time) {
	for _, b := range append([]*Booking{}, s.Bookings...) {
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
			s.Unbook(b)
			continue
		}
		s.CloseBooking(b, "root", now)
	}
}

// CloseBooking ends an OpenPBS reservation: its jobs are deleted, and it goes when none runs.
func (s *System) CloseBooking(b *Booking, by string, now time.Time) {
	b.Ending = true
	busy := false
	for _, j := range s.Bound(b) {
		busy = busy || j.Runs()
		if j.Waits() || j.Runs() && j.By == "" {
			s.Delete(j, by, now)
		}
	}
	if !busy {
		s.Unbook(b)
	}
}

// Bound lists the jobs of a reservation that have not ended.
func (s *System) Bound(b *Booking) []*Job {
	var out []*Job
	for _, j := range s.Jobs {
		if j.Booking == b.ID && !j.Ended() {
			out = append(out, j)
		}
	}
	return out
}
