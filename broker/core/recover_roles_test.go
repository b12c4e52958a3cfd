package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
)

// What a new life does first for a job, by what this broker is to it and how far the job had come.
func TestWhatANewLifeDoesFirst(t *testing.T) {
	t.Parallel()
	committed := grid.Handoff{Phase: grid.Committed, To: him, Epoch: grid.Epoch{Term: 1, Hop: 3}}
	owned, there := grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 2}}
	given := grid.Tenure{Role: grid.Tombstone, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 3}}
	open := func(t grid.Tenure) grid.Tenure { t.Handoff = committed; return t }
	replaced := func(t grid.Tenure) grid.Tenure { t.Superseded = grid.Epoch{Term: 2}; return t }
	here, elsewhere := jobOf(me, "a", "1"), jobOf(her, "b", "1")
	part := here
	guest := elsewhere
	part.Part, guest.Part = &grid.Part{Of: "a.whole"}, &grid.Part{Of: "b.whole"}
	upload := func(in grid.Tick) string { return fmt.Sprintf("timer %d in %d", onUpload, in) }
	k := kernelOf(&others{})
	for name, c := range map[string]struct {
		r    grid.Record
		want string
	}{
		"with another, ended":            {grid.Record{Job: here, Tenure: there, State: grid.Completed}, ""},
		"with another":                   {grid.Record{Job: here, Tenure: there, State: grid.Running}, "pull 1, pursueCancel 1"},
		"with another, committed to him": {grid.Record{Job: here, Tenure: open(there), State: grid.Assigned}, "sendCommit 1, pull 1, pursueCancel 1"},
		"given away":                     {grid.Record{Job: elsewhere, Tenure: given, State: grid.Assigned}, "tellMoved 1"},
		"given away, not heard":          {grid.Record{Job: elsewhere, Tenure: open(given), State: grid.Assigned}, "sendCommit 1, tellMoved 1"},
		"prepared":                       {grid.Record{Job: elsewhere, Tenure: grid.Tenure{Role: grid.Prepared}, State: grid.Assigned}, "preparedDue 1, declineRemoved 1"},
		"declined":                       {grid.Record{Job: elsewhere, Tenure: grid.Tenure{Role: grid.Declined}, State: grid.Assigned}, ""},
		"files to come":                  {grid.Record{Job: here, Tenure: owned, State: grid.StageIn}, upload(k.cfg.UploadLimit)},
		"handed in":                      {grid.Record{Job: here, Tenure: owned, State: grid.Submitted}, upload(k.cfg.UploadLimit)},
		"a part, files to come":          {grid.Record{Job: part, Tenure: owned, State: grid.StageIn}, upload(1)},
		"without a place":                {grid.Record{Job: here, Tenure: owned, State: grid.Ready}, "undecide 1"},
		"without a place, elsewhere":     {grid.Record{Job: elsewhere, Tenure: owned, State: grid.Ready}, "undecide 1, awaitHome 1"},
		"a part at its site":             {grid.Record{Job: guest, Tenure: owned, State: grid.Ready}, fmt.Sprintf("undecide 1, awaitHome 1, timer %d in %d", onHandoff, k.cfg.Retry)},
		"without a place, cancelled":     {grid.Record{Job: here, Tenure: owned, State: grid.Ready, CancelRequested: true}, "pursueCancel 1"},
		"without a place, altered":       {grid.Record{Job: here, Tenure: owned, State: grid.Ready, AtHome: grid.AtHome{Altered: &grid.Alteration{}}}, "undecide 1, " + fmt.Sprintf("timer %d", onHandoff)},
		"without a place, superseded":    {grid.Record{Job: elsewhere, Tenure: replaced(owned), State: grid.Ready}, "letGo 1"},
		"an offer":                       {grid.Record{Job: here, Tenure: owned, State: grid.Moving}, "handoffID 1, sendAbort the owner was restarted, dropOffer 1 the offer died with a restart of this broker"},
		"it waits":                       {grid.Record{Job: here, Tenure: owned, State: grid.Assigned}, fmt.Sprintf("Probe, timer %d in %d", onBatch, k.cfg.Refresh)},
		"it runs, cancelled, elsewhere":  {grid.Record{Job: elsewhere, Tenure: owned, State: grid.Running, CancelRequested: true}, fmt.Sprintf("Probe, timer %d in %d, pursueCancel 1, awaitHome 1", onBatch, k.cfg.Refresh)},
		"it runs, superseded":            {grid.Record{Job: elsewhere, Tenure: replaced(owned), State: grid.Running}, fmt.Sprintf("Probe, timer %d in %d, relinquish 1, awaitHome 1", onBatch, k.cfg.Refresh)},
		"it has ended":                   {grid.Record{Job: here, Tenure: owned, State: grid.Finished}, "collect 1"},
	} {
		o := &others{}
		k := kernelOf(o, c.r)
		m := newRecovery(k)
		m.estimator, m.execution, m.gates, m.home, m.ownership, m.relay, m.search, m.terms = o, o, o, o, o, o, o, o
		j := k.jobs[c.r.Job.ID]
		m.recoverJob(j)
		var did []string
		for _, e := range k.out {
			did = append(did, strings.TrimPrefix(fmt.Sprintf("%T", e), "core."))
		}
		asked := o.take()
		timers := ""
		for kind, at := range j.due {
			if at != 0 {
				timers = fmt.Sprintf("timer %d in %d", kind, at-k.now)
			}
		}
		if timers != "" && j.rec.Altered != nil {
			timers, _, _ = strings.Cut(timers, " in ")
		}
		if early := j.rec.State == grid.Ready; early {
			did = append(append(did, asked...), timers)
		} else {
			did = append(append(did, timers), asked...)
		}
		text := strings.NewReplacer("a.0000000000000000000000000", "", "b.0000000000000000000000000", "", ", , ", ", ").Replace(strings.Join(did, ", "))
		if text = strings.Trim(text, ", "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
		if !j.recovered || j.heard != k.now || j.began != k.now || !j.worn {
			t.Errorf("%s: %+v", name, j.ofOwnership)
		}
	}
}

// Instants of a clock that was ahead in an earlier life count from now, and who has tried before knows nothing of what that left.
func TestInstantsOfAnEarlierLife(t *testing.T) {
	t.Parallel()
	for _, at := range []grid.Tick{-5, 0, 5} {
		o := &others{}
		r := grid.Record{Job: jobOf(me, "a", "1"), State: grid.Completed, Tenure: grid.Tenure{Role: grid.Watching, Owner: her}, Run: grid.Run{Attempt: 2}}
		k := kernelOf(o, r)
		j := k.jobs[r.Job.ID]
		j.rec.Missing, j.rec.HopsAt = k.now+at, k.now+at
		newRecovery(k).recoverJob(j)
		if want := k.now + min(at, 0); j.rec.Missing != want || j.rec.HopsAt != want || !j.worn {
			t.Errorf("%d: missing since %d, hops since %d, worn %v", at, j.rec.Missing-k.now, j.rec.HopsAt-k.now, j.worn)
		}
	}
}

// A job of this home that may run once, and is to start at a term that was raised, waits for who may have got it before; so does the end of
// one that may run again, whatever has become of it.
func TestWhatIsToStartAgain(t *testing.T) {
	t.Parallel()
	base := grid.Record{Job: jobOf(me, "a", "1"), State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 2}}}
	for name, change := range map[string]func(*grid.Record){
		"":                        func(*grid.Record) {},
		"it is of another home":   func(r *grid.Record) { r.Job.Home = her },
		"another has it":          func(r *grid.Record) { r.Role = grid.Watching },
		"it has a place":          func(r *grid.Record) { r.State = grid.Assigned },
		"it was launched":         func(r *grid.Record) { r.Attempt = 1 },
		"its term is the first":   func(r *grid.Record) { r.Epoch.Term = 1 },
		"its files have not come": func(r *grid.Record) { r.State = grid.StageIn },
		"it is a part":            func(r *grid.Record) { r.Job.Part = &grid.Part{} },
		"it was handed on":        func(r *grid.Record) { r.Epoch.Hop = 1 },
	} {
		k := kernelOf(&others{})
		r := base
		change(&r)
		if got := newRecovery(k).again(&job{rec: r}); got != (name == "" || name == "its files have not come") {
			t.Errorf("%q: %v", name, got)
		}
		r.Job.Rerunnable = true
		lacks := slices.Contains([]string{"it is of another home", "its term is the first", "it is a part"}, name)
		if got := newRecovery(k).again(&job{rec: r}); got == lacks {
			t.Errorf("%q, rerunnable: %v", name, got)
		}
	}
}
