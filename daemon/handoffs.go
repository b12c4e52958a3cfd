package daemon

import (
	"context"
	"fmt"

	"gbroker/api"
	"gbroker/grid"
)

// Handoffs lists the jobs that are on their way to or from a neighbour, and those that are
// there, or here for it: without it they are out of reach.
func (s administration) Handoffs(_ context.Context, name grid.SiteName) ([]api.Handoff, error) {
	for _, m := range s.site.memberList() {
		if m.Name == name {
			return handoffs(s.site.self, m.Peer, s.site.broker.Live), nil
		}
	}
	return nil, fmt.Errorf("%w: no neighbour is called %q", grid.ErrNotFound, name)
}

// maxHandoffs bounds that list.
const maxHandoffs = 10_000

// jobs lists up to limit records that pass, of jobs to which something may happen yet.
type jobs func(limit int, pass func(*grid.Record) bool) []grid.Record

func handoffs(self, peer grid.PeerID, list jobs) []api.Handoff {
	found := []api.Handoff{}
	tie := func(r *grid.Record) (h api.Handoff, tied bool) {
		h = api.Handoff{Job: r.Job.ID, State: r.State.String()}
		switch {
		case r.Role == grid.Prepared && r.Owner == peer:
			h.Incoming = true
		case r.Handoff.Phase != grid.NoHandoff && r.Handoff.To == peer:
			h.Committed = r.Handoff.Phase == grid.Committed
		case r.Job.Home == self && r.Owner == peer && !r.State.Terminal():
			h.There = true
		case r.Job.Home == peer && r.Role == grid.Owning:
			h.Here = true
		default:
			return h, false
		}
		return h, true
	}
	for _, r := range list(maxHandoffs, func(r *grid.Record) bool { _, tied := tie(r); return tied }) {
		h, _ := tie(&r)
		found = append(found, h)
	}
	return found
}
