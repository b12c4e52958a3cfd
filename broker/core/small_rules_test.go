package core

import (
	"fmt"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// An instant goes to another site as a span, and is the same there; one that has passed is the next that there is.
func TestInstantsTravelAsSpans(t *testing.T) {
	t.Parallel()
	k := kernelOf(&others{})
	for _, at := range []grid.Tick{k.now + 1, k.now + grid.Hour, k.now, k.now - 5, 0} {
		want := max(at, k.now-5)
		if at == 0 {
			want = 0
		}
		if got := k.until(k.ahead(at)); got != want {
			t.Errorf("%d is %d when it has travelled, not %d", at, got, want)
		}
		if got := k.instant(k.ago(at)); at <= k.now && got != at || at > k.now && got != k.now {
			t.Errorf("%d, of the past, is %d", at, got)
		}
	}
	if got := k.until(wire.In{Span: -2 * k.now, Known: true}); got != 1 {
		t.Errorf("an instant before all time is %d", got)
	}
}

// All parts of a job get the same time, that their home has reckoned; any other job what this site gives.
func TestPartsGetTheTimeOfTheirWhole(t *testing.T) {
	t.Parallel()
	k := kernelOf(&others{})
	k.cfg.Site.Speed = 2
	j := jobOf(me, "a", "1")
	if got := k.limitOf(&j); got != k.limit(j.Walltime) {
		t.Errorf("a job gets %v", got)
	}
	j.Part = &grid.Part{Limit: 7 * grid.Hour}
	if got := k.limitOf(&j); got != 7*grid.Hour {
		t.Errorf("a part gets %v", got)
	}
}

// How a job has ended is told to who needed it to end well.
func TestHowAJobEnded(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		state grid.State
		code  int
		want  string
	}{
		{grid.Completed, 0, "has ended COMPLETED"}, {grid.Completed, 3, "has ended with a status that is not 0"},
		{grid.Failed, 0, "has ended FAILED"}, {grid.Failed, 3, "has ended FAILED"}, {grid.Killed, 137, "has ended KILLED"},
	} {
		if got := howEnded(k.state, k.code); got != k.want {
			t.Errorf("%v with %d: %q", k.state, k.code, got)
		}
	}
}

// Where nobody enters nothing is saved.
func TestAWindowWithoutRoomSavesNothing(t *testing.T) {
	t.Parallel()
	s := newStand()
	s.window = 2
	s.begin()
	id := s.sweep("1", 5, 0)
	before := len(s.told)
	s.groups.hungry = true
	s.settle()
	if got := s.states(id); len(s.told) != before || s.saved[id].Entered != 2 {
		t.Errorf("%q, saved %d times more", got, len(s.told)-before)
	}
	s.end(id.Job(1))
	if s.settle(); len(s.told) == before || s.saved[id].Entered != 3 {
		t.Errorf("one has entered, and %d are counted", s.saved[id].Entered)
	}
}

// An answer is remembered for its time, and not a moment longer; what is under way always.
func TestAnAnswerIsRememberedForItsTime(t *testing.T) {
	t.Parallel()
	for age, kept := range map[grid.Tick]int{0: 2, answeredFor: 2, answeredFor + 1: 1} {
		m := newRelay(kernelOf(&others{}))
		since := m.now - age
		m.served[servedKey{from: her, number: 1}] = &served{since: since, answer: &wire.Response{}}
		m.served[servedKey{from: her, number: 2}] = &served{since: since}
		if m.roomToServe(her); len(m.served) != kept {
			t.Errorf("after %v s %d of 2 are remembered", age.Seconds(), len(m.served))
		}
	}
}

// What is under way is bounded, of one member more closely, and so are answers.
func TestWhatIsServedIsBounded(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		from         grid.PeerID
		here, others int
		answered     int
		full         bool
	}{
		"nothing": {}, "one short of a member's": {here: maxServingEach - 1}, "a member's": {here: maxServingEach, full: true}, "another member's": {others: maxServingEach},
		"one short of all": {others: maxServing - 1}, "all": {others: maxServing, full: true},
		"one short of the answers": {answered: maxAnswered - 1}, "the answers": {answered: maxAnswered, full: true},
	} {
		m := newRelay(kernelOf(&others{}))
		put := func(from string, n int, answer *wire.Response) {
			for i := range n {
				m.served[servedKey{from: grid.PeerID(from), number: uint64(i)}] = &served{since: m.now, answer: answer}
			}
		}
		put(string(her), k.here, nil)
		for i := range k.others {
			put(fmt.Sprint("peer-", i), 1, nil)
		}
		put("peer-answered", k.answered, &wire.Response{})
		if got, why := m.roomToServe(her); (got == wire.OutcomeUnavailable) != k.full || (why != "") != k.full {
			t.Errorf("%s: outcome %v, %q", name, got, why)
		}
	}
}

// What the batch system holds is asked for again in a while where that is not sure.
func TestAnUnsureSiteListsItsReservationsAgain(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		unsure bool
		listed grid.Tick // ago
		due    grid.Tick // from now; 0 is never
	}{{false, 0, 0}, {true, 0, listEvery}, {true, listEvery - 3*grid.Second, 3 * grid.Second}, {true, 2 * listEvery, grid.Second}} {
		o := &others{}
		m := newReservations(kernelOf(o))
		m.gates = o
		m.take(nil)
		m.unsure, m.listed = k.unsure, m.now-k.listed
		m.rearm()
		due := m.timers.general[bookDue-concerns]
		if k.due == 0 && due != 0 || k.due > 0 && due != m.now+k.due {
			t.Errorf("%+v: it is due in %v", k, due-m.now)
		}
	}
}

// A trace decides about a job that is older than it and has not ended.
func TestATraceOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	trace := grid.Epoch{Term: 1, Hop: 4}
	for name, k := range map[string]struct {
		state grid.State
		epoch grid.Epoch
		lost  bool
	}{
		"it waits": {grid.Ready, grid.Epoch{Term: 1}, true}, "it has ended": {grid.Completed, grid.Epoch{Term: 1}, false},
		"it was killed": {grid.Killed, grid.Epoch{Term: 1}, false}, "it is as old": {grid.Ready, trace, false},
	} {
		j := jobOf(me, "a", "1")
		c := signed(grid.Record{Job: j, State: k.state, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: k.epoch}})
		is := c.jobs[j.ID]
		c.kernel.live[j.ID] = is
		is.traceAt, is.traceOf = trace, her
		c.recovery.settleTraces()
		if got := is.rec.State != k.state; got != k.lost || is.traceAt != (grid.Epoch{}) {
			t.Errorf("%s: it is %v, and the trace is at %v", name, is.rec.State, is.traceAt)
		}
	}
}

// Who asks for the same as before is told so, whatever the number of the job; who asks for anything else is not.
func TestWhichJobsAreAlike(t *testing.T) {
	t.Parallel()
	known := jobOf(me, "a", "1")
	known.Demand.Chunks = append(known.Demand.Chunks, grid.Chunk{Count: 2, Processes: 1, Cores: 1})
	known.Program.Dialect, known.Program.Output = grid.DialectSlurm, "out.%j"
	for name, k := range map[string]struct {
		change func(*grid.Job)
		alike  bool
	}{
		"the same":        {func(*grid.Job) {}, true},
		"other files":     {func(j *grid.Job) { j.Inputs = grid.Manifest{{Path: "x"}} }, true},
		"another name":    {func(j *grid.Job) { j.Name = "x" }, false},
		"another queue":   {func(j *grid.Job) { j.Queue = "x" }, false},
		"another length":  {func(j *grid.Job) { j.Walltime++ }, false},
		"may run again":   {func(j *grid.Job) { j.Rerunnable = true }, false},
		"another program": {func(j *grid.Job) { j.Program.Executable = "/bin/false" }, false},
		"another demand":  {func(j *grid.Job) { j.Demand.Chunks[0].Cores++ }, false},
	} {
		a, b := known, known
		a.Demand.Chunks = append([]grid.Chunk(nil), known.Demand.Chunks...)
		b.Demand.Chunks = append([]grid.Chunk(nil), known.Demand.Chunks...)
		b.ID = jobOf(me, "a", "2").ID
		k.change(&b)
		a.Number()
		if got := alike(&a, &b); got != k.alike {
			t.Errorf("%s: alike %t", name, got)
		}
	}
}

// What was to be at an instant of a clock that was ahead is put off no longer than it ever is, and nothing has been in the future.
func TestAClockThatWasAheadPutsNothingOff(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	a, now := c.m.all[theWhole], c.f.now
	late := now + grid.Day
	a.rec.Next, a.rec.Go, a.rec.Begun = late, late, late
	a.rec.Refused = []grid.RefusedSlot{{At: late}, {At: now}, {At: now - 1}}
	c.m.fromNow(a)
	if a.rec.Next != now+c.m.cfg.Rest || a.rec.Go != now || a.rec.Begun != now || len(a.rec.Refused) != 2 {
		t.Errorf("in an hour's time it is %+v", a.rec)
	}
	a.rec.Next, a.rec.Go, a.rec.Begun = now+1, now-1, now-2
	if c.m.fromNow(a); a.rec.Next != now+1 || a.rec.Go != now-1 || a.rec.Begun != now-2 || len(a.rec.Refused) != 2 {
		t.Errorf("what was right is %+v", a.rec)
	}
}

// The start that an owner foresees is the job's; a job that waits there and has none any more is told so, one that moves keeps it.
func TestTheForeseenStartOfAReport(t *testing.T) {
	t.Parallel()
	o := &others{}
	k := kernelOf(o)
	m := &home{kernel: k}
	for _, c := range []struct {
		report wire.Report
		want   grid.Tick
	}{
		{wire.Report{State: grid.Assigned, Estimate: wire.In{Span: grid.Minute, Known: true}}, k.now + grid.Minute},
		{wire.Report{State: grid.Moving, Estimate: wire.In{Span: grid.Minute, Known: true}}, k.now + grid.Minute},
		{wire.Report{State: grid.Assigned}, 0}, {wire.Report{State: grid.Moving}, 77},
	} {
		r := grid.Record{EstimateNow: 77}
		if m.estimateOf(&r, c.report); r.EstimateNow != c.want {
			t.Errorf("%+v: %d", c.report, r.EstimateNow)
		}
	}
}

// An owner that is heard again is shown so, once.
func TestContactIsShownOnce(t *testing.T) {
	t.Parallel()
	c := signed(watched(jobOf(me, "a", "1"), grid.Epoch{Term: 1, Hop: 2}))
	j := c.sorted()[0]
	j.rec.ContactLost, c.kernel.out = 5, nil
	for _, want := range []int{1, 1} {
		if c.home.contact(j); j.rec.ContactLost != 0 || len(c.kernel.out) != want {
			t.Errorf("lost at %d, shown %d times", j.rec.ContactLost, len(c.kernel.out))
		}
	}
}
