package core

import (
	"cmp"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// atGate is a job of site a at a gate, with all that the gate may ask.
type atGate struct {
	*gates
	*job
	o                                  *others
	recounts, anew, lack, dir, missing bool
	traces                             grid.Epoch
}

func (s *atGate) recounting() bool                    { return s.recounts }
func (s *atGate) missed(grid.PeerID, grid.Epoch) bool { return s.missing }
func (s *atGate) begunAnew() bool                     { return s.anew }
func (s *atGate) mayLack(*job) bool                   { return s.lack }
func (s *atGate) read() bool                          { return s.dir }
func (s *atGate) tracesOf(grid.JobID) grid.Epoch      { return s.traces }
func (s *atGate) asking() string                      { return "who is asked" }
func (s *atGate) successorsWord(*job) string          { return "" }

// freely is a job of that home, owned here since before this life, in whose way nothing stands.
func freely(home grid.PeerID) *atGate {
	s := &atGate{o: &others{}, dir: true}
	k := kernelOf(s.o)
	k.start = k.now - grid.Minute
	s.gates = s.o.gates
	s.gates.recovery = s
	site := grid.SiteName("a")
	if home != me {
		site = "b"
	}
	s.job = &job{recovered: true, rec: grid.Record{Job: jobOf(home, site, "1"), State: grid.Assigned,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 2}}}}
	s.job.reconciled, s.job.homeHeard = true, k.now
	return s
}

// obstacle is one thing that has to be known first, and the gate that tells of it.
type obstacle struct {
	name string
	put  func(*atGate)
	want gate
}

// closedBy: a gate is open where nothing stands in the way, and each obstacle closes it. Of two it tells that which stands first in the list, as
// what comes of the others may depend on it.
func closedBy(t *testing.T, name string, free func() *atGate, ask func(*atGate) gate, obstacles ...obstacle) {
	t.Helper()
	if got := ask(free()); got != open {
		t.Errorf("%s: it %v, where nothing stands in its way", name, got)
	}
	for i, first := range obstacles {
		for _, second := range obstacles[i:] {
			s := free()
			second.put(s)
			first.put(s)
			if got := ask(s); got != first.want {
				t.Errorf("%s: %s, %s: it %v, want: it %v", name, first.name, second.name, got, first.want)
			}
		}
	}
}

// opensWith: what is as told lets the gate stand open.
func opensWith(t *testing.T, name string, free func() *atGate, ask func(*atGate) gate, as map[string]func(*atGate)) {
	t.Helper()
	for what, put := range as {
		s := free()
		put(s)
		if got := ask(s); got != open {
			t.Errorf("%s: %s: it %v", name, what, got)
		}
	}
}

func ofHere() *atGate  { return freely(me) }
func ofThere() *atGate { return freely(her) }

var (
	journalBack  = obstacle{"the journal was rolled back", func(s *atGate) { s.recounts = true }, untilAll}
	notReconcile = obstacle{"its directory has not spoken", func(s *atGate) { s.job.reconciled = false }, untilDirectory}
	unread       = obstacle{"no directory was read", func(s *atGate) { s.dir = false }, untilDirectory}
	someSilent   = obstacle{"a member has not spoken", func(s *atGate) { s.start = s.now - 1; s.members[him].heard = false }, untilNeighbours}
	supersededBy = obstacle{"its home has given it to another", func(s *atGate) { s.rec.Superseded = grid.Epoch{Term: 2} }, forNobody}
)

// What has to be known before an attempt starts, or its job goes on to another site.
func TestObstaclesOfAStart(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*atGate) gate{
		"start":      func(s *atGate) gate { return s.gates.beforeStart(s.job) },
		"handing on": func(s *atGate) gate { return s.gates.beforeHandingOn(s.job) },
	} {
		long := func(s *atGate) grid.Tick { return silence * s.cfg.Digest }
		closedBy(t, name+" at home", ofHere, ask, journalBack, supersededBy, notReconcile, someSilent,
			obstacle{"it is kept back", func(s *atGate) { s.o.keeps = untilReleased }, untilDue},
			obstacle{"it was raised just now", func(s *atGate) { s.job.raised = s.now - long(s) + 1 }, untilReported})
		opensWith(t, name+" at home", ofHere, ask, map[string]func(*atGate){
			"it was raised long ago":      func(s *atGate) { s.job.raised = s.now - long(s) },
			"it may run twice":            func(s *atGate) { s.job.raised, s.rec.Job.Rerunnable = s.now, true },
			"nobody hears itself":         func(s *atGate) { s.job.homeHeard = 0 },
			"it came after all had begun": func(s *atGate) { someSilent.put(s); s.job.recovered, s.job.reconciled = false, false },
		})
		closedBy(t, name+" elsewhere", ofThere, ask, journalBack, supersededBy, notReconcile, someSilent,
			obstacle{"its home was heard too long ago", func(s *atGate) { s.job.homeHeard = s.now - long(s) - 1 }, untilHome},
			obstacle{"its home was not heard", func(s *atGate) { s.job.homeHeard = 0 }, untilHome})
		opensWith(t, name+" elsewhere", ofThere, ask, map[string]func(*atGate){
			"its home was heard just in time": func(s *atGate) { s.job.homeHeard = s.now - long(s) },
			"it was raised, as homes do":      func(s *atGate) { s.job.raised = s.now },
		})
	}
}

// What has to be known before a job is told to have ended by a cancel.
func TestObstaclesOfKilled(t *testing.T) {
	t.Parallel()
	ask := func(s *atGate) gate {
		s.rec.End, s.job.raised = cmp.Or(s.rec.End, grid.Killed), cmp.Or(s.job.raised, s.now-silence*s.cfg.Digest)
		return s.gates.beforeKilled(s.job, s.rec.End)
	}
	justNow := func(s *atGate) { s.job.raised = s.now }
	closedBy(t, "killed", ofHere, ask, obstacle{"it was raised just now", justNow, untilReported},
		obstacle{"one may have it", func(s *atGate) { s.job.successors = map[grid.PeerID]bool{him: true} }, untilReported},
		obstacle{"its deadline has passed", func(s *atGate) { justNow(s); s.rec.End = grid.CancelledDeadline }, untilReported})
	opensWith(t, "killed", ofHere, ask, map[string]func(*atGate){
		"it is LOST":         func(s *atGate) { justNow(s); s.rec.Unfenced = true },
		"it ended by itself": func(s *atGate) { justNow(s); s.rec.End = grid.Completed },
	})
}

// A home that an administrator has forgotten is not waited for by a start, and by a job that goes on it is.
func TestAForgottenHome(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		live         grid.Liveness
		uncertain    bool
		start, hands gate
	}{
		"it is gone":                             {grid.Dead, false, open, untilHome},
		"it is gone, and knew alone whether ran": {grid.Dead, true, untilCertain, untilCertain},
		"it lives":                               {grid.Alive, false, untilHome, untilHome},
	} {
		s := ofThere()
		s.job.homeHeard, s.rec.HomeForgotten, s.rec.Uncertain, s.members[her].live = 0, true, k.uncertain, k.live
		if start, hands := s.gates.beforeStart(s.job), s.gates.beforeHandingOn(s.job); start != k.start || hands != k.hands {
			t.Errorf("%s: its start %v, want %v; handing on %v, want %v", name, start, k.start, hands, k.hands)
		}
	}
}

// Members are waited for: so many deadlines for whether they live, as many more for what those that live have seen.
func TestHowLongMembersMayBeSilent(t *testing.T) {
	t.Parallel()
	k := kernelOf(&others{})
	first := 3 * k.cfg.EstimateDeadline
	for name, c := range map[string]struct {
		since       grid.Tick
		live        grid.Liveness
		heard, told bool
		want        bool
	}{
		"all has been said":                           {1, grid.Alive, true, true, false},
		"whether it lives is not known":               {first - 1, grid.Dead, false, false, true},
		"whether it lives is not known, for too long": {first, grid.Dead, false, false, false},
		"it lives, and has not said what it saw":      {2*first - 1, grid.Alive, true, false, true},
		"it lives, and has not said it for too long":  {2 * first, grid.Alive, true, false, false},
		"it is dead": {1, grid.Dead, true, false, false},
		"it has spoken before it was known that it lives": {1, grid.Dead, false, true, true},
	} {
		o := &others{}
		k := kernelOf(o)
		k.start = k.now - c.since
		k.members[her].live, k.members[her].heard, k.members[her].told = c.live, c.heard, c.told
		if got := o.gates.silent(3); got != c.want {
			t.Errorf("%s: silent: %v", name, got)
		}
		if k.start = 0; o.gates.silent(3) {
			t.Errorf("%s: silent before the first event", name)
		}
	}
}

// What has to be known before something is made, or denied, that a lost branch of the journal may have made.
func TestObstaclesOfALostBranch(t *testing.T) {
	t.Parallel()
	all := func(s *atGate) { journalBack.put(s); unread.put(s); someSilent.put(s) }
	cancel := func(s *atGate) gate { return s.gates.beforeCancel(s.job) }
	closedBy(t, "cancel", ofHere, cancel, notReconcile,
		obstacle{"whether it has run others know", func(s *atGate) { s.recounts, s.rec.Uncertain = true, true }, untilAll}, someSilent)
	opensWith(t, "cancel", ofHere, cancel, map[string]func(*atGate){
		"it runs":                     func(s *atGate) { all(s); s.rec.State, s.rec.Uncertain, s.job.reconciled = grid.Running, true, false },
		"it is certain":               func(s *atGate) { s.recounts = true },
		"nothing was lost":            func(s *atGate) { s.rec.Uncertain = true },
		"it came after all had begun": func(s *atGate) { someSilent.put(s); s.job.recovered = false },
	})
	closedBy(t, "cancel", ofThere, cancel, notReconcile,
		obstacle{"whether it was given away others know", func(s *atGate) { s.recounts, s.rec.Uncertain = true, true }, untilAll}, someSilent)
	opensWith(t, "cancel", ofThere, cancel, map[string]func(*atGate){"it is a part": func(s *atGate) {
		s.recounts, s.rec.Uncertain, s.rec.Job.Part = true, true, &grid.Part{}
		someSilent.put(s)
	}})

	place := func(s *atGate) gate { return s.gates.beforePlacing(s.job) }
	awaits := func(s *atGate) { s.job.awaits = true }
	closedBy(t, "place", ofHere, place, obstacle{"its user wants its end", func(s *atGate) { s.rec.CancelRequested = true }, toBeCancelled},
		obstacle{"it waits to start here", awaits, placedHere},
		obstacle{"it does, altered, at a drained site", func(s *atGate) { awaits(s); s.draining, s.rec.Altered = true, &grid.Alteration{} }, placedHere})
	opensWith(t, "place", ofHere, place, map[string]func(*atGate){"it waits at a drained site": func(s *atGate) { awaits(s); s.draining = true }})

	stand := func(s *atGate) gate { return s.gates.beforeStanding(s.job) }
	closedBy(t, "stand", ofHere, stand, obstacle{"it was submitted since", func(s *atGate) { s.rec.Uncertain, s.rec.Unproven = true, true }, untilAll})
	opensWith(t, "stand", ofHere, stand, map[string]func(*atGate){
		"it was submitted before": func(s *atGate) { s.rec.Uncertain = true }, "nothing is in doubt": func(s *atGate) { s.rec.Unproven = true }})

	again := func(s *atGate) gate { return s.gates.beforeRunningAgain(s.job) }
	lostUnheard := func(s *atGate) { s.recounts, s.job.homeHeard = true, 0 }
	closedBy(t, "run again", ofThere, again, obstacle{"others know of a lost part, and its home was not heard", lostUnheard, untilCertain})
	opensWith(t, "run again", ofThere, again, map[string]func(*atGate){
		"its home was heard": journalBack.put, "nothing was lost": func(s *atGate) { s.job.homeHeard = 0 }})
	opensWith(t, "run again", ofHere, again, map[string]func(*atGate){"at home": lostUnheard})

	round := func(s *atGate) gate { return s.gates.beforeRound(s.job) }
	closedBy(t, "round", ofHere, round, journalBack,
		obstacle{"its directory has not spoken", func(s *atGate) { unread.put(s); notReconcile.put(s) }, untilDirectory}, someSilent)
	opensWith(t, "round", ofHere, round, map[string]func(*atGate){
		"all directories were read": notReconcile.put, "its own was read": unread.put,
		"it came after all had begun": func(s *atGate) { someSilent.put(s); unread.put(s); s.job.recovered, s.job.reconciled = false, false },
	})

	for name, enter := range map[string]func(s *atGate, recovered bool) gate{
		"enter":    func(s *atGate, recovered bool) gate { return s.gates.beforeEntering(recovered) },
		"end rest": func(s *atGate, recovered bool) gate { return s.gates.beforeEndingRest(recovered) },
	} {
		closedBy(t, name, ofHere, func(s *atGate) gate { return enter(s, true) }, journalBack, someSilent, unread)
		opensWith(t, name, ofHere, func(s *atGate) gate { return enter(s, false) }, map[string]func(*atGate){"it is new": all})
	}

	lost := obstacle{"the journal was lost", func(s *atGate) { s.anew = true }, untilLearnt}
	closedBy(t, "deny", ofHere, func(s *atGate) gate { return s.gates.beforeDenying() }, journalBack, lost, someSilent)
	closedBy(t, "decline", ofHere, func(s *atGate) gate { return s.gates.beforeDeclining(s.job) }, journalBack, notReconcile)
	dismiss := func(s *atGate) gate { return s.gates.beforeDismissing(her, grid.Epoch{Term: 1, Hop: 2}) }
	closedBy(t, "dismiss", ofHere, dismiss, journalBack, lost, someSilent,
		obstacle{"who claims it was missing when all were asked", func(s *atGate) { s.missing = true }, untilLearnt},
		obstacle{"who claims it has not said what he saw", func(s *atGate) { s.members[her].live, s.members[her].told = grid.Dead, false }, untilNeighbours},
		obstacle{"one who lives has not said what he saw", func(s *atGate) { s.members[him].told = false }, untilNeighbours})
	opensWith(t, "dismiss", ofHere, dismiss, map[string]func(*atGate){
		"one who is dead has not said it": func(s *atGate) { s.members[him].live, s.members[him].told = grid.Dead, false }})

	closedBy(t, "search", ofHere, func(s *atGate) gate { return s.gates.beforeSearch() }, someSilent)
	closedBy(t, "sweep", ofHere, func(s *atGate) gate { return s.gates.beforeSweep() }, journalBack, someSilent)
	returning := func(s *atGate) gate { return s.gates.beforeReturning(s.job) }
	closedBy(t, "return", ofHere, returning, journalBack, someSilent)
	opensWith(t, "return", ofHere, returning, map[string]func(*atGate){"it came since": func(s *atGate) { someSilent.put(s); s.job.recovered = false }})
	for name, ask := range map[string]func(s *atGate) gate{
		"any start": func(s *atGate) gate { return s.gates.beforeAnyStart() },
		"strays":    func(s *atGate) gate { return s.gates.beforeStrays() },
		"verdict":   func(s *atGate) gate { return s.gates.beforeVerdict() },
		"certain":   func(s *atGate) gate { return s.gates.beforeCertain() },
		"go":        func(s *atGate) gate { return s.gates.beforeGo(2, 2) },
	} {
		closedBy(t, name, ofHere, ask, journalBack)
	}
}

// A word about a handoff that another journal gave, or that is late, makes nobody owner.
func TestObstaclesOfHandoffs(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 2}
	id := wire.HandoffID{Job: jobOf(her, "b", "1").ID, Epoch: at, To: me}
	prepare := func(s *atGate) gate { return s.gates.beforePreparing(id) }
	closedBy(t, "prepare", ofThere, prepare, unread,
		obstacle{"it was owned here", func(s *atGate) { s.traces = at }, itMayRun},
		obstacle{"it has ended here", func(s *atGate) { s.closed[id.Job] = closing{epoch: at} }, itEnded})
	opensWith(t, "prepare", ofThere, prepare, map[string]func(*atGate){
		"it was here before": func(s *atGate) {
			s.traces, s.closed[id.Job] = grid.Epoch{Term: 1, Hop: 1}, closing{epoch: grid.Epoch{Term: 1, Hop: 1}}
		}})

	last := in(7, 30)
	prepared := func() *atGate {
		s := ofThere()
		s.cfg.Journal = in(4, 30)
		s.rec.Role, s.rec.Owner, s.rec.Handoff, s.job.after = grid.Prepared, her, grid.Handoff{To: me, Epoch: at}, last
		return s
	}
	commit := func(change func(*wire.Commit)) func(*atGate) gate {
		return func(s *atGate) gate {
			m := wire.Commit{Handoff: id, Journal: in(7, 31), Ready: in(4, 30)}
			m.Handoff.Digest = s.job.sum()
			change(&m)
			return s.gates.beforeOwning(s.job, her, m, last)
		}
	}
	same := func(*wire.Commit) {}
	closedBy(t, "own", prepared, commit(same),
		obstacle{"what was ready is not in this journal", func(s *atGate) { s.cfg.Journal.Sequence = 29 }, journalBehind},
		obstacle{"it is not prepared", func(s *atGate) { s.rec.Role = grid.Watching }, forAnother},
		obstacle{"it is prepared for another epoch", func(s *atGate) { s.rec.Handoff.Epoch.Hop = 3 }, forAnother},
		obstacle{"it was said before the offer", func(s *atGate) { s.job.after = in(7, 31) }, untilInquired},
		obstacle{"another has offered it", func(s *atGate) { s.rec.Owner = him }, forAnother})
	for name, k := range map[string]struct {
		change func(*wire.Commit)
		want   gate
	}{
		"from another journal than the offer":   {func(m *wire.Commit) { m.Journal = in(8, 31) }, untilInquired},
		"from no journal":                       {func(m *wire.Commit) { m.Journal = grid.JournalID{} }, open},
		"to another journal of this site":       {func(m *wire.Commit) { m.Ready.Incarnation++ }, untilInquired},
		"to none that is told":                  {func(m *wire.Commit) { m.Ready = grid.JournalID{} }, open},
		"to a journal that has not come so far": {func(m *wire.Commit) { m.Ready.Sequence++ }, journalBehind},
		"of another job":                        {func(m *wire.Commit) { m.Handoff.Digest[0]++ }, forAnother},
	} {
		if got := commit(k.change)(prepared()); got != k.want {
			t.Errorf("a commit %s %v, want: it %v", name, got, k.want)
		}
	}
}
