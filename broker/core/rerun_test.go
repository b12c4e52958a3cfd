package core

import (
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// newRuns are what has become of a rerunnable job that has started again: c, which had it, was forgotten, fenced off, and may have given a rerunnable job to b before.
var newRuns = map[string]struct {
	state   grid.State
	attempt uint32
	owner   grid.PeerID
}{
	"it waits for a place":       {grid.Ready, 0, me},
	"it waits here":              {grid.Assigned, 1, me},
	"it is to wait here again":   {grid.Ready, 1, me},
	"it runs here":               {grid.Running, 1, me},
	"it waits at another's":      {grid.Assigned, 1, it},
	"it runs at another's":       {grid.Running, 1, it},
	"it runs where it may be so": {grid.Running, 1, her},
}

// rerun is a home that has forgotten c, and what became of the job's new run; asNew starts that home anew then.
func rerun(name string, asNew bool) (*Core, grid.JobID) {
	r, run := given(), newRuns[name]
	r.Job.Rerunnable = true
	c := signed(r)
	c.Step(1_000_001, Forget{Site: him, Fenced: true, By: "root"})
	j := c.jobs[r.Job.ID]
	c.rest(j)
	j.rec.State, j.rec.Attempt = run.state, run.attempt
	if run.state == grid.Running {
		j.rec.Started = 1_000_000
	}
	if run.owner != me {
		j.rec.Role, j.rec.Owner = grid.Watching, run.owner
		j.rec.Epoch.Hop = j.rec.Epoch.Term + 1
		j.rec.Trail = append(j.rec.Trail, run.owner)
	}
	if asNew {
		c = signed(*copyOf(&j.rec))
	}
	return c, r.Job.ID
}

// obeyed steps c by an event, and for a while, beside a batch system and an owner that obey, and members of whom those answer who are said.
func obeyed(c *Core, id grid.JobID, event Event, who ...grid.PeerID) {
	answer := func(e Effect) (events []Event) {
		r := &c.jobs[id].rec
		switch e := e.(type) {
		case Withdraw:
			events = append(events, Withdrawn{ID: e.ID, Done: true})
		case Kill:
			events = append(events, Progressed{Progress: grid.Progress{ID: e.ID, Phase: grid.Ended, Started: 5, Finished: 9, Cause: grid.ByRequest}})
		case Collect:
			events = append(events, Collected{Job: id, Epoch: e.Epoch})
		case Send:
			if m, is := e.Message.(wire.Recall); is && slices.Contains(who, e.To) && e.To != r.Owner {
				events = append(events, Message{e.To, wire.Error{Of: wire.KindRecall, Job: id, At: m.At}})
			}
			if r.CancelRequested && e.To == r.Owner && !r.State.Terminal() {
				events = append(events, Message{e.To, wire.Report{Job: id, Epoch: r.Epoch, Number: 9, Attempt: r.Attempt, State: grid.StageOut, End: grid.Killed}})
			}
		}
		return events
	}
	for until, now := c.now+2*silence*c.cfg.Digest, c.now+1; c.now < until; event = (Tick{}) {
		for effects := c.Step(now, event); len(effects) > 0; {
			var more []Effect
			for _, e := range effects {
				for _, said := range answer(e) {
					more = append(more, c.Step(now, said)...)
				}
			}
			effects = more
		}
		now, _ = c.Next()
	}
}

// The user of a job that has started again is told KILLED when all were heard: a successor would run it after that.
func TestACancelOfWhatRunsAgainHearsItsSuccessors(t *testing.T) {
	t.Parallel()
	for name, run := range newRuns {
		for _, asNew := range []bool{false, true} {
			c, id := rerun(name, asNew)
			j := c.jobs[id]
			if hold := c.gates.beforeStart(j); run.owner == me && hold == untilReported {
				t.Errorf("%s, anew %t: it does not start again at once", name, asNew)
			}
			successor, others := "b", []grid.PeerID{him, it}
			if run.owner == her {
				successor, others = "d", []grid.PeerID{him}
			}
			obeyed(c, id, CancelRequest{Token: 2, Job: id, By: j.rec.Job.User.Name}, others...)
			if j.rec.State.Terminal() || !strings.Contains(j.rec.Why(), "gbroker forget "+successor) {
				t.Errorf("%s, anew %t: told %s, and %s was not heard: %s", name, asNew, j.rec.State, successor, j.rec.Why())
			}
			obeyed(c, id, Tick{}, her, him, it)
			if j.rec.State != grid.Killed {
				t.Errorf("%s, anew %t: it is %s: %s", name, asNew, j.rec.State, j.rec.Why())
			}
		}
	}
}

// A run of it at a successor is killed, and its end is his word. What is told of the new run is true then.
func TestASuccessorOfWhatRunsAgain(t *testing.T) {
	t.Parallel()
	for name, run := range newRuns {
		if run.owner == her {
			continue
		}
		c, id := rerun(name, false)
		j := c.jobs[id]
		obeyed(c, id, CancelRequest{Token: 2, Job: id, By: j.rec.Job.User.Name}, it)
		m := wire.Report{
			Job: id, Epoch: grid.Epoch{Term: 1, Hop: 9}, Number: 1, Attempt: 1, State: grid.Running, Started: wire.Ago{Span: 5, Known: true}, Version: j.sum(),
			Certificates: []grid.Certificate{certificate(j.rec.Job, me, 5, him), certificate(j.rec.Job, him, 9, her)},
		}
		over := func() bool {
			return slices.ContainsFunc(sentTo(c.Step(c.now+1, Message{her, m}), her), func(m wire.Message) bool { _, is := m.(wire.Superseded); return is })
		}
		if !over() {
			t.Errorf("%s: she is not told that it is over", name)
		}
		obeyed(c, id, Tick{}, it)
		if j.rec.State.Terminal() {
			t.Errorf("%s: told %s, and it runs at b", name, j.rec.State)
		}
		m.Number, m.State, m.End = 2, grid.StageOut, grid.Killed
		if !over() {
			t.Errorf("%s: she is not told that it is over when it has ended", name)
		}
		obeyed(c, id, Tick{})
		if j.rec.State != grid.Killed {
			t.Errorf("%s: it is %s: %s", name, j.rec.State, j.rec.Why())
		}
	}
}

// A successor that will not come back. Without the word that nothing of it runs there a cancel tells LOST; the run goes on all the same.
func TestASuccessorOfWhatRunsAgainWhoIsGivenUp(t *testing.T) {
	t.Parallel()
	others := []grid.Member{{Name: "c", Peer: him, Send: true}, {Name: "d", Peer: it, Send: true}}
	for name, run := range newRuns {
		for word, k := range map[string]struct {
			event Event
			want  grid.State
		}{
			"forgotten":  {Forget{Site: her}, grid.Lost},
			"removed":    {MembersChanged{others}, grid.Lost},
			"fenced off": {Forget{Site: her, Fenced: true}, grid.Killed},
		} {
			if run.owner == her {
				continue
			}
			for _, first := range []bool{false, true} { // it is cancelled before
				c, id := rerun(name, false)
				j := c.jobs[id]
				cancel := CancelRequest{Token: 2, Job: id, By: j.rec.Job.User.Name}
				if first {
					obeyed(c, id, cancel)
				}
				if obeyed(c, id, k.event); !first && j.rec.State.Terminal() {
					t.Errorf("%s, %s: it is %s, and nobody has cancelled it", name, word, j.rec.State)
				}
				obeyed(c, id, cancel, it)
				if j.rec.State != k.want {
					t.Errorf("%s, %s, cancelled first %t: it is %s: %s", name, word, first, j.rec.State, j.rec.Why())
				}
			}
		}
	}
}
