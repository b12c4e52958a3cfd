package broker

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// The Offer of a job that has ended comes once more, after its tombstone went: the
// candidate prepares it anew and asks its home, which must not say that it owns it.
func TestAnEndedJobIsNotCommittedAgain(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1, Hop: 1}
	bond := wire.Bond{Job: j.ID, Epoch: epoch, To: her, Digest: wire.JobDigest(j)}
	for _, m := range []wire.Message{wire.Inquire{Bond: bond}, wire.Ready{Bond: bond}} {
		c := bare(grid.Record{Job: j, Standing: grid.Watching, State: grid.Killed, End: grid.Killed, Owner: her, Epoch: epoch, Ended: 10, CancelRequested: true})
		aborted := false
		for _, e := range c.Step(1_000_001, Message{her, m}) {
			s, ok := e.(Send)
			if !ok {
				continue
			}
			switch m := s.Message.(type) {
			case wire.Commit:
				t.Errorf("a job that was KILLED is committed: %+v", m)
			case wire.Standing:
				aborted = m.Verdict == wire.VerdictAborted
			case wire.Abort:
				aborted = true
			}
		}
		if !aborted {
			t.Errorf("%T is not answered by an end of the offer", m)
		}
	}
}
