package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// The rules of journals that histories of faults seldom need, each in force and switched off.
func TestRulesOfJournals(t *testing.T) {
	t.Parallel()
	start := func(broken Rules, w grid.Witness) *Core {
		cfg := signer(me, "a")
		cfg.Broken, cfg.Witness = broken, w
		cfg.Journal, cfg.Lives = in(4, 30), []grid.Life{{Number: 1, First: 0}, {Number: 4, First: 10}}
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, nil)
		c.Step(firstStamp+1000*grid.Second, Boot{})
		return c
	}
	later := grid.Witness{Position: in(4, 31)}
	at := grid.Epoch{Term: 1, Hop: 2}
	there := &job{rec: watched(jobOf(me, "a", "1"), at), ofTenure: ofTenure{asked: 1}}
	declined := wire.Declined{Handoff: wire.HandoffID{Job: there.rec.Job.ID, Epoch: at, To: her}}
	for name, k := range map[string]struct {
		rule  Rules
		holds func(Rules) bool
	}{
		"what the file beside the journal has seen counts": {WitnessUnread, func(off Rules) bool {
			return start(off, later).gates.beforeSweep() == untilAll
		}},
		"a job that another had is taken back when all were asked": {ReturnedUnasked, func(off Rules) bool {
			return start(off, later).gates.beforeTakingBack(there, declined) == untilAll
		}},
		"a job that another should have goes on when all were asked": {ReturnedUnasked, func(off Rules) bool {
			return start(off, later).gates.beforeResuming(there, her, declined.Handoff) == untilAll
		}},
		"an offer is not considered before the control directories are read": {LateOffersCount, func(off Rules) bool {
			return start(off, grid.Witness{}).gates.beforePreparing(declined.Handoff) == untilDirectory
		}},
		"a shorter branch is another": {LivesIgnored, func(off Rules) bool { return !start(off, grid.Witness{}).reaches(in(3, 12)) }},
		"the next stamp is of the clock": {StampsCounted, func(off Rules) bool {
			return start(off, grid.Witness{}).nextStamp(5) >= 1000
		}},
	} {
		if !k.holds(0) {
			t.Errorf("%s: not so", name)
		}
		if k.holds(k.rule) {
			t.Errorf("%s: so it is also where that rule is switched off", name)
		}
	}
}
