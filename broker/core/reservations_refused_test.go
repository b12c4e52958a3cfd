package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// What a site refuses to reserve, and whether it is worth asking again.
func TestReservationsThatAreRefused(t *testing.T) {
	t.Parallel()
	nodes := func(change func(*wire.Reserve)) func(*desk) wire.Reserve {
		return func(d *desk) wire.Reserve {
			m := d.reserveFor("r1", 2_000_000, 60_000)
			m.Demand = grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}
			change(&m)
			return m
		}
	}
	named := func(d *desk) wire.Reserve { return d.reserveFor("r1", 2_000_000, 60_000, "n1") }
	for name, k := range map[string]struct {
		ask    func(*desk) wire.Reserve
		before func(*desk)
		look   Looked // where it is asked for
		kind   grid.RefusalKind
	}{
		"its nodes are named":         {named, nil, Looked{}, 0},
		"its nodes are found":         {nodes(func(*wire.Reserve) {}), nil, shot(0), 0},
		"the site drains":             {named, func(d *desk) { d.step(DrainRequest{On: true}) }, Looked{}, grid.Temporary},
		"of a holder of another":      {func(d *desk) wire.Reserve { m := named(d); m.Holder.Home = him; return m }, nil, Looked{}, grid.Permanent},
		"there is no listing":         {nodes(func(*wire.Reserve) {}), nil, Looked{Err: errors.New("it does not answer")}, grid.Temporary},
		"no node has so many cores":   {nodes(func(m *wire.Reserve) { m.Demand.Chunks[0].Cores = 5 }), nil, shot(0), grid.Permanent},
		"its nodes are never so long": {nodes(func(m *wire.Reserve) { m.Length = 2 * grid.Minute }), nil, shot(0), grid.Temporary},
	} {
		d := newDesk(t, 1)
		if k.before != nil {
			k.before(d)
		}
		m := k.ask(d)
		said := d.says(m)
		if d.says(m); k.look.Err != nil || len(k.look.Snapshot.Nodes) > 0 {
			if len(said) > 0 {
				t.Errorf("%s: answered before the look: %+v", name, said)
			}
			k.look.Snapshot.At, d.sent = d.now, nil
			d.step(k.look)
			d.work()
			said = d.sent
		}
		answers := 0
		for _, w := range said {
			if r, is := w.(wire.Reserved); is {
				answers++
				if got := r.Refusal; (got != nil) != (k.kind != 0) || got != nil && got.Kind != k.kind {
					t.Errorf("%s: refused: %+v", name, got)
				}
			}
		}
		if _, kept := d.disk["r1"]; answers != 1 || kept != (k.kind == 0) {
			t.Errorf("%s: %d answers, on disk: %v", name, answers, kept)
		}
	}
}

// A site that drains tells of what it has reserved before as it is, and reserves no way from itself to itself.
func TestReservationsOfADrainedSite(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	m := d.reserveFor("r1", 2_000_000, 60_000, "n1")
	d.says(m)
	d.step(DrainRequest{On: true})
	if said := d.says(m); len(said) != 1 || said[0].(wire.Reserved).Refusal != nil || said[0].(wire.Reserved).Reservation.State != grid.Tentative {
		t.Errorf("told %+v", said)
	}
	own := m
	own.ID, own.Holder.Home, own.What, own.Nodes = "r2", me, grid.DeliveryReserved, nil
	d.core.reservations.reserve(me, own)
	if _, kept := d.core.reservations.book.Get("r2"); kept {
		t.Error("a delivery from this site to itself is reserved")
	}
}

// A change of what is gone meanwhile, or that no look tells of, is refused for now.
func TestAChangeThatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		gone bool
		look Looked
		kept int // nodes after it
	}{
		"there is no listing": {false, Looked{Err: errors.New("it does not answer")}, 1},
		"it is gone":          {true, shot(0), 0},
		"it grows":            {false, Looked{Snapshot: plan.Snapshot{Policy: plan.Policy{Kind: plan.EASY}, Site: grid.Site{Name: "a", Speed: 1}, Nodes: []plan.Node{{Name: "n1", Cores: 4}, {Name: "n2", Cores: 4}}}}, 2},
	} {
		d := newDesk(t, 1)
		d.says(d.reserveFor("r1", 2_000_000, 60_000, "n1"))
		r := d.disk["r1"]
		d.step(Message{her, wire.Change{ID: "r1", Number: r.Number + 1, Start: r.Start, End: r.End, Count: 2}})
		if k.gone {
			d.step(Message{her, wire.Release{ID: "r1"}})
			d.work()
		}
		k.look.Snapshot.At, d.sent = d.now, nil
		d.step(k.look)
		d.work()
		if got := d.disk["r1"]; got.State.Over() != k.gone && k.kept > 0 || !k.gone && len(got.Nodes) != k.kept {
			t.Errorf("%s: %+v, told %+v", name, got, d.sent)
		}
	}
}

// Whose reservation is over by the time the batch system answers hears that it is not his, and why; with another wish he may ask again.
func TestAReservationThatIsOverBeforeItIsMade(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		released bool
		err, why string
	}{
		"it is made":                 {},
		"it was given up":            {released: true, why: "not needed"},
		"it was given up, and fails": {released: true, err: "no", why: "not needed"},
		"it is refused":              {err: "no", why: "the batch system refuses it: no"},
	} {
		d := newDesk(t, 1)
		d.step(Message{her, d.reserveFor("r1", 2_000_000, 60_000, "n1")})
		d.queue = nil
		if k.released {
			d.step(Message{her, wire.Release{ID: "r1", Why: "not needed"}})
		}
		d.sent = nil
		r := d.disk["r1"]
		d.step(Reserved{ID: "r1", Place: r.Place(), Err: errOf(k.err), Kind: grid.Permanent})
		var got []*grid.Refusal
		for _, m := range d.sent {
			if a, is := m.(wire.Reserved); is && a.Of == wire.KindReserve {
				got = append(got, a.Refusal)
			}
		}
		if len(got) != 1 || (got[0] != nil) != (k.why != "") || got[0] != nil && (got[0].Kind != grid.Temporary || got[0].Reason != k.why) {
			t.Errorf("%s: answered %+v", name, got)
		}
	}
}
