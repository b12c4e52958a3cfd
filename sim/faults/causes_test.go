package faults

import (
	"slices"
	"testing"

	"gbroker/grid"
)

// Home and site are estranged of a job by what was said since that came there, not by what was said before.
func TestEstrangedOfAJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		home, there int // when the one was told to forget the other; 0 is never
		is          bool
	}{
		"both since it came there":     {200, 300, true},
		"the home's before it came":    {90, 300, false},
		"the site's before it came":    {200, 90, false},
		"the home's administrator not": {0, 300, false},
		"the site's administrator not": {200, 0, false},
	} {
		x := newScene(t)
		x.f.had[x.b] = at(100)
		if c.home > 0 {
			x.a.forgot[x.b.peer] = at(c.home)
		}
		if c.there > 0 {
			x.b.forgot[x.a.peer] = at(c.there)
		}
		if got := x.f.estranged(x.b); got != c.is {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A part that was withdrawn, and begins out of a machine that was put back to before that, is held against nobody.
func TestAPartThatFindsNoToken(t *testing.T) {
	t.Parallel()
	for _, files := range []bool{false, true} {
		x := newScene(t)
		x.two(0, 0)
		now := began(950, x.b, 1)
		now.id.Job = "job-1"
		for _, p := range x.f.rounds[0].parts {
			p.arrived, p.confirmed = true, true
		}
		x.f.rounds[0].goes, x.f.told = true, grid.Killed
		x.w.truth.pieces["r1"] = x.f.rounds[0].parts[:1]
		x.w.truth.facts["job-1"].never[now.id] = at(200)
		x.b.lost(100, 400, files)
		x.w.truth.mayBegin(x.b, &local{queued: now.queued, sub: grid.Submission{ID: now.id, Job: grid.Job{Reservation: "r1", Part: &grid.Part{Of: "job"}}}})
		if v := x.w.result.Violation; (v == nil) != files {
			t.Errorf("its tokens are gone: %t, the violation is %+v", files, v)
		}
	}
}

// A job waits in vain as a duplicate of its home was told the end of what it waits for, not as one has acted on it.
func TestWhatADuplicateWasToldOfADependency(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		which grid.JobID
		vain  bool
	}{"of the other job": {"other", true}, "of this one": {"job", false}} {
		x := newScene(t)
		x.w.truth.facts["other"] = newFact("other", x.a, &grid.Job{Demand: cores(1)})
		x.f.asked = asked{is: true, terms: grid.Terms{After: []grid.Dependency{{Kind: grid.AfterOK, On: "other"}}}}
		x.a.copied = at(100)
		x.w.truth.facts[c.which].wrote[x.a] = []grid.Tick{at(200)}
		if got := x.f.inVain(); got != c.vain {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A duplicate of its home does not make a job due, nor lets it go before what it waits for.
func TestADuplicateKeepsToWhatItKnows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		terms    grid.Terms
		held     bool
		violated bool
	}{
		"it is held, of which the other does not know": {grid.Terms{}, true, false},
		"it is not due": {grid.Terms{NotBefore: grid.Tick(1) << 60}, false, true},
		"it waits":      {grid.Terms{After: []grid.Dependency{{Kind: grid.AfterOK, On: "other"}}}, false, true},
	} {
		x := newScene(t)
		x.w.truth.facts["other"] = newFact("other", x.a, &grid.Job{Demand: cores(1)})
		x.f.asked = asked{is: true, terms: c.terms, held: c.held}
		x.a.copied = at(100)
		x.f.wrote[x.a] = []grid.Tick{at(200)}
		if x.f.mayGo(x.w, began(900, x.a, 1), &grid.Job{}); (x.w.result.Violation != nil) != c.violated {
			t.Errorf("%s: %+v", name, x.w.result.Violation)
		}
	}
}

// Only of a version that is lost may another site have the older one.
func TestAVersionIsLostWithTheJournal(t *testing.T) {
	t.Parallel()
	for restored, lost := range map[grid.Tick]bool{grid.Minute: false, grid.Hour: true} {
		a := asked{walltime: grid.Minute}
		a.setBack(&grid.Record{Job: grid.Job{Walltime: restored}}, lapse{})
		if got := len(a.lost) > 0; got != lost {
			t.Errorf("put back to %v: %t", restored, got)
		}
	}
}

// Files that are lost keep a job from its end where it waits for them, or is without them.
func TestWhereFilesAreMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record *grid.Record
		files  bool
		vain   bool
	}{
		"its home does not know it":     {nil, false, true},
		"its home waits for them":       {&grid.Record{State: grid.StageIn, Tenure: grid.Tenure{Role: grid.Owning}}, true, true},
		"its home has looked for them":  {&grid.Record{State: grid.StageIn, Tenure: grid.Tenure{Role: grid.Owning}, AtHome: grid.AtHome{Unsupplied: true}}, false, true},
		"its home would find them":      {&grid.Record{State: grid.StageIn, Tenure: grid.Tenure{Role: grid.Owning}, AtHome: grid.AtHome{Unsupplied: true}}, true, false},
		"its home has it without them":  {&grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}, false, true},
		"its home has it, and them":     {&grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}, true, false},
		"another has it, and so had it": {&grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Watching}}, false, false},
	} {
		x := newScene(t)
		x.f.unsupplied = true
		if c.record != nil {
			x.a.disk.records["job"] = c.record
		}
		x.a.disk.folder("job").inputs = c.files
		if got := x.f.waitsInVain(); got != c.vain {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A home that has lost a job with its files, and learns it again, waits for them in vain where it is to begin anew.
func TestAJobThatIsLearntAgainHasNoFiles(t *testing.T) {
	t.Parallel()
	for _, files := range []bool{false, true} {
		x := newScene(t)
		x.f.uploaded, x.f.files = true, true
		x.w.truth.setBack(x.a, lapse{since: at(100), files: true, words: true})
		x.a.disk.folder("job").inputs = files
		x.a.disk.records["job"] = &grid.Record{State: grid.StageIn, Tenure: grid.Tenure{Role: grid.Owning}, AtHome: grid.AtHome{Unsupplied: true}}
		x.f.unknown = false
		if excused := len(x.w.open()) == 0; excused == files {
			t.Errorf("its files are there %t: excused %t", files, excused)
		}
	}
}

// What has ended does not start again at the term of that end, or a later one.
func TestAStartAfterAnEnd(t *testing.T) {
	t.Parallel()
	for _, told := range []grid.State{grid.Failed, grid.Completed, grid.CancelledDeadline, grid.Lost, 0} {
		for term := range uint32(3) {
			x := newScene(t)
			x.f.told, x.f.toldAt, x.f.toldOf = told, at(500), grid.Epoch{Term: 1}
			x.f.mayStart(x.w, began(900, x.b, term))
			if violated := told != 0 && told != grid.Lost && term > 0; (x.w.result.Violation != nil) != violated {
				t.Errorf("told %s, at term %d: %+v", told, term, x.w.result.Violation)
			}
		}
	}
}

// A program that ended by itself has not failed.
func TestFailedThoughItEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does     func(x *scene)
		violated bool
	}{
		"nothing else":                                    {func(*scene) {}, true},
		"at an older epoch":                               {func(x *scene) { x.f.ends[0].ID.Epoch.Term = 7 }, false},
		"it was killed":                                   {func(x *scene) { x.f.ends[0].Cause = grid.ByRequest }, false},
		"it was lost before":                              {func(x *scene) { x.f.starts = append(x.f.starts, x.f.starts[0]); x.f.starts[0].lost = true }, false},
		"its site has lost its end":                       {func(x *scene) { x.f.wrote[x.b] = []grid.Tick{at(300)}; x.b.lost(250, 400, false) }, false},
		"its machine was put back to before that":         {func(x *scene) { x.b.lost(250, 400, true) }, false},
		"its machine was put back to after that":          {func(x *scene) { x.b.lost(350, 400, true) }, true},
		"its journal was put back, and has nothing of it": {func(x *scene) { x.b.lost(250, 400, false) }, true},
		"a site had refused it then":                      {func(x *scene) { x.f.refusal.epoch = grid.Epoch{Term: 1} }, true},
		"no site was large enough for a while":            {func(x *scene) { x.f.stranded = true }, true},
	} {
		x := newScene(t)
		s := began(100, x.b, 1)
		s.ended = at(300)
		x.f.starts, x.f.ends = []start{s}, []grid.Progress{{ID: s.id, Cause: grid.ByItself}}
		c.does(x)
		x.w.truth.judge(x.a, x.f, &grid.Record{State: grid.Failed, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1}}})
		if v := x.w.result.Violation; (v != nil) != c.violated {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// A job may be told FAILED as no site can run it, where none could, and for a while after one came back.
func TestFailedAsNoSiteCanRunIt(t *testing.T) {
	t.Parallel()
	nobody := []grid.Decision{vain(1, grid.Permanent, grid.Permanent)}
	for name, c := range map[string]struct {
		cores, removed int
		back           grid.Tick // so long ago; 0 is not
		found          []grid.Decision
		violated       bool
	}{
		"none could":                   {8, 2, 0, nobody, false},
		"it ended for another reason":  {8, 2, 0, nil, true},
		"a site may take it later":     {8, 2, 0, []grid.Decision{vain(1, grid.Permanent, grid.Temporary)}, true},
		"one was found since":          {8, 2, 0, append(nobody, grid.Decision{Epoch: grid.Epoch{Term: 1}, Chosen: "a"}), true},
		"that was in an older term":    {8, 2, 0, []grid.Decision{vain(0, grid.Permanent)}, true},
		"one could":                    {2, 2, 0, nobody, true},
		"one came back just before":    {8, 2, searching, nobody, false},
		"one has come back for longer": {8, 2, searching + 1, nobody, true},
	} {
		x := newScene(t)
		f := newFact("wide", x.a, &grid.Job{ID: "wide", Demand: cores(c.cores)})
		x.w.truth.facts["wide"] = f
		x.a.facts.Processes, x.b.facts.Processes = 4, 8
		f.stranded = false
		members := slices.Clone(x.a.members)
		for _, m := range members[:min(c.removed, len(members))] {
			x.a.unknow(m)
		}
		if c.back > 0 {
			for _, m := range members {
				x.a.know(m)
			}
			x.w.now += c.back
		}
		f.searched(c.found)
		x.w.truth.judge(x.a, f, &grid.Record{State: grid.Failed, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1}}})
		if v := x.w.result.Violation; (v != nil) != c.violated {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// vain is a search for a place whose sites all refuse, each so.
func vain(term uint32, kinds ...grid.RefusalKind) grid.Decision {
	d := grid.Decision{Epoch: grid.Epoch{Term: term}}
	for _, k := range kinds {
		d.Candidates = append(d.Candidates, grid.Candidate{Refusal: &grid.Refusal{Kind: k}})
	}
	return d
}

// What has started ends by its deadline when that has come, by the clock of a site that has the job.
func TestADeadlineThatHasNotCome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		starts, deadline int
		violated         bool
	}{
		"it has come":                            {1, 1000, false},
		"it has not":                             {1, 1001, true},
		"there is none at the site":              {1, 0, true},
		"it has not, and no site could be early": {0, 1001, false},
	} {
		x := newScene(t)
		x.f.asked.terms.Deadline = at(5000)
		told := grid.Record{State: grid.CancelledDeadline, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1}}}
		for range c.starts {
			s := began(100, x.b, 1)
			s.ended = at(300)
			x.f.starts, told.Started = append(x.f.starts, s), s.at
		}
		j := grid.Job{ID: "job", Home: x.a.peer}
		if c.deadline != 0 {
			j.Terms.Deadline = x.b.host.now() + grid.Tick(c.deadline-1000)*grid.Second
		}
		x.w.truth.saved(x.b, []grid.Change{grid.Saved(&grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}}})})
		x.w.truth.judge(x.a, x.f, &told)
		if v := x.w.result.Violation; (v != nil) != c.violated {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// Two own a job: the home has lost that it gave it to the one, which is out of its neighbours' file since; of another loss it does not hold.
func TestAnOwnerWhoseWordIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given, dropped int
		violated       bool
	}{
		"it has lost that":                {60, 900, false},
		"it has lost what came after":     {40, 900, true},
		"it was out of the file before":   {60, 70, true},
		"it was never out of that file":   {60, 0, true},
		"it has lost what it has not yet": {90, 900, true},
	} {
		x := newScene(t)
		e := grid.Epoch{Term: 1, Hop: 1}
		x.gave(1, c.given, x.a, x.b)
		x.a.lost(50, 80, false)
		if c.dropped > 0 {
			x.a.dropped[x.b.peer] = at(c.dropped)
		}
		if x.f.unheardAt(x.b, e, at(950)) == c.violated {
			t.Errorf("%s: violated %t", name, !c.violated)
		}
	}
}
