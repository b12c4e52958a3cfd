package reserve

import "gbroker/grid"

// Rules are what the operator has said of reservations at the site.
type Rules struct {
	Offered     bool      // reservations are made
	Limit       grid.Tick // the longest that one may be tentative; 0 is defaultLimit
	Member      Quota     // for all that one member's users hold together
	User        Quota     // for each user
	Deliveries  Quota     // for what one member's users hold of the uplink, beside the nodes; not what the site has reserved for itself
	Maintenance []Window
	Uplink      int64 // bytes per second that deliveries may have together; 0 is none
	Keep        grid.Tick
	Without     Broken
}

// defaultLimit is the longest that a reservation may be tentative, defaultKeep how long one that is over
// is remembered: a late word of its holder does not make it anew.
const (
	defaultLimit = 10 * grid.Minute
	defaultKeep  = grid.Hour
)

func (r Rules) limit() grid.Tick {
	if r.Limit > 0 {
		return r.Limit
	}
	return defaultLimit
}

// keep is how long one that is over is remembered. Of a delivery that the site has reserved for itself no word can come late.
func (r Rules) keep(is *grid.Reservation) grid.Tick {
	if is.Kind == grid.DeliveryReserved && is.Holder.Home == is.Site {
		return 0
	}
	if r.Keep > 0 {
		return r.Keep
	}
	return defaultKeep
}

// Quota bounds what somebody may hold at one time; 0 is no bound.
type Quota struct {
	Number      int       // of reservations
	NodeSeconds int64     // of all of them together
	Horizon     grid.Tick // how far ahead one may end
}

// Window is a time in which the operator needs nodes.
type Window struct {
	Name       string
	Nodes      []grid.NodeName // none is all
	Start, End grid.Tick
}

func (w Window) wants(r *grid.Reservation, p grid.Place) bool {
	return p.Start < w.End && w.Start < p.End && (len(w.Nodes) == 0 || r.Kind == grid.NodesReserved && share(w.Nodes, p.Nodes))
}

// Broken are rules that are switched off to prove a checker; never in a daemon.
type Broken struct {
	TentativeNeverExpires bool
	OverlapAllowed        bool
	LeaseNotChecked       bool
}
