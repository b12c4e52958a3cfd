package core

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// What cannot be done is answered with its kind, so that a program knows whether to ask again, and nothing changes.
func TestWhatCannotBeDoneIsAnswered(t *testing.T) {
	t.Parallel()
	own := grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}
	part := jobOf(me, "a", "6")
	part.Part = &grid.Part{Of: "a.7"}
	ended, runs, wished, hers := jobOf(me, "a", "1"), jobOf(me, "a", "2"), jobOf(me, "a", "3"), jobOf(her, "b", "4")
	gone := watched(wished, grid.Epoch{Term: 1, Hop: 1})
	gone.CancelRequested = true
	c := signed(
		grid.Record{Job: ended, State: grid.Completed, Ended: 900_000, Tenure: own, Run: grid.Run{End: grid.Completed, Started: 5}},
		grid.Record{Job: runs, State: grid.Running, Tenure: own, Run: grid.Run{Attempt: 1, Started: 5}}, gone,
		watched(part, grid.Epoch{Term: 1, Hop: 1}),
		grid.Record{Job: hers, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}, Run: grid.Run{Attempt: 1, Started: 5}})
	group, keyed := groupOf(1, "G", true), jobOf(me, "a", "5")
	c.Step(c.now+1, group)
	c.Step(c.now+1, Submit{Token: 1, Job: keyed, Key: "J"})
	c.Step(c.now+1, PeerChanged{it, grid.Dead})
	taken, keyTaken := groupOf(1, "G", true), groupOf(1, "H", false)
	taken.Token, taken.Group.Key = 7, ""
	keyTaken.Token, keyTaken.Group.Key = 7, "J"
	alter := func(of grid.Job, to grid.Alteration) Alter { return Alter{Token: 7, Job: of.ID, To: to, By: "alice"} }
	later, past := c.now+grid.Hour, c.now-1
	nobody := jobOf(me, "a", "9")
	for name, k := range map[string]struct {
		e    Event
		kind error
		says string
	}{
		"altered, not here":           {alter(nobody, grid.Alteration{Held: &yes}), grid.ErrNotFound, ""},
		"altered, nothing":            {alter(runs, grid.Alteration{}), grid.ErrInvalid, "nothing is to be altered"},
		"altered, of another home":    {alter(hers, grid.Alteration{Deadline: &later}), grid.ErrInvalid, "only its home, b"},
		"altered, ended":              {alter(ended, grid.Alteration{Deadline: &later}), grid.ErrInvalid, "has ended"},
		"altered, cancelled":          {alter(wished, grid.Alteration{Deadline: &later}), grid.ErrInvalid, "is being cancelled"},
		"altered, a part":             {alter(part, grid.Alteration{Deadline: &later}), grid.ErrInvalid, "alter that"},
		"held while it runs":          {alter(runs, grid.Alteration{Held: &yes}), grid.ErrInvalid, "only a job that waits"},
		"put off while it runs":       {alter(runs, grid.Alteration{NotBefore: &later, Deadline: &later}), grid.ErrInvalid, "only its deadline"},
		"a deadline that has passed":  {alter(runs, grid.Alteration{Deadline: &past}), grid.ErrInvalid, "has passed"},
		"removed, not here":           {RemoveRequest{Token: 7, Job: nobody.ID}, grid.ErrNotFound, ""},
		"removed, it runs":            {RemoveRequest{Token: 7, Job: runs.ID}, grid.ErrNotYet, "cancel it first"},
		"cancelled, not here":         {CancelRequest{Token: 7, Job: nobody.ID}, grid.ErrNotFound, ""},
		"uploaded, not here":          {Uploaded{Token: 7, Job: nobody.ID}, grid.ErrNotFound, ""},
		"an identifier twice":         {Submit{Token: 7, Job: runs, Key: "new"}, grid.ErrInvalid, "is taken"},
		"the key of a group":          {Submit{Token: 7, Job: nobody, Key: "G"}, grid.ErrInvalid, "that of the group"},
		"a group, the key of a job":   {keyTaken, grid.ErrInvalid, "that of job"},
		"a group's identifier twice":  {taken, grid.ErrInvalid, "is taken"},
		"a group cancelled, not here": {CancelGroup{Token: 7, Group: "a.x.all"}, grid.ErrNotFound, ""},
		"a group removed, not here":   {RemoveGroup{Token: 7, Group: "a.x.all"}, grid.ErrNotFound, ""},
		"passed on to nobody":         {Forward{Token: 7, To: "peer-x", Wish: Wish{Job: hers.ID}}, grid.ErrUnavailable, "job " + string(hers.ID)},
		"a group passed on to nobody": {Forward{Token: 7, To: "peer-x", Wish: Wish{Group: "b.x.all"}}, grid.ErrUnavailable, "the group b.x.all"},
		"reserved at nobody":          {ReserveRequest{Token: 7, To: "peer-x"}, grid.ErrNotFound, "no member"},
		"reserved at a dead site":     {ReserveRequest{Token: 7, To: it}, grid.ErrUnavailable, "not alive"},
	} {
		effects := c.Step(c.now+1, k.e)
		a, answered := only[Answer](effects)
		if !answered || a.Token != 7 || !errors.Is(a.Err, k.kind) || !strings.Contains(a.Err.Error(), k.says) {
			t.Errorf("%s: answered %d, %v; want %v with %q", name, a.Token, a.Err, k.kind, k.says)
		}
		if len(changesIn(effects)) > 0 {
			t.Errorf("%s: it changes %v", name, changesIn(effects))
		}
	}
}

// An answer of a site that is out of all bounds counts for nothing.
func TestEstimatesOutOfBounds(t *testing.T) {
	t.Parallel()
	reply := func(change func(*wire.EstimateReply, *grid.Estimate)) wire.EstimateReply {
		m := wire.EstimateReply{Site: grid.Site{Speed: 1}, Answers: []wire.Answer{{Job: "a.1"}}}
		change(&m, &m.Answers[0].Estimate)
		return m
	}
	for name, k := range map[string]struct {
		change func(*wire.EstimateReply, *grid.Estimate)
		good   bool
	}{
		"now":                   {func(*wire.EstimateReply, *grid.Estimate) {}, true},
		"at the horizon":        {func(_ *wire.EstimateReply, e *grid.Estimate) { e.Wait = horizon }, true},
		"beyond it":             {func(_ *wire.EstimateReply, e *grid.Estimate) { e.Wait = horizon + 1 }, false},
		"in the past":           {func(_ *wire.EstimateReply, e *grid.Estimate) { e.Wait = -1 }, false},
		"safely in the past":    {func(_ *wire.EstimateReply, e *grid.Estimate) { e.Safe = -1 }, false},
		"refused, and no wait":  {func(_ *wire.EstimateReply, e *grid.Estimate) { e.Refusal, e.Wait = forNow("no"), -1 }, true},
		"of no speed":           {func(m *wire.EstimateReply, _ *grid.Estimate) { m.Site.Speed = 0 }, false},
		"of a speed that is no": {func(m *wire.EstimateReply, _ *grid.Estimate) { m.Site.Speed = math.NaN() }, false},
		"of an endless speed":   {func(m *wire.EstimateReply, _ *grid.Estimate) { m.Site.Speed = math.Inf(1) }, false},
		"about another job":     {func(m *wire.EstimateReply, _ *grid.Estimate) { m.Answers[0].Job = "a.2" }, false},
		"about nothing":         {func(m *wire.EstimateReply, _ *grid.Estimate) { m.Answers = nil }, false},
		"about more":            {func(m *wire.EstimateReply, _ *grid.Estimate) { m.Answers = append(m.Answers, m.Answers[0]) }, false},
	} {
		err := checkEstimateReply(&round{jobs: []grid.JobID{"a.1"}}, reply(k.change))
		if (err == nil) != k.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The usage of a co-allocated job is that of all its parts, in the time from the first to the last.
func TestUsageOfAWhole(t *testing.T) {
	t.Parallel()
	of := &ending{}
	for i, nodes := range []string{"n1", "", "n2,n3"} {
		of.add(&grid.Record{State: grid.Completed, Run: grid.Run{Finished: grid.Tick(10 - i), Usage: grid.Usage{Memory: 5, Nodes: nodes}}}, true)
	}
	if of.usage.Nodes != "n1,n2,n3" || of.usage.Memory != 15 || of.finished != 10 {
		t.Errorf("it ended at %d, and used %+v", of.finished, of.usage)
	}
}

// Co-allocation has a value for all that its operator does not set, and takes what he sets.
func TestDefaultsOfCoallocation(t *testing.T) {
	t.Parallel()
	if got, want := (Coallocating{}).withDefaults(), (Coallocating{
		Horizon: 604_800_000, Window: 21_600_000, Gain: 60_000, Lead: 20_000, Limit: 60_000, Lease: 600_000, Grace: 300_000, Within: 120_000,
		Again: 5_000, Rest: 600_000, Cycle: 2_000, Bound: 10_000,
	}); got != want {
		t.Errorf("the defaults are %+v", got)
	}
	said := Coallocating{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	if said.withDefaults() != said {
		t.Errorf("of %+v was made %+v", said, said.withDefaults())
	}
}
