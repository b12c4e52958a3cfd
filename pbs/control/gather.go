package control

import (
	"fmt"
	"os"
	"strings"

	"gbroker/grid"
)

// Arrival is a part of a co-allocated job at the barrier.
type Arrival struct {
	At      grid.Tick
	Process Process // that waits there
	Hosts   []string
	// As in grid.Gathered.
	Address, Rendezvous string
}

// WriteArrived tells that a part has arrived; the last word stands, for its batch system may
// start it again as long as nobody has its token.
func WriteArrived(dir string, at grid.AttemptID, a Arrival) error {
	fields := append([]field{{"attempt", at.String()}, {"at", number(a.At)}}, a.Process.fields()...)
	fields = append(fields, met(grid.Gathered{Hosts: a.Hosts, Address: a.Address, Rendezvous: a.Rendezvous})...)
	if err := replace(dir, path(dir, "arrived", at), encode(fields)); err != nil {
		return fmt.Errorf("writing the arrival of %s: %w", at, err)
	}
	return nil
}

// ReadArrived reads what WriteArrived wrote; there is false if the part has not arrived.
func ReadArrived(dir string, at grid.AttemptID) (a Arrival, there bool, err error) {
	r, err := open(dir, "arrived", at)
	if r == nil || err != nil {
		return a, false, err
	}
	r.attempt(at)
	a.At = r.instant("at")
	a.Process = r.process()
	g := r.met("here")
	a.Hosts, a.Address, a.Rendezvous = g.Hosts, g.Address, g.Rendezvous
	return a, true, r.done()
}

// met are the lines of what a part brings.
func met(g grid.Gathered) []field {
	fields := []field{{"address", g.Address}, {"hosts", strings.Join(g.Hosts, " ")}}
	if g.Rendezvous != "" {
		fields = append(fields, field{"rendezvous", g.Rendezvous})
	}
	return fields
}

// met is the inverse of met.
func (r *reader) met(site grid.SiteName) grid.Gathered {
	g := grid.Gathered{Site: site, Address: r.text("address"), Hosts: strings.Fields(r.text("hosts"))}
	if len(r.lines) > 0 && strings.HasPrefix(r.lines[0], "rendezvous ") {
		g.Rendezvous = r.text("rendezvous")
	}
	if err := g.Check(); err != nil {
		r.fail("says %v", err)
	}
	return g
}

// beyond is how long after its grace a part waits at the barrier for somebody who
// withdraws it: where its broker is gone for longer, it gives up by itself.
const beyond = grid.Minute

// Longest is how long a part waits at the barrier at most, also where it came before its start: its limit has no more.
func Longest(p *grid.Part) grid.Tick { return p.Grace + beyond }

// Patience is until when a part waits at the barrier that arrived there at an instant.
func Patience(p *grid.Part, arrived grid.Tick) grid.Tick { return min(p.Start, arrived) + Longest(p) }

// AddArrival adds to the progress of an attempt what its part said at the barrier. What cannot be
// believed was not said.
func AddArrival(p *grid.Progress, dir string) {
	if a, there, err := ReadArrived(dir, p.ID); there && err == nil {
		p.Arrived, p.Hosts, p.Address, p.Rendezvous = true, a.Hosts, a.Address, a.Rendezvous
	}
}

// Gather is WriteBegun or WriteGo.
func Gather(dir string, at grid.AttemptID, begun bool, sites []grid.Gathered) error {
	if begun {
		return WriteBegun(dir, at)
	}
	return WriteGo(dir, at, sites)
}

// WriteGo tells a part, durably, that all have arrived: it may take its token. The first word stands.
func WriteGo(dir string, at grid.AttemptID, sites []grid.Gathered) error {
	fields := []field{{"attempt", at.String()}, {"at", number(Now())}}
	for _, s := range sites {
		if err := s.Check(); err != nil {
			return fmt.Errorf("%w: the go for %s: %w", grid.ErrInvalid, at, err)
		}
		fields = append(append(fields, field{"site", string(s.Site)}), met(s)...)
	}
	return tell(dir, "go", at, fields)
}

// ReadGo reads what WriteGo wrote; there is false if it has not been said.
func ReadGo(dir string, at grid.AttemptID) (sites []grid.Gathered, there bool, err error) {
	r, err := open(dir, "go", at)
	if r == nil || err != nil {
		return nil, false, err
	}
	r.attempt(at)
	r.instant("at")
	for r.err == nil && len(r.lines) > 0 && len(sites) < grid.MaxPartSites {
		sites = append(sites, r.met(grid.SiteName(r.text("site"))))
	}
	return sites, true, r.done()
}

// WriteBegun tells a part that all have begun.
func WriteBegun(dir string, at grid.AttemptID) error {
	return tell(dir, "begun", at, []field{{"attempt", at.String()}, {"at", number(Now())}})
}

// Begun tells whether a part was told that all have begun.
func Begun(dir string, at grid.AttemptID) (bool, error) {
	r, err := open(dir, "begun", at)
	if r == nil || err != nil {
		return false, err
	}
	r.attempt(at)
	r.instant("at")
	return r.err == nil, r.done()
}

// tell writes a file that the program's account may read, and that nothing replaces.
func tell(dir, kind string, at grid.AttemptID, fields []field) error {
	name := path(dir, kind, at)
	tmp, err := temporary(dir, encode(fields), true)
	if err == nil {
		defer os.Remove(tmp)
		if err = os.Chmod(tmp, 0o644); err == nil {
			err = os.Link(tmp, name)
		}
		if os.IsExist(err) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("%w: writing %s of %s: %w", grid.ErrUnavailable, kind, at, err)
	}
	return nil
}
