package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// clockAt is an instant at which the clock shows a stamp.
func clockAt(stamp uint32) grid.Tick { return firstStamp + grid.Tick(stamp)*grid.Second }

func stampedCore(at uint32, w grid.Witness, records ...grid.Record) *Core {
	cfg := signer(me, "a")
	cfg.Witness = w
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, records)
	c.Step(clockAt(at), Boot{})
	return c
}

// The stamps of new epochs: the clock's, above the job's last, and above all that was used or heard
// of, within a day of the clock.
func TestStamps(t *testing.T) {
	t.Parallel()
	const now = 1_000_000
	for name, k := range map[string]struct {
		witness, heard, last, want uint32
	}{
		"the clock":                                {want: now},
		"above the last of the job":                {last: now + 5, want: now + 6},
		"the clock was set back":                   {witness: now + 500, want: now + 501},
		"a member has seen more":                   {heard: now + 700, want: now + 701},
		"a member's clock is days ahead":           {heard: now + 3*maxAhead, want: now},
		"the clock was years ahead, and is mended": {witness: now + 9*maxAhead, want: now},
	} {
		c := stampedCore(now, grid.Witness{Stamp: k.witness})
		c.Step(clockAt(now), PeerChanged{her, grid.Alive})
		c.Step(clockAt(now), Message{her, wire.Seen{Stamp: k.heard}})
		if got := c.nextStamp(k.last); got != k.want {
			t.Errorf("%s: %d, want %d", name, got, k.want)
		}
		if got := c.Stamp(); got < min(k.want, now+maxAhead) {
			t.Errorf("%s: beside the journal %d is written, %d was used", name, got, k.want)
		}
	}
}

// Two branches of a journal use no epoch twice, though the clock stood still between them.
func TestBranchesDoNotMeet(t *testing.T) {
	t.Parallel()
	const now = 1_000_000
	j := jobOf(me, "a", "1")
	r := grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}
	used := map[grid.Epoch]bool{}
	w := grid.Witness{}
	for range 3 {
		c := stampedCore(now, w, r)
		for range 4 {
			c.ownership.makeOffer(c.jobs[j.ID], her, 0, 0)
			e := c.jobs[j.ID].rec.Handoff.Epoch
			if used[e] {
				t.Fatalf("%s is used again", e)
			}
			used[e] = true
		}
		c.home.runAgain(c.jobs[j.ID], "said so")
		e := c.jobs[j.ID].rec.Epoch
		if used[e] {
			t.Fatalf("%s is used again", e)
		}
		used[e] = true
		w.Stamp = c.Stamp()
	}
}

// The stamps that a member sends are told on, and no two that talk drive each other up.
func TestStampsDoNotRunAway(t *testing.T) {
	t.Parallel()
	const now = 1_000_000
	c := stampedCore(now, grid.Witness{})
	c.Step(clockAt(now), PeerChanged{her, grid.Alive})
	for range 100 {
		c.Step(clockAt(now), Message{her, wire.Seen{Stamp: c.stamped()}})
	}
	if got := c.stamped(); got > now+1 {
		t.Errorf("they have come to %d", got)
	}
	for _, m := range sentTo(c.Step(clockAt(now), Message{her, wire.Seen{WantsReply: true}}), her) {
		if s, is := m.(wire.Seen); is && s.Stamp != c.stamped() {
			t.Errorf("told %d of %d", s.Stamp, c.stamped())
		}
	}
}

// An offer at a stamp that no clock shows is not taken: its job could not be handed on.
func TestAnOfferBeyondAllClocks(t *testing.T) {
	t.Parallel()
	for hop, refused := range map[uint32]bool{maxStamp - 1: false, maxStamp: true, 1<<32 - 1: true} {
		c := branch()
		j := jobOf(her, "b", "1")
		o := wire.Offer{Handoff: wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: hop}, To: me, Digest: wire.JobDigest(j)}, Job: j}
		m := sentTo(c.Step(1_000_001, Message{her, o}), her)
		if (len(m) == 1 && m[0].Kind() == wire.KindError) != refused {
			t.Errorf("hop %d: answered %+v", hop, m)
		}
	}
}
