package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A job that was here, and went back to its home, is offered here again, perhaps in a newer version, and not given. The home is put back to
// before it went back, and asks for it: it hears still to whom it went, with the digest that the certificates are over. So it does when
// this broker was started again since.
func TestWhoHadAJobTellsWhereItWentAfterAnOffer(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	altered := j
	altered.Walltime = 55000
	here, back := certificate(j, her, 1, me), certificate(j, me, 2, her)
	was := grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Tombstone, Owner: her, Epoch: back.Epoch, Certificates: []grid.Certificate{here, back}}}
	for name, ends := range map[string]func(c *Core, b wire.HandoffID) Event{
		"it is withdrawn": func(_ *Core, b wire.HandoffID) Event { return Message{her, wire.Abort{Handoff: b}} },
		"it is declined":  func(*Core, wire.HandoffID) Event { return Message{her, wire.Recount{}} },
	} {
		for version, offered := range map[string]grid.Job{"as it was": j, "a newer version": altered} {
			c := signed(was)
			now := c.now + 1
			o := offerOf(offered, 3, 0)
			c.Step(now, Message{her, o})
			c.Step(now, shot(now))
			if r := c.job(j.ID).rec; r.Role != grid.Prepared {
				t.Fatalf("%s, %s: it is %v", version, name, r.Role)
			}
			c.Step(now+1, ends(c, o.Handoff))
			for _, told := range []*Core{c, signed(c.job(j.ID).rec)} {
				list := sentTo(told.Step(now+2, Message{her, wire.Recall{Job: j.ID}}), her)
				moved := false
				for _, m := range list {
					m, is := m.(wire.Moved)
					moved = moved || is && m.Version == wire.JobDigest(j) && Owned(c.cfg.Verify, j.ID, her, her, m.Version, m.Certificates)
				}
				if !moved {
					t.Errorf("%s, %s, started again %t: as %v it tells %+v", version, name, told != c, told.job(j.ID).rec.Role, list)
				}
			}
		}
	}
}

// Where it is given in the newer version after all, what proved where the older one went proves nothing of this tenure.
func TestANewerVersionIsOwnedByItsOwnCertificates(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	altered := j
	altered.Walltime = 55000
	was := grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{
		Role: grid.Tombstone, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 2}, Certificates: []grid.Certificate{certificate(j, her, 1, me), certificate(j, me, 2, her)},
	}}
	later := grid.AttemptID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 5}, Attempt: 1}
	for name, k := range map[string]struct {
		given Event
		want  int
	}{
		"by its Commit":                {Message{her, wire.Commit{Handoff: offerOf(altered, 3, 0).Handoff, Certificate: certificate(altered, her, 3, me)}}, 1},
		"by a Commit without a proof":  {Message{her, wire.Commit{Handoff: offerOf(altered, 3, 0).Handoff}}, 0},
		"by its own control directory": {Reconciled{Jobs: []grid.JobID{j.ID}, Attempts: []grid.AttemptID{later}, All: true}, 0},
	} {
		c := signed(was)
		now := c.now + 1
		c.Step(now, Message{her, offerOf(altered, 3, 0)})
		c.Step(now, shot(now))
		c.job(j.ID).reconciled = false
		c.Step(now+1, k.given)
		if r := c.job(j.ID).rec; r.Role != grid.Owning || len(r.Certificates) != k.want || r.Certified != (grid.Hash{}) {
			t.Errorf("%s: %v, by %d certificates, over %x", name, r.Role, len(r.Certificates), r.Certified)
		}
	}
}
