package core

import (
	"reflect"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// everything is a job of this home of which all is known that a user may ask.
func everything(k *kernel) grid.Record {
	j := jobOf(me, "a", "1")
	j.Name, j.Queue, j.WalltimeDefaulted = "name", "long", true
	j.Program.Output, j.Program.Error = "out", "err"
	j.Outputs = []grid.Output{{Path: "out", Target: "out.txt"}, {Path: "err", Target: "err.txt"}}
	return grid.Record{
		Job: j, State: grid.Completed, Submitted: k.now - 90, Ended: k.now - 10, EstimateNow: k.now + 7, Reason: "why", CancelRequested: true,
		Tenure: grid.Tenure{Owner: her, Epoch: grid.Epoch{Term: 3, Hop: 4}, ContactLost: k.now - 30},
		Run: grid.Run{Local: "17", Started: k.now - 60, Finished: k.now - 20, End: grid.Completed, ExitCode: 2, HasExit: true, Signal: 9,
			Outputs: grid.Manifest{{Path: "out.txt", Size: 5}}, Usage: grid.Usage{CPU: 8, Memory: 9, Nodes: "n1"}},
		AtHome: grid.AtHome{PredictedStart: k.now + 5},
	}
}

// filled tells that a value has something in each field, but for some.
func filled(t *testing.T, name string, v any, but ...string) {
	t.Helper()
	of := reflect.ValueOf(v)
	left := map[string]bool{}
	for _, n := range but {
		left[n] = true
	}
	for i := range of.NumField() {
		if field := of.Type().Field(i).Name; of.Field(i).IsZero() != left[field] {
			t.Errorf("%s: %s is %v", name, field, of.Field(i))
		}
	}
}

// What a home tells of a job arrives whole, and is told on by who heard it as it was heard, a moment later too.
func TestWhatIsFoundOfAJobTravels(t *testing.T) {
	t.Parallel()
	here, there := newRelay(kernelOf(&others{})), newRelay(kernelOf(&others{}))
	there.now += 1000
	f := Found{Record: everything(here.kernel), Certain: true,
		Events:    []grid.Event{{At: here.now - 5, State: grid.Running, Site: "b", Epoch: grid.Epoch{Term: 1, Hop: 2}, Why: "it started"}},
		Decisions: []grid.Decision{{At: here.now - 6, Epoch: grid.Epoch{Term: 1, Hop: 1}, Chosen: "b", Candidates: []grid.Candidate{{Site: "b", Peer: her}}, Unmoved: true, Stays: "it is best"}, {Chosen: "c", Unmoved: true}}}
	var said wire.Response
	asked := Wish{Job: "a.asked"}
	here.fill(&said, &asked, &f)
	filled(t, "status", *said.Status, "Outline")
	filled(t, "event", said.Events[0])
	filled(t, "decision", said.Decisions[0])
	if said.Outcome != wire.OutcomeDone || !said.Certain || said.New != f.Record.Job.ID || said.About != nil {
		t.Errorf("%+v", said)
	}
	said.Job = asked.Job
	got := there.found(said)
	if got.Record.Job.ID != f.Record.Job.ID || got.Record.Started != there.now-60 || got.Record.PredictedStart != there.now+5 || got.Record.EstimateNow != there.now+7 {
		t.Errorf("%+v", got.Record)
	}
	if d := got.Decisions; len(d) != 2 || !d[0].Unmoved || !d[1].Unmoved {
		t.Errorf("where it stays is not told: %+v", d)
	}
	var again wire.Response
	there.fill(&again, &asked, &got)
	if again.Job = asked.Job; !reflect.DeepEqual(again, said) {
		t.Errorf("told on it is\n%+v, not\n%+v", *again.Status, *said.Status)
	}
	asked.Job = f.Record.Job.ID
	var plain wire.Response
	if here.fill(&plain, &asked, &Found{Record: f.Record}); plain.New != "" || plain.Certain {
		t.Errorf("the job that was asked for: %+v", plain)
	}
	bare := grid.Record{Job: grid.Job{ID: "a.1"}, State: grid.Ready}
	if s := here.statusOf(&bare); !s.Outline || s.Predicted.Known || there.recordOf("a.1", s).PredictedStart != 0 {
		t.Errorf("of a job that is no more than a number: %+v", s)
	}
}

// Outputs are told by who has them: the owner, or the home of what has ended.
func TestWhoTellsOfOutputs(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		owner grid.PeerID
		state grid.State
		end   grid.State
		told  bool
	}{
		"ended, elsewhere":              {her, grid.Completed, grid.Completed, true},
		"its output is brought":         {her, grid.StageOut, grid.Completed, false},
		"its output is collected here":  {me, grid.StageOut, grid.Completed, true},
		"it runs here":                  {me, grid.Running, 0, false},
		"ended, and its run is unknown": {her, grid.Lost, 0, false},
	} {
		m := newRelay(kernelOf(&others{}))
		r := everything(m.kernel)
		r.Owner, r.State, r.End = k.owner, k.state, k.end
		if got := m.statusOf(&r); (got.Outputs != nil) != k.told {
			t.Errorf("%s: %v", name, got.Outputs)
		}
	}
}

// A group arrives whole, with as many of its jobs as a message holds; the rest is asked for from there on.
func TestWhatIsFoundOfAGroupTravels(t *testing.T) {
	t.Parallel()
	m := newRelay(kernelOf(&others{}))
	id := grid.GroupID("a.g1")
	g := grid.Group{ID: id, Name: "sweep", User: grid.User{Home: me, Name: "alice"}, Jobs: 9, Entered: 4, AtOnce: 3, Coming: []int{2}, Failing: 1,
		Submitted: m.now - 50, Ended: m.now - 5, CancelRequested: true}
	f := Found{Group: g, Next: 3}
	f.Counts[grid.Completed], f.Counts[grid.Running], f.Counts[grid.Killed] = 2, 1, 1
	for n := range 3 {
		r := everything(m.kernel)
		r.Job.ID = id.Job(n + 1)
		f.Jobs = append(f.Jobs, r)
	}
	said := wire.Response{Group: id}
	m.fill(&said, &Wish{Group: id}, &f)
	filled(t, "group", *said.About)
	for i, one := range said.About.Members {
		if one.Number != i+1 || one.Status.Outputs != nil || one.Status.Output+one.Status.Error != "" || one.Status.ExitCode != 2 {
			t.Errorf("job %d: %+v", i, one)
		}
	}
	got := m.found(said)
	want := g
	want.Ends[grid.Completed], want.Ends[grid.Killed] = 2, 1
	if !reflect.DeepEqual(got.Group, want) || got.Counts != f.Counts || got.Next != 3 || len(got.Jobs) != 3 || got.Jobs[2].Job.ID != id.Job(3) {
		t.Errorf("%+v\n%+v", got.Group, want)
	}
	for len(f.Jobs) <= wire.MaxMembers {
		f.Jobs = append(f.Jobs, f.Jobs[2])
		f.Jobs[len(f.Jobs)-1].Job.ID = id.Job(len(f.Jobs))
	}
	if of := m.aboutOf(&f); len(of.Members) == 0 || len(of.Members) >= len(f.Jobs) || of.Next != len(of.Members) {
		t.Errorf("of %d jobs %d are told, and the next follow after %d", len(f.Jobs), len(of.Members), of.Next)
	}
}

// A refusal arrives as an error of its kind; what is not known is a site that cannot be had.
func TestKindsOfRefusalsTravel(t *testing.T) {
	t.Parallel()
	for _, k := range outcomes {
		if o, why := refusalOf(k.kind); o != k.outcome || kindOf(o) != k.kind || why == "" {
			t.Errorf("%v is told as %v: %s", k.kind, o, why)
		}
	}
	if kindOf(255) != grid.ErrUnavailable {
		t.Error("an outcome of a later version")
	}
	m := newRelay(kernelOf(&others{}))
	a := steppedAlone(t, m.kernel, &others{}, m)
	a.step(Forward{Token: 9, To: her, Wish: Wish{Job: "b.1", User: "alice"}})
	number := m.requests[0].number
	for _, e := range a.stepper.step(a.now, Message{her, wire.Response{Number: number, Job: "b.1", Outcome: wire.OutcomeLater, Why: "wait"}}) {
		if got, is := e.(Answer); is && (got.Err == nil || kindOf(wire.OutcomeLater).Error()+": job b.1: b says that wait" != got.Err.Error()) {
			t.Error(got.Err)
		}
	}
	if len(m.requests) > 0 {
		t.Error("it is asked still")
	}
}

// Each reason that keeps a job at home is told to its user in words of its own.
func TestWordsOfWhatKeepsAJob(t *testing.T) {
	t.Parallel()
	r := everything(kernelOf(&others{}))
	longer := grid.Tick(grid.Hour)
	r.Altered = &grid.Alteration{Walltime: &longer}
	r.Job.Terms.After = []grid.Dependency{{Kind: grid.After, On: "a.0"}}
	seen := map[string]keeping{}
	for k := notKept; k <= untilChosen; k++ {
		text := k.because(&r)
		if of, was := seen[text]; was || (text == "") != (k == notKept) {
			t.Errorf("%d says %q, as %d does", k, text, of)
		}
		seen[text] = k
	}
}

// Each verdict on a job of a forgotten site has a word of its own.
func TestWordsOfVerdicts(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for v := range Decline + 1 {
		if seen[v.String()] || v.String() == "" {
			t.Errorf("%d is %q", v, v)
		}
		seen[v.String()] = true
	}
}

// Jobs that ended are counted by state, where this site is their home or was the owner to their end, until they are removed.
func TestWhatIsCountedAsEnded(t *testing.T) {
	t.Parallel()
	for role, counts := range map[grid.Role]bool{grid.Owning: true, grid.Watching: true, grid.Tombstone: false, grid.Declined: false, grid.Prepared: false} {
		for _, removed := range []bool{false, true} {
			k := kernelOf(&others{})
			r := everything(k)
			r.Role, r.Removed = role, removed
			want := Ended{}
			if counts && !removed {
				want[grid.Completed] = 1
			}
			if k.putArchive(&r); k.ended != want {
				t.Errorf("%v, removed: %v: %v", role, removed, k.ended)
			}
			if k.unarchive(r.Job.ID); k.ended != (Ended{}) || len(k.archive) > 0 {
				t.Errorf("%v, removed: %v: taken out: %v", role, removed, k.ended)
			}
		}
	}
}

// It is hoped that a running part does not use what it may wait for the others; it ends after now, and what has no grace ends when it may.
func TestHopesOfRunningParts(t *testing.T) {
	t.Parallel()
	whole, part := jobOf(me, "a", "1"), jobOf(me, "a", "2")
	part.Part = &grid.Part{Grace: grid.Minute}
	k := kernelOf(&others{}, grid.Record{Job: whole}, grid.Record{Job: part})
	m := &estimator{kernel: k}
	now := k.now
	for _, c := range []struct {
		job              grid.JobID
		start, end, want grid.Tick
	}{
		{part.ID, now - 1000, now + grid.Hour, now + grid.Hour - grid.Minute},
		{part.ID, now - 1000, now + 1000, now + 1},
		{part.ID, now + 1000, now + 2000, now + 1001},
		{whole.ID, now - 1000, now + grid.Hour, now + grid.Hour},
		{"a.unknown", now - 1000, now + grid.Hour, now + grid.Hour},
	} {
		s := plan.Snapshot{At: now, Running: []plan.Running{{Start: 1, End: now + 5}, {Job: c.job, Start: c.start, End: c.end}}}
		hoped := m.withoutGrace(s)
		if got := hoped.Running[1].End; got != c.want || s.Running[1].End != c.end || hoped.Running[0].End != now+5 {
			t.Errorf("%s from %d to %d ends at %d", c.job, c.start-now, c.end-now, got-now)
		}
	}
}
