package e2e

import (
	"context"
	"errors"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/wire"
)

// A member looks up, in the directory that the brokers keep among themselves, where a
// site is and who owns a job. It knows the home alone. A
// false word about an owner changes nothing: records are hints.
func TestDirectory(t *testing.T) {
	t.Parallel()
	dir, home, away := homeAndAway(t)
	l := newLiar(t, dir, "asker", func(l *liar, from grid.PeerID, m wire.Message) {
		if a, ok := m.(wire.EstimateRequest); ok {
			l.tempt(from, a, -1)
		}
	}, home) // it knows nobody else
	must(t, home.Sees(t.Context(), patience, "asker"))

	r, err := away.Ready()
	must(t, err)
	eventually(t, "the record of site away", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		found, err := l.overlay.FindSite(ctx, "away")
		return err == nil && string(found.Peer) == r.Peer && len(found.Addresses) > 0 && found.Addresses[0] == r.Addresses[0]
	})
	if _, err := l.overlay.FindSite(t.Context(), "nowhere"); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("a site that is not there: %v", err)
	}

	id := work{script: "true", cpus: 2}.submit(t, home, dir, "moves")
	completed(t, home, id, "away")
	eventually(t, "the record of the job's owner", func() bool {
		o, err := l.overlay.FindOwner(t.Context(), grid.JobID(id))
		return err == nil && string(o.Owner) == r.Peer && o.Epoch().String() == status(t, home, id).Epoch
	})

	next := work{script: "sleep 1; exit 0", cpus: 2}.submit(t, home, dir, "disputed")
	reaches(t, home, next, "RUNNING")
	must(t, l.overlay.PublishOwner(t.Context(), grid.JobID(next), grid.Epoch{Term: 9}))
	eventually(t, "the false record", func() bool {
		o, err := l.overlay.FindOwner(t.Context(), grid.JobID(next))
		return err == nil && o.Owner == l.overlay.Peer()
	})
	completed(t, home, next, "away")
}
