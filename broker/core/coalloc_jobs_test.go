package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
)

// owned is the tenure of a job that is at its home.
func owned() grid.Tenure {
	return grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}
}

// jobsOfWholes are those of a broker with the neighbours b, c and d.
func jobsOfWholes(c *Core) *wholeJobs {
	c.kernel.out = nil
	return c.wholes.wholes.(*wholeJobs)
}

// partOf is a part of a whole at this home.
func partOf(n int, state grid.State, with grid.Tenure) grid.Record {
	j := jobOf(me, "a", "1")
	j.ID, j.Part = partID(theWhole, n), &grid.Part{Of: theWhole, Round: 1, Limit: grid.Hour}
	return grid.Record{Job: j, State: state, Tenure: with}
}

// did lists what was done to the jobs, and empties it.
func (w *wholeJobs) did() string {
	var list []string
	for _, e := range w.out {
		switch e := e.(type) {
		case Save:
			list = append(list, "saves")
		case Send:
			list = append(list, fmt.Sprintf("%v>%s", e.Message.Kind(), w.siteName(e.To)))
		default:
			list = append(list, strings.TrimPrefix(fmt.Sprintf("%T", e), "core."))
		}
	}
	w.kernel.out = nil
	return strings.Join(list, " ")
}

// A try waits twice as long as the one before it, up to a bound, however many there were.
func TestWholesAreTriedAgainLaterAndLater(t *testing.T) {
	t.Parallel()
	w := jobsOfWholes(signed())
	w.cfg.Retry, w.cfg.RetryMax = grid.Second, grid.Minute
	for n, want := range map[int]grid.Tick{0: 1, 1: 2, 2: 4, 5: 32, 6: 60, 20: 60, 1000: 60} {
		if got := w.retry(n); got != want*grid.Second {
			t.Errorf("after %d tries it waits %v s", n, got.Seconds())
		}
	}
	if a, b := w.round(), w.round(); b != a+1 {
		t.Errorf("round %d comes after %d", b, a)
	}
}

// Of several instants the first counts.
func TestTheFirstInstantWakesWholes(t *testing.T) {
	t.Parallel()
	w := jobsOfWholes(signed())
	due := func() grid.Tick { return w.timers.general[allocationsDue-concerns] }
	for _, k := range []struct{ asked, due grid.Tick }{{60, 60}, {90, 60}, {30, 30}, {30, 30}, {31, 30}} {
		if w.again(w.now + k.asked*grid.Second); due() != w.now+k.due*grid.Second {
			t.Errorf("asked for in %d s they are due in %v s, not %d", k.asked, (due() - w.now).Seconds(), k.due)
		}
	}
}

// What is told of a whole is shown to its user, and no more when it has ended. The first start that is told is remembered.
func TestUsersAreToldOfAWhole(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: owned()})
	w, r := jobsOfWholes(c), &c.jobs[j.ID].rec
	w.tell(j.ID, "no sites yet", 0)
	if r.Reason != "no sites yet" || r.PredictedStart != 0 || w.did() != "Show" {
		t.Errorf("without a start: %+v", r)
	}
	w.tell(j.ID, "planned", 5_000_000)
	w.tell(j.ID, "later", 6_000_000)
	if r.Reason != "later" || r.EstimateNow != 6_000_000 || r.PredictedStart != 5_000_000 || w.did() != "Show Show" {
		t.Errorf("with one: %+v", r)
	}
	r.State, r.Role = grid.Completed, grid.Watching
	w.tell(j.ID, "planned", 7_000_000)
	w.tell("a.nobody", "planned", 7_000_000)
	if r.Reason != "later" || w.did() != "" {
		t.Errorf("after its end: %+v", r)
	}
}

// A whole begins once, while it waits; it ends once, with all that its parts said.
func TestAWholeBeginsAndEndsOnce(t *testing.T) {
	t.Parallel()
	for _, end := range []ending{
		{state: grid.Completed, finished: 1_000_500, usage: grid.Usage{CPU: 5}},
		{state: grid.CancelledWalltime, hasExit: true, exitCode: 3, signal: 9, why: "too long"},
		{state: grid.Failed, why: "part 1"},
	} {
		j := jobOf(me, "a", "1")
		c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: owned()})
		w, r := jobsOfWholes(c), &c.jobs[j.ID].rec
		r.Reason = "planned"
		w.begun(j.ID)
		if r.State != grid.Running || r.Started != w.now || r.Reason != "" || w.did() != "saves" {
			t.Fatalf("it is %v since %d: %q", r.State, r.Started, r.Reason)
		}
		c.kernel.now += grid.Second
		if w.begun(j.ID); w.did() != "" || r.Started == w.now {
			t.Error("it begins again")
		}
		w.end(j.ID, end)
		if r.State != end.state || r.Reason != end.why || r.HasExit != end.hasExit || r.ExitCode != end.exitCode || r.Signal != end.signal || r.Usage != end.usage || r.Finished != end.finished {
			t.Errorf("%+v: it is %v, %+v", end, r.State, r.Run)
		}
		if !strings.Contains(w.did(), "saves") {
			t.Error("its end is not saved")
		}
		w.end(j.ID, ending{state: grid.Lost, why: "again"})
		w.end("a.nobody", ending{state: grid.Lost})
		if r.State != end.state || w.did() != "" {
			t.Errorf("it ends again as %v", r.State)
		}
	}
}

// A whole that goes to one site is searched a place for while it waits here, and not otherwise.
func TestAWholeGoesAlone(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		state grid.State
		role  grid.Role
		goes  bool
	}{
		"it waits": {grid.Ready, grid.Owning, true}, "it has begun": {grid.Running, grid.Owning, false}, "it is elsewhere": {grid.Ready, grid.Watching, false},
	} {
		j := jobOf(me, "a", "1")
		c := signed(grid.Record{Job: j, State: k.state, Tenure: owned()})
		w := jobsOfWholes(c)
		c.jobs[j.ID].rec.Role = k.role
		w.alone("a.nobody", "")
		if w.alone(j.ID, "one site is as good"); strings.Contains(w.did(), "saves") != k.goes {
			t.Errorf("%s: it goes %t", name, !k.goes)
		}
	}
}

// The sites that a whole may have are its own, unless it drains, and those of the neighbours that live and that its user wants.
func TestSitesOfAWhole(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Sites.Not = []grid.SiteName{"c"}
	c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: owned()})
	w := jobsOfWholes(c)
	w.members[it].live = grid.Dead
	w.members[her].link.RTT = 20
	w.members[her].site.Processes = 7
	told := func() (list []string) {
		for _, s := range w.sites(j.ID) {
			why := "may"
			if s.refusal != nil {
				why = s.refusal.Reason
			}
			list = append(list, fmt.Sprintf("%s %d %v %s", s.name, s.facts.Processes, s.link, why))
		}
		return list
	}
	want := []string{"a 4 0 may", "b 7 0.02 may", "c 0 0 " + unwantedSite, "d 0 0 " + notAlive}
	if got := told(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	w.kernel.draining, want[0] = true, "a 4 0 "+drained
	if got := told(); !slices.Equal(got, want) {
		t.Errorf("it drains: %q", got)
	}
	if got := w.sites("a.nobody"); got != nil {
		t.Errorf("of nobody %v", got)
	}
	if w.bytes("a.nobody", her) != 0 || w.bytes(j.ID, "peer-x") != 0 {
		t.Error("files of nobody, or for nobody, take time")
	}
}

// Files of a whole take as long to a site as those of any job.
func TestFilesOfAWholeTakeTime(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Inputs = grid.Manifest{{Path: "in", Size: 100 << 20}}
	c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: owned()})
	w := jobsOfWholes(c)
	_, _, want := c.search.delivery(w.members[her], sizeOf(&j))
	if got := w.bytes(j.ID, her); got != want || want == 0 {
		t.Errorf("%v s, and a job's %v s", got.Seconds(), want.Seconds())
	}
}

// A part is placed while it waits at its home and nothing keeps it back: at a neighbour that lives and has not just refused it, or here.
func TestWhereAPartIsPlaced(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		to     grid.PeerID
		but    func(*Core, *job)
		places string
	}{
		"there":                     {her, nil, "Offer>b"},
		"here":                      {me, nil, "saves"},
		"it has begun":              {her, func(_ *Core, j *job) { j.rec.State = grid.Running }, ""},
		"another owns it":           {her, func(_ *Core, j *job) { j.rec.Role = grid.Watching }, ""},
		"it is to end":              {her, func(_ *Core, j *job) { j.rec.CancelRequested = true }, ""},
		"its site is dead":          {her, func(c *Core, _ *job) { c.kernel.members[her].live = grid.Dead }, ""},
		"its site has just refused": {her, func(c *Core, j *job) { j.blocked = map[grid.PeerID]grid.Tick{her: c.now + 1} }, ""},
		"it refused a while ago":    {her, func(c *Core, j *job) { j.blocked = map[grid.PeerID]grid.Tick{her: c.now} }, "Offer>b"},
		"nobody knows the site":     {"peer-x", nil, ""},
		"a rule keeps it":           {me, func(c *Core, j *job) { j.raised, c.kernel.cfg.Digest = c.now, grid.Minute }, ""},
	} {
		of := partOf(1, grid.Ready, owned())
		c := signed(of)
		w := jobsOfWholes(c)
		if k.but != nil {
			k.but(c, c.jobs[of.Job.ID])
		}
		if no := w.place(of.Job.ID, k.to, 0); no != nil {
			t.Errorf("%s: refused: %+v", name, no)
		}
		got := w.did()
		if (k.places == "") != (got == "") || !strings.Contains(got, k.places) {
			t.Errorf("%s: %q, not %q", name, got, k.places)
		}
		if w.place("a.nobody", k.to, 0); w.did() != "" {
			t.Errorf("%s: nobody is placed", name)
		}
	}
	of := partOf(1, grid.Ready, owned())
	c := signed(of)
	w := jobsOfWholes(c)
	c.kernel.refuses(c.jobs[of.Job.ID], me, "too wide")
	w.did()
	if no := w.place(of.Job.ID, me, 0); no == nil || no.Reason != "too wide" || w.did() != "" {
		t.Errorf("what this site has refused it takes: %+v", no)
	}
}

// A part is made once; one that brings files waits for them.
func TestAPartIsMadeOnce(t *testing.T) {
	t.Parallel()
	for _, files := range []grid.Manifest{nil, {{Path: "in", Size: 1}}} {
		whole := jobOf(me, "a", "1")
		c := signed(grid.Record{Job: whole, State: grid.Ready, Tenure: owned()})
		w, of := jobsOfWholes(c), partOf(1, 0, owned()).Job
		of.Inputs = files
		w.makePart(of)
		r, did := w.part(of.ID), w.did()
		if r == nil || (r.State == grid.Ready) != (files == nil) || (r.State == grid.StageIn) != strings.HasSuffix(did, "Furnish") {
			t.Fatalf("it is %+v: %s", r, did)
		}
		if w.makePart(of); w.did() != "" {
			t.Error("it is made again")
		}
	}
}

// When a whole is forgotten, so are its parts that have ended; one that has not is kept.
func TestPartsAreForgottenWithTheirWhole(t *testing.T) {
	t.Parallel()
	ended := grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}
	c := signed(partOf(1, grid.Completed, ended), partOf(2, grid.Running, ended), partOf(3, grid.Killed, ended))
	w := jobsOfWholes(c)
	w.drop(theWhole)
	var left []int
	for n := range 4 {
		if w.part(partID(theWhole, n)) != nil {
			left = append(left, n)
		}
	}
	if !slices.Equal(left, []int{2}) {
		t.Errorf("left are %v", left)
	}
}

// Parts that nobody sees to any more end if they have not begun, once their owner was heard; not while their whole is known.
func TestDisownedParts(t *testing.T) {
	t.Parallel()
	there := grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 1}
	unheard := there
	unheard.Report = 0
	for name, k := range map[string]struct {
		of    grid.Record
		known bool
		ends  bool
	}{
		"it waits there": {of: partOf(1, grid.Assigned, there), ends: true}, "it waits here": {of: partOf(1, grid.Ready, owned()), ends: true},
		"its owner is silent": {of: partOf(1, grid.Assigned, unheard)}, "it runs": {of: partOf(1, grid.Running, there)}, "its whole is known": {of: partOf(1, grid.Assigned, there), known: true},
	} {
		records := []grid.Record{k.of}
		if k.known {
			whole := jobOf(me, "a", "1")
			whole.ID = theWhole
			records = append(records, grid.Record{Job: whole, State: grid.Ready, Tenure: owned()})
		}
		c := signed(records...)
		jobsOfWholes(c).disown(theWhole)
		if got := c.jobs[k.of.Job.ID].rec.CancelRequested; got != k.ends {
			t.Errorf("%s: its end is wished: %t", name, got)
		}
	}
}

// For a job that nobody knows nothing is reserved, held or begun.
func TestNothingForAWholeOfNobody(t *testing.T) {
	t.Parallel()
	w := jobsOfWholes(signed())
	if r, kept := w.whole(theWhole); r != nil || kept != notKept || w.part(theWhole) != nil {
		t.Error("it is known")
	}
	w.cancel(theWhole, "")
	w.pursue(theWhole)
	w.liftLien(theWhole, theWhole)
	if w.deliver(theWhole, theWhole, her, 5) != nil || w.placeLien(theWhole, &grid.AllocatedPart{}) != nil || w.beforeRound(theWhole) != forNobody || w.beforeCancel(theWhole) != open || w.did() != "" {
		t.Error("something is done")
	}
}
