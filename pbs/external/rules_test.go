package external

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/control"
	"gbroker/plan"
)

// A list of which a few are not understood is used without them; where it is most of them, or very many, none of it is believed.
func TestHowMuchMayBeMisread(t *testing.T) {
	t.Parallel()
	why := errors.New("odd")
	for _, k := range []struct {
		unread, of int
		fine       bool
	}{{0, 0, true}, {3, 3, true}, {4, 4, false}, {4, 8, true}, {4, 7, false}, {64, 1000, true}, {65, 1000, false}} {
		err := Misread(k.unread, k.of, why)
		if (err == nil) != k.fine || err != nil && (!errors.Is(err, why) || !strings.Contains(err.Error(), fmt.Sprintf("%d of %d", k.unread, k.of))) {
			t.Errorf("%d of %d: %v", k.unread, k.of, err)
		}
	}
}

// What is left out of a listing is told, the first few by name and the others by their number, and its policy is that of the site.
func TestWhatIsLeftOutIsTold(t *testing.T) {
	t.Parallel()
	var l Listing
	for n := range mostUnusable + 2 {
		l.LeaveOut(fmt.Sprintf("queue %d %s", n, strings.Repeat("x", 99)), errors.New(strings.Repeat("y", 300)))
	}
	policy := plan.Policy{Kind: plan.FCFS}
	s := &System{config: Config{Policy: &policy}}
	shot := s.ground(l)
	if len(shot.Unusable) != mostUnusable+1 || shot.Unusable[mostUnusable] != "and 2 more" || len(shot.Unusable[0]) != 80+2+200 || shot.Policy != policy {
		t.Errorf("told are %q, policy %+v", shot.Unusable, shot.Policy)
	}
	if len(l.Unusable) != mostUnusable {
		t.Errorf("what is told is added to the listing: %q", l.Unusable)
	}
}

// A submission that no batch system could have taken is refused before one is asked.
func TestSubmissionsThatCannotBe(t *testing.T) {
	t.Parallel()
	good := grid.Submission{ID: grid.AttemptID{Job: grid.NewJobID("here", fmt.Sprintf("01%024d", 1))}, Limit: grid.MaxWalltime, Work: "/w", Control: "/c"}
	if err := checkSubmission(good); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*grid.Submission){
		"no job":        func(s *grid.Submission) { s.ID.Job = "../x" },
		"no limit":      func(s *grid.Submission) { s.Limit = 0 },
		"an age":        func(s *grid.Submission) { s.Limit++ },
		"sandbox":       func(s *grid.Submission) { s.Work = "w" },
		"control files": func(s *grid.Submission) { s.Control = "c" },
	} {
		s := good
		change(&s)
		if err := checkSubmission(s); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A job that names hosts is kept from all other nodes, in whatever form the names are.
func TestAJobOfHostsIsKeptFromOtherNodes(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.later(time.Minute)
		j := b.job()
		b.submit(j)
		j = b.job()
		j.Job.Demand.Hosts = []string{"n2"}
		b.submit(j)
		orders := b.far.handed()
		if len(orders[0].Without) > 0 || !slices.Equal(orders[1].Without, []grid.NodeName{"n1", "n3"}) {
			t.Errorf("without %v and %v", orders[0].Without, orders[1].Without)
		}
	})
}

// A part that waits at its barrier has arrived, which is told once, and no job that is no part has.
func TestAPartHasArrived(t *testing.T) {
	inBubble(t, func(b *bench) {
		part, whole := b.job(), b.job()
		part.Job.Part = &grid.Part{Of: part.Job.ID, Sites: []grid.PartSite{{Name: "here", Processes: 1}}, Limit: grid.Hour, Within: grid.Minute, Start: 1}
		b.submit(part)
		b.submit(whole)
		b.later(time.Minute)
		for len(b.changes) > 0 {
			<-b.changes
		}
		for _, j := range []grid.Submission{part, whole} {
			if err := control.WriteArrived(j.Control, j.ID, control.Arrival{At: control.Now(), Process: control.Process{PID: 1}, Hosts: []string{"n1:1"}, Address: "n1:40123"}); err != nil {
				b.Fatal(err)
			}
		}
		b.later(time.Minute)
		if n := len(b.changes); n != 1 || <-b.changes != part.ID {
			t.Errorf("%d changes are told", n)
		}
		b.later(time.Minute)
		if n := len(b.changes); n > 0 {
			t.Errorf("it has arrived once, and %d more changes are told", n)
		}
	})
}

// unreserving is a batch system that makes no reservations.
type unreserving struct{ Client }

// Where the batch system makes no reservations none are promised; there is none to be released.
func TestReservationsThatNobodyMakes(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Client = unreserving{b.far}
		b.start()
		r := b.reservation("good", "n1")
		for what, err := range map[string]error{
			"reserve": b.Reserve(b.Context(), r), "change": b.Change(b.Context(), r), "release": b.Release(b.Context(), r.ID),
			"list": second(b.Reservations(b.Context())),
		} {
			if !errors.Is(err, pbs.ErrNoReservations) {
				t.Errorf("%s: %v", what, err)
			}
		}
		j := b.job()
		j.Reservation = r.ID
		if _, err := b.Submit(b.Context(), j); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("a job in one: %v", err)
		}
		if !b.sweepReservations(b.Context()) {
			t.Error("they are swept for ever")
		}
	})
}

// While the batch system does not answer nothing is known of a reservation, and it stays as it was.
func TestReservationsThatNobodyHearsOf(t *testing.T) {
	inBubble(t, func(b *bench) {
		r := b.reservation("good", "n1")
		if err := b.Reserve(b.Context(), r); err != nil {
			t.Fatal(err)
		}
		b.later(time.Minute)
		moved := r
		moved.End += grid.Hour
		b.far.set(func() { b.far.down = errDown })
		for what, err := range map[string]error{
			"reserve": b.Reserve(b.Context(), b.reservation("more", "n2")), "change": b.Change(b.Context(), moved), "release": b.Release(b.Context(), r.ID),
			"list": second(b.Reservations(b.Context())),
		} {
			if !errors.Is(err, grid.ErrUnavailable) {
				t.Errorf("%s: %v", what, err)
			}
		}
		b.far.set(func() { b.far.down = nil })
		b.later(2 * time.Minute)
		if held := b.far.held(); len(held) != 1 || held[0].End != r.End {
			t.Errorf("held are %+v", held)
		}
		if err := b.Change(b.Context(), b.reservation("none", "n1")); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "none of that name") {
			t.Errorf("a change of one that is not there: %v", err)
		}
		if err := b.Release(b.Context(), "no such name"); err != nil {
			t.Errorf("one that cannot be there: %v", err)
		}
	})
}

// Who else is in a reservation is told, as long as he is: neither our own jobs nor those that have ended.
func TestWhoElseIsInAReservation(t *testing.T) {
	inBubble(t, func(b *bench) {
		r := b.reservation("good", "n1")
		if err := b.Reserve(b.Context(), r); err != nil {
			t.Fatal(err)
		}
		native := b.far.held()[0].Native
		ours := b.job()
		b.far.set(func() {
			for i, k := range []Job{
				{User: "ann", State: Running}, {User: "bob", State: Queued}, {User: "cat", State: Done}, {User: "me", State: Running, Mark: markOf("suite", ours.ID)},
			} {
				k.Local, k.Reservation, k.Demand = grid.LocalID(fmt.Sprint("x", i)), native, ours.Job.Demand
				b.far.jobs = append(b.far.jobs, &k)
			}
			b.far.jobs = append(b.far.jobs, &Job{Local: "y", User: "dan", State: Running, Demand: ours.Job.Demand})
		})
		b.later(time.Minute)
		all, err := b.Reservations(b.Context())
		if err != nil || len(all) != 1 || !slices.Equal(all[0].Others, []string{"x0 of ann", "x1 of bob"}) {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// A plan counts with what a reservation holds of each node: all of it, or so many cores; nodes that it does not know are left out.
func TestWhatAReservationHoldsOfItsNodes(t *testing.T) {
	t.Parallel()
	s := &System{reserved: map[string]*kept{}}
	l := Listing{Nodes: []plan.Node{{Name: "n1", Cores: 4, Memory: 8}, {Name: "n2", Cores: 4, Memory: 8}}}
	got := s.planned(l, Reservation{Native: "R1", Nodes: []grid.NodeName{"n0", "n1", "n2"}, Cores: []int{1, 2, 4}}).Shares
	if want := []plan.Share{{Node: 0, Cores: 2}, {Node: 1, Cores: 4, Memory: 8}}; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("of some cores %+v, want %+v", got, want)
	}
	got = s.planned(l, Reservation{Native: "R1", Nodes: []grid.NodeName{"n2"}}).Shares
	if want := []plan.Share{{Node: 1, Cores: 4, Memory: 8}}; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("of whole nodes %+v, want %+v", got, want)
	}
}

// A job that runs is counted from when the listing saw it where its start is not told, with as much of a node as it keeps from others,
// and as long as a job may run where it has no limit.
func TestHowARunningJobIsCounted(t *testing.T) {
	t.Parallel()
	l := Listing{At: 5000, Nodes: []plan.Node{{Name: "n1", Cores: 4}}}
	j := Job{State: Running, Limit: grid.Hour, Places: []Place{{Node: "n1", Processes: 1, Cores: 1}, {Node: "n9", Processes: 1, Cores: 1}}}
	if r := running(l, j, "j"); r.Start != 5000 || r.End != 5000+grid.Hour || len(r.Shares) != 1 || r.Shares[0].Cores != 1 {
		t.Errorf("%+v", r)
	}
	j.Started, j.Limit, j.Demand.Exclusive = 1000, 0, true
	if r := running(l, j, "j"); r.Start != 1000 || r.End != 1000+grid.MaxWalltime || r.Shares[0].Cores != 4 {
		t.Errorf("alone on its node, and without a limit: %+v", r)
	}
}

// What is asked of an attempt that nobody has submitted is told at once: there is nothing in the queue.
func TestAttemptsThatWereNeverSubmitted(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		if _, known, err := b.Status(b.Context(), j.ID); known || err != nil {
			t.Errorf("its status: %t, %v", known, err)
		}
		for what, err := range map[string]error{"hold": b.Hold(b.Context(), j.ID, j.Control), "release": b.Unhold(b.Context(), j.ID, j.Control)} {
			if !errors.Is(err, grid.ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
		id := b.submit(j)
		b.later(time.Minute)
		if got, known, err := b.Status(b.Context(), j.ID); !known || err != nil || got.Local != id || got.State != Queued {
			t.Errorf("its status once it is: %+v, %t, %v", got, known, err)
		}
		b.far.set(func() { b.far.lookless = true })
		for what, err := range map[string]error{"hold": b.Hold(b.Context(), j.ID, j.Control), "release": b.Unhold(b.Context(), j.ID, j.Control)} {
			if !errors.Is(err, grid.ErrUnavailable) {
				t.Errorf("%s while the batch system does not answer: %v", what, err)
			}
		}
	})
}

// A spool file that belongs under another name, or says what cannot be, is none of ours.
func TestSpoolFilesThatAreNotOurs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &System{entries: map[grid.AttemptID]*entry{}, reserved: map[string]*kept{}, config: Config{Spool: dir}}
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	id := grid.AttemptID{Job: grid.NewJobID("here", fmt.Sprintf("01%024d", 1)), Epoch: grid.Epoch{Term: 1}, Attempt: 1}
	job := func(of grid.AttemptID, dir string) string {
		return fmt.Sprintf(`{"Version":1,"ID":{"Job":%q,"Epoch":{"Term":1,"Hop":0},"Attempt":%d},"Work":"/w","Control":%q,"Queue":"","Demand":{},"Limit":1,"Submitted":1}`, of.Job, of.Attempt, dir)
	}
	if err := s.loadJob(write(id.Tag()+jobSuffix, job(id, "/c"))); err != nil || len(s.entries) != 1 {
		t.Fatalf("a good one: %v", err)
	}
	clear(s.entries)
	odd := id
	odd.Job = "Not a job"
	for what, name := range map[string]string{
		"another's":                 write("x"+id.Tag()+jobSuffix, job(id, "/c")),
		"of no job":                 write(odd.Tag()+jobSuffix, job(odd, "/c")),
		"with a relative directory": write(id.Tag()+jobSuffix, job(id, "c")),
	} {
		if err := s.loadJob(name); err == nil || len(s.entries) > 0 {
			t.Errorf("%s is taken: %v", what, err)
		}
	}
	for name, fine := range map[string]bool{"good": true, "other": false, "Bad": false} {
		of := name
		if name == "other" {
			of = "good"
		}
		clear(s.reserved)
		err := s.loadReservation(write(name+reservationSuffix, fmt.Sprintf(`{"Version":1,"ID":%q}`, of)))
		if (err == nil) != fine || (len(s.reserved) == 1) != fine {
			t.Errorf("the reservation %s: %v", name, err)
		}
	}
}
