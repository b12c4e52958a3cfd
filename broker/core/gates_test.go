package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// withGates are those of site a where that rule is switched off.
func withGates(off Rules) *gates {
	cfg := signer(me, "a")
	cfg.Broken = off
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, nil)
	begin(c)
	return c.gates
}

// Each rule of the gates holds, and does not where it is switched off: a history of faults that looks for what comes of that
// must not find the rule in force, nor a broker the rule out of it.
func TestEachRuleHasItsSwitch(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 2}
	there := &job{rec: watched(jobOf(me, "a", "1"), at)}
	here := &job{rec: grid.Record{Job: jobOf(me, "a", "1"), State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at}}}
	wished := &job{rec: watched(jobOf(me, "a", "1"), at)}
	wished.rec.CancelRequested = true
	said := &job{ofOwnership: ofOwnership{committed: true}}
	told := func(g *gates) []grid.Record {
		g.cfg.Told = []grid.Record{{State: grid.Completed}}
		return g.toldBefore()
	}
	commit := wire.Commit{Handoff: wire.HandoffID{Job: there.rec.Job.ID, Epoch: grid.Epoch{Term: 1, Hop: 9}, To: me}}
	older := wire.Report{Job: there.rec.Job.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, State: grid.Running}
	for name, k := range map[string]struct {
		rule  Rules
		holds func(g *gates) bool
	}{
		"jobs that enter are counted in the same commit":      {EnteredUncounted, func(g *gates) bool { return g.beforeCounting() == open }},
		"the rest of a cancelled group ends":                  {RestGoesOn, func(g *gates) bool { return g.beforeEndingRest(false) == open }},
		"a dependency that is not met ends its job":           {DependenciesIgnored, func(g *gates) bool { return g.beforeDepending(isNever) == isNever }},
		"a job that has not ended ends by its deadline":       {DeadlineUnseen, func(g *gates) bool { return g.beforeOverdue(here) == open }},
		"a wish to cancel counts whatever its epoch":          {CancelFenced, func(g *gates) bool { return g.beforeObeying(here, older.Epoch) == open }},
		"a wish to cancel goes with its job":                  {CancelFenced, func(g *gates) bool { return g.carried(true) }},
		"the end of a cancelled job is its owner's word":      {CancelledToldEarly, func(g *gates) bool { return g.beforeTelling(wished) == untilOwner }},
		"silence counts where this broker listened":           {AbsenceOverStall, func(g *gates) bool { return g.beforeAbsence() == untilNeighbours }},
		"a rolled back journal stops":                         {RollbackUnseen, func(g *gates) bool { return g.beforeGoingOn() == untilAll }},
		"what users were told is read":                        {EndsUntold, func(g *gates) bool { return len(told(g)) == 1 }},
		"a release is repeated":                               {ReleaseNotRepeated, func(g *gates) bool { return g.beforeReleasingAgain() == open }},
		"another clock counts as it goes":                     {ClockOffsetIgnored, func(g *gates) bool { return g.offset(5) == 5 }},
		"that parts go is saved first":                        {GoUnsaved, func(g *gates) bool { return g.beforeSaving(grid.Going) == open }},
		"a commit is repeated":                                {CommitNotRepeated, func(g *gates) bool { return g.beforeRepeating(said) == open }},
		"a job that its owner does not know is not taken":     {UnknownTakenBack, func(g *gates) bool { return g.beforeReclaiming() == untilForgotten }},
		"a commit of what was not prepared makes no owner":    {CommitCreates, func(g *gates) bool { return g.beforeOwning(there, her, commit, grid.JournalID{}) == forAnother }},
		"a report of an older epoch is not that of the owner": {NoEpochCheck, func(g *gates) bool { return g.claims(there, him, older) == ofOlder }},
		"what may run once is not started again": {ForgetStartsAll, func(g *gates) bool {
			return g.beforeAgain(&job{rec: grid.Record{Job: there.rec.Job}}, false) == itMayRun
		}},
	} {
		if !k.holds(withGates(0)) {
			t.Errorf("%s: not so", name)
		}
		if k.holds(withGates(k.rule)) {
			t.Errorf("%s: so it is also where that rule is switched off", name)
		}
	}
}

// What is known of the end of a job decides what may be done with it.
func TestGatesOfEnds(t *testing.T) {
	t.Parallel()
	g := withGates(0)
	own := grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}
	there := grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}
	once, again := jobOf(me, "a", "1"), jobOf(me, "a", "1")
	again.Rerunnable = true
	part := once
	part.Part = &grid.Part{}
	overdue, end := g.beforeOverdue, g.beforeEnd
	harmless := func(j *job) gate { return g.beforeAgain(j, true) }
	unknown := func(j *job) gate { return g.beforeAgain(j, false) }
	done := grid.Run{Started: 5, End: grid.Completed}
	for name, k := range map[string]struct {
		gate func(*job) gate
		r    grid.Record
		want gate
	}{
		"overdue, there":              {overdue, grid.Record{Tenure: there, State: grid.Running}, untilOwner},
		"overdue, ended":              {overdue, grid.Record{Tenure: own, State: grid.Failed}, itEnded},
		"overdue, its program ended":  {overdue, grid.Record{Tenure: own, State: grid.Finished, Run: done}, itEnded},
		"overdue, it runs":            {overdue, grid.Record{Tenure: own, State: grid.Running}, open},
		"ended by hand, ended":        {end, grid.Record{Tenure: there, State: grid.Failed}, itEnded},
		"ended by hand, there":        {end, grid.Record{Tenure: there, State: grid.Running}, untilOwner},
		"ended by hand, its output":   {end, grid.Record{Tenure: own, State: grid.Finished, Run: done}, untilOutput},
		"ended by hand, it runs":      {end, grid.Record{Tenure: own, State: grid.Running}, open},
		"told, its output is there":   {g.beforeTelling, grid.Record{Tenure: there, State: grid.StageOut, Run: grid.Run{Outputs: grid.Manifest{{Path: "o"}}}}, untilOutput},
		"told, there is no output":    {g.beforeTelling, grid.Record{Tenure: there, State: grid.StageOut}, open},
		"told, lost with an end":      {g.beforeTelling, grid.Record{Tenure: there, State: grid.Lost, Run: done}, open},
		"told, lost":                  {g.beforeTelling, grid.Record{Tenure: there, State: grid.Lost}, untilOwner},
		"again, it may":               {unknown, grid.Record{Job: again, Run: done}, open},
		"again, it has ended":         {harmless, grid.Record{Job: once, Run: done}, itEnded},
		"again, nothing runs":         {harmless, grid.Record{Job: once, Run: grid.Run{Started: 5}}, open},
		"again, a part":               {harmless, grid.Record{Job: part}, itMayRun},
		"again, it has started":       {unknown, grid.Record{Job: once, Run: grid.Run{Started: 5}}, itStarted},
		"let go, it ran and may once": {g.beforeLettingGo, grid.Record{Job: once, State: grid.Running, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1}, Superseded: grid.Epoch{Term: 2}}}, untilHome},
		"let go, it was given up":     {g.beforeLettingGo, grid.Record{Job: once, State: grid.Running, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 2}, Superseded: grid.Epoch{Term: 2}}}, open},
		"let go, it did not run":      {g.beforeLettingGo, grid.Record{Job: once, State: grid.Assigned, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1}, Superseded: grid.Epoch{Term: 2}}}, open},
		"let go, it may again":        {g.beforeLettingGo, grid.Record{Job: again, State: grid.Running, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1}, Superseded: grid.Epoch{Term: 2}}}, open},
		"dropped, it is kept":         {g.beforeDrop, grid.Record{Tenure: grid.Tenure{Kept: true}, State: grid.StageOut, Run: done}, keptHere},
		"dropped, its result":         {g.beforeDrop, grid.Record{State: grid.StageOut, Run: done}, untilTaken},
		"dropped, it never started":   {g.beforeDrop, grid.Record{State: grid.StageOut, Run: grid.Run{End: grid.Completed}}, open},
		"dropped, it was stopped":     {g.beforeDrop, grid.Record{State: grid.StageOut, Run: grid.Run{Started: 5, End: grid.CancelledWalltime}}, untilTaken},
		"dropped, it failed":          {g.beforeDrop, grid.Record{State: grid.StageOut, Run: grid.Run{Started: 5, End: grid.Killed}}, open},
		"dropped, it was lost":        {g.beforeDrop, grid.Record{State: grid.Lost}, itMayRun},
	} {
		if got := k.gate(&job{rec: k.r}); got != k.want {
			t.Errorf("%s: it %v, want: it %v", name, got, k.want)
		}
	}
}

// A result of an older epoch is adopted where nothing of the job has begun since.
func TestGatesOfAdopting(t *testing.T) {
	t.Parallel()
	g := withGates(0)
	job1 := jobOf(me, "a", "1")
	at := grid.Epoch{Term: 1, Hop: 1}
	result := wire.Report{Job: job1.ID, Epoch: at, State: grid.StageOut, End: grid.Completed, Started: wire.Ago{Known: true}}
	runs := wire.Report{Job: job1.ID, Epoch: at, State: grid.Running, Started: wire.Ago{Known: true}}
	waits := wire.Report{Job: job1.ID, Epoch: at, State: grid.Assigned, Started: wire.Ago{Known: true}}
	own := grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 2}}
	for name, k := range map[string]struct {
		m      wire.Report
		change func(*grid.Record)
		want   gate
	}{
		"nothing was launched":              {result, func(*grid.Record) {}, open},
		"one waits in the batch system":     {result, func(r *grid.Record) { r.State, r.Attempt = grid.Assigned, 1 }, untilToken},
		"one was withdrawn":                 {result, func(r *grid.Record) { r.Attempt = 1 }, open},
		"it moves on":                       {result, func(r *grid.Record) { r.State = grid.Moving }, open},
		"it runs":                           {result, func(r *grid.Record) { r.State = grid.Running }, itStarted},
		"it is cancelled, and others heard": {result, func(r *grid.Record) { r.CancelRequested = true }, open},
		"its files are to come":             {result, func(r *grid.Record) { r.State = grid.StageIn }, open},
		"likewise, and it is cancelled":     {result, func(r *grid.Record) { r.State, r.CancelRequested = grid.StageIn, true }, open},
		"it is being withdrawn":             {result, func(r *grid.Record) { r.CancelRequested, r.State, r.Attempt = true, grid.Assigned, 1 }, itStarted},
		"another has it":                    {result, func(r *grid.Record) { r.Role = grid.Watching }, itStarted},
		"it was given up for lost":          {result, func(r *grid.Record) { r.State, r.Role = grid.Lost, grid.Watching }, open},
		"he never had it":                   {result, func(r *grid.Record) { r.Trail = nil }, keptHere},
		"it runs there":                     {runs, func(*grid.Record) {}, open},
		"it runs there, and may again":      {runs, func(r *grid.Record) { r.Job.Rerunnable = true }, forNobody},
		"it waits there":                    {waits, func(*grid.Record) {}, forNobody},
		"its start there is not known":      {wire.Report{State: grid.Running}, func(*grid.Record) {}, forNobody},
		"it may again, and its result here": {result, func(r *grid.Record) { r.Job.Rerunnable = true }, open},
	} {
		r := grid.Record{Job: job1, State: grid.Ready, Tenure: own, AtHome: grid.AtHome{Trail: []grid.PeerID{her}}}
		k.change(&r)
		if got := g.beforeAdopting(&job{rec: r}, her, k.m); got != k.want {
			t.Errorf("%s: it %v, want: it %v", name, got, k.want)
		}
		kept := &job{rec: r}
		kept.notAdopted = at
		if got := g.beforeAdopting(kept, her, k.m); k.want == open && r.State != grid.Lost && got != itStarted {
			t.Errorf("%s, and it was told to keep it: it %v", name, got)
		}
	}
}

// What parts do together they do when all sites are so far; with the rule off, when the first is.
func TestGatesOfManySites(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		rule Rules
		gate func(g *gates, so, of int) gate
	}{
		"confirm": {ConfirmBeforeAllTentative, (*gates).beforeConfirming}, "go": {GoBeforeAllThere, (*gates).beforeGo}, "all begun": {BegunWithoutOthers, (*gates).beforeAllBegun},
	} {
		for off, want := range map[Rules][]gate{0: {untilSites, untilSites, open}, k.rule: {untilSites, open, open}} {
			for so, w := range want {
				if got := k.gate(withGates(off), so, 2); got != w {
					t.Errorf("%s, %d of 2, with %v off: it %v, want: it %v", name, so, off, got, w)
				}
			}
		}
	}
}

// A part takes its start token when it was told to; an offer that failed burns its hop.
func TestGatesOfNumbersAndTokens(t *testing.T) {
	t.Parallel()
	at := func(hop uint32) grid.Epoch { return grid.Epoch{Term: 1, Hop: hop} }
	offered := &job{rec: grid.Record{Tenure: grid.Tenure{Epoch: at(2), Handoff: grid.Handoff{Epoch: at(3)}}}}
	before := &job{rec: grid.Record{Tenure: grid.Tenure{Epoch: at(2), Handoff: grid.Handoff{Epoch: at(1)}}}}
	for off, want := range map[Rules]struct {
		passes gate
		burnt  grid.Epoch
	}{0: {untilHome, at(3)}, TokenBeforeGo: {open, at(3)}, EpochReused: {untilHome, at(2)}} {
		g := withGates(off)
		if g.beforePassing(true) != open || g.beforePassing(false) != want.passes {
			t.Errorf("with %v off: told it %v, not told it %v", off, g.beforePassing(true), g.beforePassing(false))
		}
		if g.burnt(offered) != want.burnt || g.burnt(before) != at(2) {
			t.Errorf("with %v off %v is burnt, and %v where the offer was before", off, g.burnt(offered), g.burnt(before))
		}
	}
}

// What keeps a job back at its home: its terms, then that its sites are chosen; the switch of the terms is not that of the sites.
func TestWhatKeepsAJobBack(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		at        func() *atGate
		terms     keeping
		manySites bool
		off       Rules
		want      keeping
	}{
		"nothing":                       {ofHere, notKept, false, 0, notKept},
		"its terms":                     {ofHere, untilReleased, false, 0, untilReleased},
		"its terms, which do not count": {ofHere, untilReleased, false, KeptBackStarts, notKept},
		"its sites":                     {ofHere, notKept, true, 0, untilChosen},
		"both":                          {ofHere, untilReleased, true, 0, untilReleased},
		"both, and terms do not count":  {ofHere, untilReleased, true, KeptBackStarts, untilReleased},
		"its sites, which its home alone chooses": {ofThere, notKept, true, 0, notKept},
	} {
		s := k.at()
		s.o.keeps, s.cfg.Broken = k.terms, k.off
		if k.manySites {
			s.rec.Job.Coallocation = &grid.Coallocation{}
		}
		if got := s.gates.kept(s.job); got != k.want {
			t.Errorf("%s: %v, want %v", name, got, k.want)
		}
	}
}

// People are told who is asked after a rollback, and who of the sites that may have got a job; of any other gate its own words.
func TestWhyAGateHolds(t *testing.T) {
	t.Parallel()
	s := ofHere()
	for hold, want := range map[gate]string{untilAll: s.asking(), untilReported: s.successorsWord(s.job), untilNeighbours: untilNeighbours.String(), untilHome: untilHome.String()} {
		if got := s.gates.why(s.job, hold); got != want {
			t.Errorf("%v is told as %q", hold, got)
		}
	}
}
