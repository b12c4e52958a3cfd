package core

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// sweeping is a broker that knows templates, and a group of n jobs of one that bring a file together.
func sweeping(n int) (*Core, SubmitGroup) {
	cfg := signer(me, "a")
	cfg.Expand = func(t grid.Template) (Expansion, error) {
		return func(int) (grid.Job, error) {
			j := jobOf(me, "a", "1")
			j.Inputs = t.Inputs
			return j, nil
		}, nil
	}
	c := New(cfg, nil, nil)
	begin(c)
	id := grid.NewGroupID("a", strings.Repeat("0", 25)+"K")
	return c, SubmitGroup{
		Token: 1, Group: grid.Group{ID: id, User: grid.User{Home: me, Name: "alice"}, Key: "K", Jobs: n, Template: grid.Hash{1}},
		Template: &grid.Template{Group: id, Document: "sweep", Inputs: grid.Manifest{{Path: "in", Size: 5}}},
	}
}

func furnishes(effects []Effect) (list []Furnish) {
	for _, e := range effects {
		if f, is := e.(Furnish); is {
			list = append(list, f)
		}
	}
	return list
}

// The jobs of a sweep are made when its files are here, and each is given them.
func TestASweepSharesItsFiles(t *testing.T) {
	t.Parallel()
	c, e := sweeping(2)
	id := e.Group.ID
	a, _ := only[Answer](c.Step(c.now+1, e))
	if a.Err != nil || !slices.Equal(a.Group.Coming, []int{0}) || len(c.jobs) != 0 {
		t.Fatalf("answered %v, waits for the files of %v, and has %d jobs", a.Err, a.Group.Coming, len(c.jobs))
	}
	uploaded := Uploaded{Token: 2, Job: id.Template(), Inputs: grid.Manifest{{Path: "in", Size: 7}}}
	effects := c.Step(c.now+1, uploaded)
	if a, _ := only[Answer](effects); a.Token != 2 || a.Err != nil || a.Group.ID != id {
		t.Fatalf("the upload is answered with %+v", a)
	}
	list := furnishes(effects)
	if len(list) != 2 {
		t.Fatalf("%d jobs get files", len(list))
	}
	for n, f := range list {
		if f.Job != id.Job(n+1) || f.From != id.Template() || f.Files.Size() != 7 || c.jobs[f.Job].rec.State != grid.StageIn {
			t.Errorf("job %d gets %+v, and is %s", n+1, f, c.jobs[f.Job].rec.State)
		}
	}
	effects = c.Step(c.now+1, uploaded)
	if a, _ := only[Answer](effects); a.Err != nil || len(furnishes(effects)) > 0 || len(changesIn(effects)) > 0 {
		t.Errorf("uploaded again: %+v, and %v", a, changesIn(effects))
	}
	stranger := uploaded
	stranger.Job = grid.NewGroupID("a", strings.Repeat("0", 25)+"X").Template()
	if a, _ := only[Answer](c.Step(c.now+1, stranger)); !errors.Is(a.Err, grid.ErrNotFound) {
		t.Errorf("uploaded for a group that is not here: %v", a.Err)
	}
}

// A job of a sweep begins when its files are laid down; what cannot be mended ends it after some tries.
func TestFilesOfASweepThatDoNotCome(t *testing.T) {
	t.Parallel()
	c, e := sweeping(2)
	one, two := e.Group.ID.Job(1), e.Group.ID.Job(2)
	c.Step(c.now+1, e)
	c.Step(c.now+1, Uploaded{Token: 2, Job: e.Group.ID.Template(), Inputs: e.Template.Inputs})
	c.Step(c.now+1, Furnished{Job: one})
	if j := c.jobs[one]; j.rec.State != grid.Ready || j.due[onUpload] != 0 {
		t.Errorf("with its files it is %s, and looked after at %d", j.rec.State, j.due[onUpload])
	}
	if effects := c.Step(c.now+1, Furnished{Job: one, Err: errors.New("late")}); len(effects) > 0 {
		t.Errorf("told again it does %v", effects)
	}
	c.Step(c.now+1, Furnished{Job: two, Err: errors.New("the disk is full")})
	if again := furnishes(c.Step(c.jobs[two].due[onUpload], Tick{})); len(again) != 1 || again[0].Job != two {
		t.Fatalf("tried again: %v", again)
	}
	for n := 1; n <= maxFinal; n++ {
		if c.jobs[two].rec.State != grid.StageIn {
			t.Fatalf("after %d tries it is %s", n-1, c.jobs[two].rec.State)
		}
		c.Step(c.now+1, Furnished{Job: two, Err: errors.New("no such file"), Final: true})
	}
	if r := c.jobs[two].rec; r.State != grid.Failed || !strings.Contains(r.Reason, "no such file") {
		t.Errorf("after %d tries it is %s: %s", maxFinal, r.State, r.Reason)
	}
}

// A sweep is bounded by what its user may have, before anything of it is kept.
func TestASweepKeepsToTheLimits(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		limits UserLimits
		jobs   int
		kind   error
	}{
		"as many as may be": {UserLimits{SweepJobs: 3, Bytes: 5}, 3, nil},
		"no job":            {UserLimits{}, 0, grid.ErrInvalid},
		"too many jobs":     {UserLimits{SweepJobs: 2}, 3, grid.ErrInvalid},
		"too many bytes":    {UserLimits{Bytes: 4}, 3, grid.ErrNotYet},
		"a long document":   {UserLimits{Documents: 1}, 3, grid.ErrNotYet},
		"not bounded so":    {UserLimits{GroupJobs: 2}, 3, nil},
	} {
		c, e := sweeping(k.jobs)
		c.Step(c.now+1, LimitsChanged{User: k.limits})
		effects := c.Step(c.now+1, e)
		a, _ := only[Answer](effects)
		if (a.Err == nil) != (k.kind == nil) || !errors.Is(a.Err, k.kind) || (len(changesIn(effects)) > 0) != (k.kind == nil) {
			t.Errorf("%s: %v, and saves %v", name, a.Err, changesIn(effects))
		}
	}
}

// A job whose turn has not come is cancelled as any other, and the history of its group says by whom; to hold or to alter it is not
// possible yet, which is another thing than that there is none.
func TestAJobBeforeItsTurn(t *testing.T) {
	t.Parallel()
	c, e := sweeping(4)
	e.Group.AtOnce, e.Template.Inputs = 1, nil
	id := e.Group.ID
	c.Step(c.now+1, e)
	held := true
	if a, _ := only[Answer](c.Step(c.now+1, Alter{Token: 2, Job: id.Job(3), To: grid.Alteration{Held: &held}})); !errors.Is(a.Err, grid.ErrNotYet) || !strings.Contains(a.Err.Error(), "has not come") {
		t.Errorf("held before its turn: %v", a.Err)
	}
	effects := c.Step(c.now+1, CancelRequest{Token: 3, Job: id.Job(3), By: "root"})
	a, _ := only[Answer](effects)
	if a.Err != nil || a.Record.State != grid.Killed || a.Record.Reason != "cancelled before it started" {
		t.Errorf("cancelled before its turn: %v, %s: %q", a.Err, a.Record.State, a.Record.Reason)
	}
	told := false
	for _, e := range effects {
		if s, is := e.(Save); is {
			for _, event := range s.Change.Events {
				told = told || event.Why == "job 3: cancelled by root before it started"
			}
		}
	}
	if !told {
		t.Errorf("the history of the group does not tell of it: %v", effects)
	}
	if a, _ := only[Answer](c.Step(c.now+1, Alter{Token: 4, Job: id.Job(3), To: grid.Alteration{Held: &held}})); !errors.Is(a.Err, grid.ErrInvalid) || !strings.Contains(a.Err.Error(), "has ended") {
		t.Errorf("held after its end: %v", a.Err)
	}
	if a, _ := only[Answer](c.Step(c.now+1, Alter{Token: 5, Job: id.Job(9), To: grid.Alteration{Held: &held}})); !errors.Is(a.Err, grid.ErrNotFound) {
		t.Errorf("a job that is not of the group: %v", a.Err)
	}
}

// Who only asks how a job is whose turn has not come cancels nothing; who cancels it does.
func TestAJobBeforeItsTurnIsAskedFor(t *testing.T) {
	t.Parallel()
	c, e := sweeping(4)
	e.Group.AtOnce, e.Template.Inputs = 1, nil
	c.Step(c.now+1, MembersChanged{Members: []grid.Member{{Name: "b", Peer: her, SameUsers: true}}})
	c.Step(c.now+1, e)
	id := e.Group.ID.Job(3)
	for n, k := range []struct {
		wish wire.Wish
		want grid.State
	}{{0, grid.Submitted}, {0, grid.Submitted}, {wire.WishCancel, grid.Killed}, {0, grid.Killed}} {
		_, _, r := hears(c, c.now+1, her, wire.Request{Number: uint64(n + 1), Job: id, User: "alice", Wish: k.wish})
		if r.Outcome != wire.OutcomeDone || r.Status == nil || r.Status.State != k.want {
			t.Errorf("question %d, wish %v: %+v", n, k.wish, r)
		}
	}
}

// The files that the jobs of a sweep share go when all of them have ended; a group that was handed in job by job has none.
func TestFilesOfASweepGoWithItsLastJob(t *testing.T) {
	t.Parallel()
	for _, made := range []bool{true, false} {
		c, e := sweeping(2)
		if !made {
			e = groupOf(2, "K", false)
		}
		id := e.Group.ID
		c.Step(c.now+1, e)
		if made {
			c.Step(c.now+1, Uploaded{Token: 2, Job: id.Template(), Inputs: e.Template.Inputs})
		}
		for n := 1; n <= 2; n++ {
			effects := c.Step(c.now+1, CancelRequest{Token: 3, Job: id.Job(n), By: "alice"})
			drops := slices.Contains(effects, Effect(Discard{Job: id.Template()}))
			if over := !c.groups.all[id].open(); over != (n == 2) || drops != (made && over) {
				t.Errorf("made %t: when %d have ended it is over: %t, its files go: %t", made, n, over, drops)
			}
		}
	}
}

// A second broker, with a copy of the journal of this life, may have made jobs of a group that came in it: what enters after that is read first.
func TestJobsThatADuplicateHasMade(t *testing.T) {
	t.Parallel()
	c, e := sweeping(9)
	e.Template.Inputs, e.Group.AtOnce = nil, 2
	c.Step(c.now+1, e)
	id := e.Group.ID
	if c.groups.all[id].recovered {
		t.Fatal("it was in the journal before")
	}
	c.Step(c.now+1, HadDuplicate{Token: 2})
	if c.groups.enter(c.groups.all[id], 1) != 0 {
		t.Error("a job enters before the control directories were read anew")
	}
	c.Step(c.now+1, Reconciled{All: true, Jobs: []grid.JobID{id.Job(1), id.Job(2)}, Attempts: []grid.AttemptID{{Job: id.Job(3), Epoch: grid.Epoch{Term: 1}, Attempt: 1}}})
	for range 60 {
		c.Step(c.now+grid.Second, Tick{})
	}
	c.groups.enter(c.groups.all[id], 1)
	if j := c.jobs[id.Job(3)]; j == nil || !j.unreconciled() {
		t.Errorf("the third, of which there is an attempt, is %+v", j)
	}
}
