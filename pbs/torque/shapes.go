package torque

import "gbroker/plan"

// shapes are what the server takes: a job of no more nodes, which are pieces of it, than there are, or than it is told
// that there are.
func (s server) shapes(nodes int) plan.Shapes {
	return plan.Shapes{
		Pieces:  int(min(max(int64(nodes), s.pieces), 1<<30)),
		Mingles: true, Nameless: true,
		Why: "resources_available.nodect of the server is not above the number of nodes",
	}
}

// shapes are what Maui starts of what the server takes.
func (c mauiConfig) shapes(s plan.Shapes) plan.Shapes {
	if c.node == "EXACTNODE" {
		s.Apart, s.Mingles, s.Why = true, false, "JOBNODEMATCHPOLICY is EXACTNODE in maui.cfg"
	}
	if !c.multi {
		s.Alike = true
		s.Why = "ENABLEMULTIREQJOBS is not TRUE in maui.cfg; " + s.Why
	}
	return s
}
