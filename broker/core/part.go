package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

// The site's side of a part. It waits at the barrier in its reservation; that it has arrived goes home
// with its reports, and what the home says of the others is written where the part looks for it. Both are
// repeated by who says them, and change nothing when they come twice.

// arrived notes that a part has come to its barrier, with what it brings.
func (c *execution) arrived(j *job, p grid.Progress) {
	if j.rec.Job.Part == nil || !p.Arrived || j.rec.Arrived > 0 {
		return
	}
	j.rec.Arrived, j.rec.Hosts, j.rec.Address, j.rec.Rendezvous = c.now, p.Hosts, p.Address, p.Rendezvous
	c.save(j, "arrived at the barrier")
	if j.rec.Job.Reservation != "" {
		c.reservations.arrived(j)
	}
	if c.gates.beforePassing(false) == open {
		c.emit(Gather{ID: c.attempt(j), Sites: []grid.Gathered{{Site: c.cfg.Site.Name, Hosts: p.Hosts, Address: p.Address, Rendezvous: p.Rendezvous}}})
	}
}

// onGather is the word of a part's home that all have arrived, or that all have begun.
func (c *execution) onGather(from grid.PeerID, m wire.Gather) {
	j := c.job(m.Job)
	if j == nil || j.rec.Job.Part == nil || j.rec.Job.Home != from || j.rec.Role != grid.Owning || j.rec.Epoch != m.Epoch || j.rec.CancelRequested {
		return
	}
	if waits := j.rec.State == grid.Assigned && j.rec.Arrived > 0; waits || m.Begun && j.rec.State == grid.Running {
		c.emit(Gather{ID: c.attempt(j), Begun: m.Begun, Sites: m.Sites})
		c.emit(Probe{c.attempt(j)})
	}
}
