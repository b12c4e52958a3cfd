package overlay

import (
	"errors"
	"testing"
	"time"

	"gbroker/grid"
)

// Who is asked to keep a record and has a newer one does not take it, and who publishes is told.
func TestRecordThatNobodyTakes(t *testing.T) {
	t.Parallel()
	all := several(t, 2)
	a, b := all[0], all[1]
	for _, b := range all {
		b.start()
	}
	if err := b.over.PublishOwner(t.Context(), someJob, grid.Epoch{Term: 2}); !errors.Is(err, grid.ErrUnavailable) {
		t.Fatalf("with nobody to keep it a record is published: %v", err)
	}
	join(t, all, chain(2))
	eventually(t, "a has whom to ask", func() bool { return a.over.current.Load().dht.RoutingTable().Size() == 1 })
	if err := a.over.PublishOwner(t.Context(), someJob, grid.Epoch{Term: 1}); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("a record that nobody has taken is published: %v", err)
	}
	if err := a.over.PublishOwner(t.Context(), someJob, grid.Epoch{Term: 3}); err != nil {
		t.Error(err)
	}
}

// A site whose clock was set back finds its record of before with the others, and goes on from there.
func TestSiteRecordAfterClockWasSetBack(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	eventually(t, "a has whom to ask", func() bool { return a.over.current.Load().dht.RoutingTable().Size() == 1 })
	before := &SiteRecord{Site: a.name, Peer: a.peer(), Sequence: time.Now().Add(time.Hour).UnixMilli()}
	for _, subject := range []string{string(a.name), string(a.peer())} {
		if err := giveRecord(t, a, b, siteKey(subject), seal(t, before, a.key)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.over.PublishSite(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := b.over.FindSite(t.Context(), a.name); err != nil || r.Sequence <= before.Sequence || len(r.Addresses) == 0 {
		t.Errorf("b finds %+v, %v", r, err)
	}
}
