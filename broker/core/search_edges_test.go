package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// A member that has told when jobs would start there, and is not there now, is neither counted with nor asked.
func TestWhatADeadMemberToldCountsNot(t *testing.T) {
	t.Parallel()
	a, m, _ := telling(t, grid.Hour, 0)
	m.members[him].live = grid.Dead
	asked := here(m, 2*grid.Hour)
	if got := strings.TrimSpace(asked + " " + a.step(Tick{})); got != "makeOffer 1 peer-b" {
		t.Errorf("%s", got)
	}
}

// Where a job cannot start at a member, by what that told, nobody knows when it would.
func TestALeastWaitOfARefusal(t *testing.T) {
	t.Parallel()
	if got := leastWait(grid.Estimate{Refusal: forNow("no"), Wait: 5}); got != grid.Unforeseen {
		t.Errorf("%d", got)
	}
	if got := leastWait(grid.Estimate{Wait: 5}); got != 5 {
		t.Errorf("%d", got)
	}
}

// A site looks at itself to tell its members when jobs would start here: when something has changed, and now and then when not. So it does from
// its start on.
func TestWhenASiteLooksForItsMembers(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		ago     grid.Tick
		changed bool
		looks   bool
	}{"nothing has changed": {startsKept - 1, false, false}, "it was told long ago": {startsKept, false, true}, "a job has come": {1, true, true}} {
		o := &others{}
		kern := kernelOf(o)
		kern.cfg.Tell = 2 * grid.Second
		m := &estimator{kernel: kern, execution: o, home: o, ownership: o, search: o}
		m.toldAt = kern.now - k.ago
		if k.changed {
			kern.changes++
		}
		m.startsDue()
		if _, looks := only[Look](kern.out); looks != k.looks {
			t.Errorf("%s: it looks %t", name, looks)
		}
	}
	for tell, looks := range map[grid.Tick]bool{0: false, 2 * grid.Second: true} {
		cfg := signer(me, "a")
		cfg.Tell = tell
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, nil)
		begin(c)
		c.Step(1_000_001, PeerChanged{her, grid.Alive})
		c.Step(1_000_001, Message{her, wire.Seen{}})
		looked := false
		for c.now < 1_000_000+3*startsKept {
			at, _ := c.Next()
			_, is := only[Look](c.Step(at, Tick{}))
			looked = looked || is
		}
		if looked != looks {
			t.Errorf("told each %v s: it looks %t", tell.Seconds(), looked)
		}
	}
}

// So many jobs of one pass move as there are plans made for it; the rest have their turn in the next.
func TestAPassMakesSoManyPlans(t *testing.T) {
	t.Parallel()
	members := []grid.PeerID{her, him, it}
	q := newQueue(t, maxReplans+4, nil, members...)
	q.pass(grid.Hour)
	if n := len(q.moving()); n != maxReplans+1 {
		t.Errorf("%d move in one pass", n)
	}
}

// tight is a budget that covers no job at one site.
type tight struct {
	*budgets
	at grid.PeerID
}

func (b tight) lienFor(_ *job, row *grid.Candidate) *grid.Refusal {
	if row.Peer == b.at {
		return forNow("too dear")
	}
	return nil
}

// A job that waits moves to the next best site where the best costs more than its user has.
func TestAMoveBeyondTheBudget(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 1, nil, her, him)
	q.search.budgets = tight{q.budgets, her}
	for p, wait := range map[grid.PeerID]grid.Tick{her: 0, him: grid.Second} {
		told(q, p, grid.Estimate{Wait: wait})
	}
	q.pass(grid.Hour)
	q.wants("1>peer-c")
	rows := q.decisions[len(q.decisions)-1].Candidates
	if k := slices.IndexFunc(rows, func(r grid.Candidate) bool { return r.Peer == her }); rows[k].Refusal == nil || rows[k].Refusal.Reason != "too dear" {
		t.Errorf("the best is %+v", rows[k])
	}
}

// A job whose user does not want this site moves from its queue to any other, however long that takes.
func TestAJobThatIsNotToRunHereMoves(t *testing.T) {
	t.Parallel()
	for not, moves := range map[bool][]string{true: {"1>peer-b"}, false: nil} {
		q := newQueue(t, 1, func(r *grid.Record) {
			if not {
				r.Job.Sites.Not = []grid.SiteName{"a"}
			}
		}, her)
		told(q, her, grid.Estimate{Wait: grid.Day})
		q.pass(grid.Hour)
		q.wants(moves...)
	}
}

// Of a site that foresees itself when its jobs end a job that waits there is weighed by that, and not by its walltime.
func TestAStayIsAsLongAsIsForeseen(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 1, nil, her)
	q.shot.Forecast = byTurns(q.now + grid.Minute)
	told(q, her, grid.Estimate{Refusal: forNow("busy")})
	q.pass(grid.Hour)
	d := q.jobs[jobOf(me, "a", "1").ID].rec.Stay
	if d == nil || d.Candidates[0].Run != 2*grid.Minute || d.Candidates[0].Total != d.Candidates[0].Wait+2*grid.Minute {
		t.Errorf("it stays by %+v", d)
	}
}

// A site that foresees by itself refuses what it foresees nowhere; questions that are asked apart are answered one after the other all the same.
func TestAForesightRefuses(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 0, nil, her)
	ask := wire.EstimateRequest{Round: 3, Apart: true}
	for n := range 2 {
		j := jobOf(her, "b", fmt.Sprint(n+1))
		ask.Questions = append(ask.Questions, wire.Question{Job: j.ID, Demand: j.Demand, Walltime: j.Walltime})
	}
	answers := func(f plan.Forecast) []wire.Answer {
		s := q.shot
		s.At, s.Forecast = q.now, f
		q.Step(q.now, Message{her, ask})
		for _, m := range sentTo(q.Step(q.now, Looked{Snapshot: s}), her) {
			if r, is := m.(wire.EstimateReply); is {
				return r.Answers
			}
		}
		t.Fatal("no answer")
		return nil
	}
	if got := answers(byTurns(q.now)); got[1].Estimate.Wait != 2*grid.Minute || got[0].Estimate.Wait != 0 {
		t.Errorf("apart: %+v", got)
	}
	if got := answers(refusing{}); got[0].Estimate.Refusal == nil || got[0].Estimate.Refusal.Reason != "nobody is awake" {
		t.Errorf("refused: %+v", got)
	}
}

// refusing foresees nothing.
type refusing struct{}

func (r refusing) Foresee([]plan.Waiting) plan.Foresight { return r }

func (refusing) Waiting(int) (plan.Stay, bool) { return plan.Stay{}, false }

func (refusing) Ask(plan.Question) (plan.Stay, *grid.Refusal) {
	return plan.Stay{}, forNow("nobody is awake")
}

// A job waits in a pool where it is foreseen nowhere: its status says so.
func TestAJobThatIsForeseenNowhere(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 1, nil)
	s := q.shot
	s.At, s.Forecast = q.now, refusing{}
	q.Step(q.now, Looked{Snapshot: s})
	if r := q.jobs[jobOf(me, "a", "1").ID].rec; !strings.Contains(r.Why(), "where no computer is foreseen to end it in time") {
		t.Errorf("it is told %q", r.Why())
	}
}

// A reservation in the batch system that has no nodes, or some that are not listed, has no grace here: looks go on.
func TestAReservationOfNoNodes(t *testing.T) {
	t.Parallel()
	for _, shares := range [][]plan.Share{nil, {{Node: 7, Processes: 1, Cores: 1}}} {
		c := signed()
		s := shot(c.now)
		s.Snapshot.Reservations = []plan.Reservation{{ID: "x", Start: c.now + 5, End: c.now + grid.Hour, Shares: shares}}
		if got := c.estimator.graceOf(&s.Snapshot, &s.Snapshot.Reservations[0]); got != 0 {
			t.Errorf("%v: a grace of %v s", shares, got.Seconds())
		}
	}
}

// The nodes go down after an offer was accepted and before its files are here: its place is not known any more, and nothing else of it changes.
func TestNodesGoDownUnderAnAcceptedJob(t *testing.T) {
	t.Parallel()
	c := signed()
	j := jobOf(her, "b", "1")
	j.Inputs = grid.Manifest{{Path: "in", Size: 5, Ranges: make([]grid.Hash, 1)}}
	c.Step(c.now+1, Message{her, offerOf(j, 1, grid.Hour)})
	c.Step(c.now+1, shot(c.now+1))
	before := c.accepted[j.ID].start
	look := shot(c.now + grid.Minute)
	look.Snapshot.Nodes[0].Down = true
	c.Step(c.now+grid.Minute, look)
	if a := c.accepted[j.ID]; a == nil || a.start != before {
		t.Errorf("accepted is %+v", a)
	}
}

// A dry run waits for members while this site is looked at again: its own word counts once.
func TestASecondLookOfADryRun(t *testing.T) {
	t.Parallel()
	c, e, shot := wherever(1)
	e.All = true
	c.Step(1000, e)
	for range 3 {
		if _, answered := only[Answer](c.Step(1000, Looked{Snapshot: shot})); answered {
			t.Fatal("it is answered before the members were heard")
		}
	}
	if w := c.search.wheres[0]; w.round.waiting != 2 || len(w.round.replies["j"].answers) != 1 {
		t.Errorf("%d are waited for, and there are %d own answers", w.round.waiting, len(w.round.replies["j"].answers))
	}
}

// Two dry runs that began at two times are each answered when they have had their own. (The second put off the first, and one each second put it off
// for ever.)
func TestDryRunsAtTwoTimes(t *testing.T) {
	t.Parallel()
	c, e, shot := wherever(1)
	e.All = true
	answered := map[Token]grid.Tick{}
	step := func(now grid.Tick, ev Event) {
		for _, f := range c.Step(now, ev) {
			if a, is := f.(Answer); is {
				answered[a.Token] = now
			}
		}
	}
	step(1000, e)
	e.Token, e.Job.ID = 10, "j.01M7XVNVT1HF2GHP4JW23GK3FU"
	step(1700, e)
	step(1700, Looked{Snapshot: shot})
	for len(answered) < 2 && c.now < 1000+grid.Minute {
		at, _ := c.Next()
		step(at, Tick{})
	}
	if first, second := answered[9], answered[10]; first != 1000+2*c.cfg.EstimateDeadline || second != first+700 {
		t.Errorf("answered at %v", answered)
	}
}

// A dry run of a job that may have several sites tells, beside each site alone, what would be chosen of them together.
func TestADryRunOfAWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, faults{}, 1, 4, 4)
	w.forParts(0, 20*grid.Second, -10*grid.Second)
	home := w.sites[0]
	w.boot()
	w.run(w.now+grid.Minute, nil)
	j := jobOf(home.peer, home.name, "1")
	j.Demand.Chunks[0].Count = 6
	j.Coallocation = &grid.Coallocation{Sites: 2, PerSite: 1}
	home.step(Where{Token: 5, Job: j, All: true})
	w.until("it is answered", func() bool { _, is := home.answers[5]; return is })
	a := home.answers[5]
	if a.Several == nil || a.Several.Start == 0 || len(a.Where.Candidates) != 3 || len(home.host.Core().wholes.drafts) > 0 || len(home.host.Core().search.wheres) > 0 {
		t.Fatalf("answered %+v\n%s", a, w.story(""))
	}
	for _, row := range a.Several.Sites {
		if want := map[grid.SiteName]bool{"b": true, "c": true}[row.Site]; (row.Processes > 0) != want {
			t.Errorf("of %s it takes %d", row.Site, row.Processes)
		}
	}
	if w.holdsNothing(); len(w.starts) > 0 || home.journal[j.ID].State != 0 {
		t.Error("something of it is kept")
	}
}

// A look at all jobs sees each, archived or not; what may be looked at one by one may be left at the first.
func TestALookAtJobsMayEnd(t *testing.T) {
	t.Parallel()
	c, _ := kept(t, longRecord(1, me, grid.Completed), longRecord(2, me, grid.Completed), longRecord(3, me, grid.Ready), longRecord(4, me, grid.Ready))
	n := 0
	for range c.all() {
		n++
		break
	}
	for range c.allOf(me) {
		n++
		break
	}
	for j := range c.all() {
		if j.stub {
			n++
			break
		}
	}
	if n != 3 || len(c.archive) != 2 {
		t.Errorf("%d looks, %d in the archive", n, len(c.archive))
	}
	seen := map[grid.JobID]int{}
	for j := range c.all() {
		seen[j.rec.Job.ID]++
	}
	if len(seen) != 4 {
		t.Errorf("of 4 jobs %v are seen", seen)
	}
}

// While sites are asked about a job it is found that this journal was rolled back: a branch that is lost may have given the job away. So it is not
// ended as one that no site can run, and not offered: a place is searched for it anew when all were asked.
func TestARoundThatWasAskedBeforeARollbackWasFound(t *testing.T) {
	t.Parallel()
	for name, large := range map[string]bool{"no site can run it": true, "another would": false} {
		j := jobOf(me, "a", "1")
		if large {
			j.Demand.Chunks[0].Cores = 1000
		}
		c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
		for c.search.round == nil && c.now < 1_000_000+grid.Hour {
			at, _ := c.Next()
			c.Step(at, Tick{})
		}
		c.Step(c.now+1, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		if !c.recovery.recounting() || c.search.round == nil {
			t.Fatal("no rollback in a round")
		}
		looked := shot(c.now + 1)
		looked.Snapshot.Nodes[0].Cores = 1
		effects := c.Step(c.now+1, looked)
		for _, p := range []grid.PeerID{her, him, it} {
			e := grid.Estimate{Wait: 0}
			if large {
				e = grid.Estimate{Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "too few"}}
			}
			if c.search.round != nil {
				effects = append(effects, c.Step(c.now+1, Message{p, wire.EstimateReply{Round: c.search.round.id, Site: grid.Site{Name: "x", Processes: 4, Speed: 100}, Answers: []wire.Answer{{Job: j.ID, Estimate: e}}}})...)
			}
		}
		if c.search.round != nil {
			t.Fatal("the round goes on")
		}
		for _, m := range sent(effects) {
			if _, is := m.(wire.Offer); is {
				t.Errorf("%s: it is offered", name)
			}
		}
		if r := c.jobs[j.ID]; r.rec.State != grid.Ready || r.due[onHandoff] == 0 {
			t.Errorf("%s: it is %s, and looked after at %d: %s", name, r.rec.State, r.due[onHandoff], r.rec.Reason)
		}
	}
}
