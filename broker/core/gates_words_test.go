package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A job that was given away comes back by the word of the journal that was READY, and of no other.
func TestObstaclesOfTakingBack(t *testing.T) {
	t.Parallel()
	free := func() *atGate {
		s := freely(me)
		s.rec.Candidate = in(4, 30)
		return s
	}
	by := func(m wire.Declined) func(*atGate) gate {
		return func(s *atGate) gate { return s.gates.beforeTakingBack(s.job, m) }
	}
	closedBy(t, "take back", free, by(wire.Declined{Journal: in(4, 30)}), journalBack, someSilent,
		obstacle{"another journal was ready", func(s *atGate) { s.rec.Candidate.Incarnation++ }, untilForgotten},
		obstacle{"it was ready in an earlier life", func(s *atGate) { s.rec.Candidate.Life-- }, untilInquired},
		obstacle{"it has lost what was ready", func(s *atGate) { s.rec.Candidate.Sequence++ }, untilForgotten})
	for name, m := range map[string]wire.Declined{
		"it has gone on": {Journal: in(4, 31)},
		"a later life says that it reaches so far":       {Journal: in(5, 31), Ready: in(4, 30)},
		"a later life of a lower sequence says the same": {Journal: in(5, 3), Ready: in(4, 30)},
	} {
		if got := by(m)(free()); got != open {
			t.Errorf("take back: %s: it %v", name, got)
		}
	}
}

// A job whose owner says never to own it goes on at its home, unless that is not what he was asked, or it may have begun with him.
func TestObstaclesOfResuming(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 2}
	free := func() *atGate {
		s := freely(me)
		s.job.rec, s.job.asked, s.job.letGo = watched(jobOf(me, "a", "1"), at), 1, at
		return s
	}
	m := wire.Declined{Handoff: wire.HandoffID{Job: jobOf(me, "a", "1").ID, Epoch: at, To: her}}
	resume := func(s *atGate) gate { return s.gates.beforeResuming(s.job, her, m.Handoff) }
	never := func(name string, put func(*atGate)) obstacle { return obstacle{name, put, untilForgotten} }
	other := func(name string, put func(*atGate)) obstacle { return obstacle{name, put, forAnother} }
	closedBy(t, "resume", free, resume,
		other("it is of another home", func(s *atGate) { s.rec.Job.Home = her }),
		other("it is owned here", func(s *atGate) { s.rec.Role = grid.Owning }),
		other("another owns it", func(s *atGate) { s.rec.Owner = him }),
		other("it is of another epoch", func(s *atGate) { s.rec.Epoch.Hop++ }),
		other("it has ended", func(s *atGate) { s.rec.State = grid.Lost }),
		other("he was not asked", func(s *atGate) { s.job.asked = 0 }), journalBack, someSilent,
		never("this home has made him its owner", func(s *atGate) { s.rec.Handoff.Epoch = at }),
		never("he has said that he owns it", func(s *atGate) { s.rec.Report = 1 }),
		never("it was adopted", func(s *atGate) { s.rec.Adopted = grid.Epoch{Term: 1} }),
		never("it is a part", func(s *atGate) { s.rec.Job.Part = &grid.Part{} }),
		never("it has a result", func(s *atGate) { s.rec.End = grid.Completed }),
		never("it has started, and may once", func(s *atGate) { s.rec.Started = 5 }),
		obstacle{"who gave it away may take it back", func(s *atGate) { s.letGo = grid.Epoch{} }, untilGiver})
	opensWith(t, "resume", free, resume, map[string]func(*atGate){
		"it has started, and may again": func(s *atGate) { s.rec.Started, s.rec.Job.Rerunnable = 5, true }})
	m.Handoff.To = him
	if got := resume(free()); got != forAnother {
		t.Errorf("a handoff to another: it %v", got)
	}
}

// What a candidate says is of the handoff that is open with him.
func TestObstaclesOfHearing(t *testing.T) {
	t.Parallel()
	id := wire.HandoffID{Epoch: grid.Epoch{Term: 1, Hop: 3}, To: her}
	free := func() *atGate {
		s := freely(me)
		s.rec.Handoff = grid.Handoff{Phase: grid.Offering, To: her, Epoch: id.Epoch}
		return s
	}
	closedBy(t, "hear", free, func(s *atGate) gate { return s.gates.beforeHearing(s.job, her, id) },
		obstacle{"it is open with another", func(s *atGate) { s.rec.Handoff.To = him }, forAnother},
		obstacle{"none is open", func(s *atGate) { s.rec.Handoff.Phase = grid.NoHandoff }, forAnother},
		obstacle{"it is of another epoch", func(s *atGate) { s.rec.Handoff.Epoch.Hop++ }, forAnother})
	if got := free().gates.beforeHearing(free().job, him, id); got != forAnother {
		t.Errorf("another says it: it %v", got)
	}
	for name, k := range map[string]struct {
		began, heard func(Config) grid.Tick // so long ago
		want         gate
	}{
		"asked just now":             {func(Config) grid.Tick { return 0 }, nil, untilSilent},
		"asked nearly so long ago":   {func(c Config) grid.Tick { return c.AcceptDeadline - 1 }, nil, untilSilent},
		"asked so long ago":          {func(c Config) grid.Tick { return c.AcceptDeadline }, nil, open},
		"accepted, heard just now":   {func(c Config) grid.Tick { return c.AcceptDeadline }, func(Config) grid.Tick { return 0 }, untilSilent},
		"accepted, nearly too long":  {func(c Config) grid.Tick { return 2 * c.Lease }, func(c Config) grid.Tick { return c.Lease - 1 }, untilSilent},
		"accepted, silent for long":  {func(c Config) grid.Tick { return 2 * c.Lease }, func(c Config) grid.Tick { return c.Lease }, open},
		"accepted, its lease is new": {func(c Config) grid.Tick { return c.Lease }, func(Config) grid.Tick { return 1 }, untilSilent},
	} {
		s := free()
		s.job.began, s.job.heard = s.now-k.began(s.cfg), 0
		if k.heard != nil {
			s.job.heard = s.now - k.heard(s.cfg)
		}
		if got := s.gates.beforeGivingUp(s.job); got != k.want {
			t.Errorf("an offer, %s: it %v, want: it %v", name, got, k.want)
		}
	}
}

// The commit of an owner elsewhere than home is taken with a proof alone.
func TestObstaclesOfTaking(t *testing.T) {
	t.Parallel()
	free := func() *atGate {
		s := freely(her)
		s.rec.Owner = her
		return s
	}
	take := func(s *atGate) gate { return s.gates.beforeTaking(s.job, nil) }
	byAnother := func(s *atGate) { s.rec.Owner = him }
	closedBy(t, "take", free, take, obstacle{"an owner elsewhere", byAnother, untilHome})
	opensWith(t, "take", free, take, map[string]func(*atGate){"at its home": func(s *atGate) { byAnother(s); s.rec.Job.Home = me }})
	opensWith(t, "take, with a proof", free, func(s *atGate) gate { return s.gates.beforeTaking(s.job, make([]grid.Certificate, 1)) },
		map[string]func(*atGate){"an owner elsewhere": byAnother})
}

// A Commit lets a job start where it cannot be older than what the home has said since.
func TestObstaclesOfRelying(t *testing.T) {
	t.Parallel()
	long := func(s *atGate) { s.job.began = s.now - s.cfg.Lease - 1 }
	by := func(giver grid.PeerID) func(*atGate) gate {
		return func(s *atGate) gate { return s.gates.beforeRelying(s.job, giver) }
	}
	free := func() *atGate {
		s := freely(her)
		s.job.recovered, s.job.began = false, s.now-s.cfg.Lease
		return s
	}
	stalled := obstacle{"this broker did not listen since", func(s *atGate) { s.job.stalled = true }, untilHome}
	earlier := obstacle{"it is of an earlier life", func(s *atGate) { s.job.recovered = true }, untilHome}
	closedBy(t, "rely, on another", free, by(him), stalled, earlier, obstacle{"it was offered long ago", long, untilHome})
	closedBy(t, "rely, on its home", free, by(her), stalled, earlier)
	opensWith(t, "rely, on its home", free, by(her), map[string]func(*atGate){"it was offered long ago": long})
}

// A home lets another have its job where certificates prove him its owner, unless what may run once has run with who has it.
func TestObstaclesOfYielding(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		put     func(*atGate)
		started bool // the other has
		want    gate
	}{
		"it waits here":                           {func(*atGate) {}, false, open},
		"it waits here, attempts may be lost":     {func(s *atGate) { s.job.reconciled, s.lack = false, true }, false, untilDirectory},
		"it waits here, none can be lost":         {func(s *atGate) { s.job.reconciled = false }, false, open},
		"it waits here, its directory has spoken": {func(s *atGate) { s.lack = true }, false, open},
		"an attempt is in the batch system":       {func(s *atGate) { s.rec.Attempt = 1 }, false, untilToken},
		"an attempt was withdrawn":                {func(s *atGate) { s.rec.Attempt, s.rec.State = 1, grid.Ready }, false, open},
		"it runs here":                            {func(s *atGate) { s.rec.State, s.rec.Attempt = grid.Running, 1 }, false, itStarted},
		"it has run here":                         {func(s *atGate) { s.rec.State = grid.Finished }, false, itStarted},
		"it brings its output here":               {func(s *atGate) { s.rec.State = grid.StageOut }, false, itStarted},
		"it runs in both places":                  {func(s *atGate) { s.rec.State, s.rec.Attempt = grid.Running, 1 }, true, open},
		"a third has it, and has not begun":       {func(s *atGate) { s.rec.Role, s.rec.State = grid.Watching, grid.Assigned }, false, open},
		"a third runs it, it may once":            {func(s *atGate) { s.rec.Role, s.rec.State, s.rec.Started = grid.Watching, grid.Running, 5 }, false, itStarted},
		"a third runs it, it may again": {func(s *atGate) {
			s.rec.Role, s.rec.State, s.rec.Started, s.rec.Job.Rerunnable = grid.Watching, grid.Running, 5, true
		}, false, open},
		"a third ended it before it began":            {func(s *atGate) { s.rec.Role, s.rec.State = grid.Watching, grid.StageOut }, false, open},
		"a third waits with it, whatever may be lost": {func(s *atGate) { s.rec.Role, s.job.reconciled, s.lack = grid.Watching, false, true }, false, open},
		"a third started it once, and it waits again": {func(s *atGate) { s.rec.Role, s.rec.Started = grid.Watching, 5 }, false, open},
	} {
		s := freely(me)
		k.put(s)
		if got := s.gates.beforeYielding(s.job, k.started); got != k.want {
			t.Errorf("%s: it %v, want: it %v", name, got, k.want)
		}
	}
}

// An acknowledgement lets the owner start: it is not given while the home may have given the job to another.
func TestObstaclesOfAcknowledging(t *testing.T) {
	t.Parallel()
	lacks := obstacle{"its directory has not spoken", func(s *atGate) { s.job.reconciled, s.lack = false, true }, untilDirectory}
	output := obstacle{"its output is not here", func(s *atGate) { s.rec.State = grid.StageOut }, untilOutput}
	older := obstacle{"the owner has an older version", func(s *atGate) { s.rec.Job.Walltime++; s.job.digest = grid.Hash{} }, untilVersion}
	version := freely(me).job.sum()
	told := func(m wire.Report) func(*atGate) gate {
		return func(s *atGate) gate { return s.gates.beforeAcknowledging(s.job, m) }
	}
	closedBy(t, "it waits", ofHere, told(wire.Report{State: grid.Assigned, Version: version}), output, journalBack, lacks, older)
	closedBy(t, "it runs", ofHere, told(wire.Report{State: grid.Running, Version: version}), output)
	opensWith(t, "it runs", ofHere, told(wire.Report{State: grid.Running, Version: version}), map[string]func(*atGate){
		"the journal was rolled back": journalBack.put, "its directory has not spoken": lacks.put, "an older version": older.put})
	opensWith(t, "it waits", ofHere, told(wire.Report{State: grid.Assigned}), map[string]func(*atGate){
		"which version is not told": older.put, "none can be lost": func(s *atGate) { s.job.reconciled = false }, "its directory has spoken": func(s *atGate) { s.lack = true }})
}

// Who reports a job is told by its epoch.
func TestWhoReports(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 2}
	for name, k := range map[string]struct {
		from    grid.PeerID
		epoch   grid.Epoch
		adopted grid.Epoch
		want    claimant
	}{
		"the owner":                     {her, at, grid.Epoch{}, theOwner},
		"another, of the same epoch":    {him, at, grid.Epoch{}, ofLater},
		"the owner, of a later epoch":   {her, grid.Epoch{Term: 1, Hop: 3}, grid.Epoch{}, ofLater},
		"the owner, of an older epoch":  {her, grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{}, ofOlder},
		"another, of an older epoch":    {him, grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{}, ofOlder},
		"whose older run was adopted":   {her, grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{Term: 1, Hop: 1}, theOwner},
		"another, of the adopted epoch": {him, grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{Term: 1, Hop: 1}, ofOlder},
	} {
		s := freely(me)
		s.rec = watched(jobOf(me, "a", "1"), at)
		s.rec.Adopted = k.adopted
		if got := s.gates.claims(s.job, k.from, wire.Report{Epoch: k.epoch}); got != k.want {
			t.Errorf("%s: %d, want %d", name, got, k.want)
		}
	}
}

// A change that another broker passes on is made once, and not after a later one of his.
func TestChangesPassedOn(t *testing.T) {
	t.Parallel()
	s := freely(me)
	s.rec.Relay(grid.Relayed{By: her, Number: 7})
	for by, want := range map[grid.Relayed]gate{
		{}: open, {By: her, Number: 7}: itIsDone, {By: her, Number: 6}: overtaken, {By: her, Number: 8}: open, {By: him, Number: 7}: open,
	} {
		if got := s.gates.beforeChanging(s.job, by); got != want {
			t.Errorf("%+v: it %v, want: it %v", by, got, want)
		}
	}
}
