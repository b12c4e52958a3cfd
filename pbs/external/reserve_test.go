package external

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/control"
)

func (b *bench) reservation(id string, nodes ...grid.NodeName) pbs.Reservation {
	start := (control.Now()/grid.Second + 3600) * grid.Second
	return pbs.Reservation{ID: id, Nodes: nodes, Start: start, End: start + grid.Hour}
}

func TestReserve(t *testing.T) {
	inBubble(t, func(b *bench) {
		r := b.reservation("abcdefghijklmnopqrstuvwx", "n1", "n2")
		for range 2 {
			for range 2 {
				if err := b.Reserve(b.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			if all, err := b.Reservations(b.Context()); err != nil || len(all) != 1 || all[0].ID != r.ID || all[0].Start != r.Start {
				t.Errorf("reservations %+v, %v", all, err)
			}
			b.restart()
			b.later(time.Minute)
		}
		j := b.job()
		j.Reservation = r.ID
		id := b.submit(j)
		b.later(time.Minute)
		if shot, err := b.Snapshot(b.Context()); err != nil || len(shot.Reservations) != 1 || shot.Reservations[0].Job != j.ID.Job || len(shot.Reservations[0].Shares) != 2 {
			t.Errorf("the plan sees %+v, %v", shot.Reservations, err)
		}
		b.begins(j, id)
		b.later(time.Minute)
		control.WriteEnd(j.Control, j.ID, control.End{At: control.Now()})
		b.later(time.Minute)
		if shot, err := b.Snapshot(b.Context()); err != nil || len(shot.Running) != 1 || shot.Running[0].End > shot.At+leaving {
			t.Errorf("its program has ended, and the plan sees it run: %+v, %v", shot.Running, err)
		}
		b.far.change(id, func(k *Job) { k.State = Done })
		b.later(time.Minute)
		if len(b.far.held()) > 0 {
			t.Errorf("its job has ended, and it is there: %+v", b.far.held())
		}
	})
}

// The plan sees no reservation that was ended since the listing.
func TestReleasedIsNotPlannedAround(t *testing.T) {
	inBubble(t, func(b *bench) {
		r := b.reservation("abcdefghijklmnopqrstuvwx", "n1")
		if err := b.Reserve(b.Context(), r); err != nil {
			t.Fatal(err)
		}
		b.later(time.Minute)
		if shot, err := b.Snapshot(b.Context()); err != nil || len(shot.Reservations) != 1 {
			t.Errorf("the plan sees %+v, %v", shot.Reservations, err)
		}
		b.far.set(func() { b.far.slow = time.Second })
		if err := b.Release(b.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
		if shot, err := b.Snapshot(b.Context()); err != nil || len(shot.Reservations) != 0 {
			t.Errorf("it is released, and the plan sees %+v, %v", shot.Reservations, err)
		}
		b.far.set(func() { b.far.slow = 0 })
		b.later(time.Minute)
	})
}

func TestReserveRefuses(t *testing.T) {
	inBubble(t, func(b *bench) {
		good := b.reservation("good", "n1")
		if err := b.Reserve(b.Context(), good); err != nil {
			t.Fatal(err)
		}
		for says, change := range map[string]func(*pbs.Reservation){
			"it overlaps reservation": func(r *pbs.Reservation) { r.Nodes = []grid.NodeName{"n2", "n1"} },
			"it names no node":        func(r *pbs.Reservation) { r.Nodes = nil },
			"there is no node \"n9\"": func(r *pbs.Reservation) { r.Nodes = []grid.NodeName{"n9"} },
			"node n3 is down":         func(r *pbs.Reservation) { r.Nodes = []grid.NodeName{"n3"} },
			"node n2 is named twice":  func(r *pbs.Reservation) { r.Nodes = []grid.NodeName{"n2", "n2"} },
			"it is over already: it ends at 1970-01-01T00:00:02Z, and it is ": func(r *pbs.Reservation) { r.Start, r.End = 1000, 2000 },
			"it ends at ":   func(r *pbs.Reservation) { r.End = r.Start },
			"whole seconds": func(r *pbs.Reservation) { r.Start += 500 },
			"":              func(r *pbs.Reservation) { r.ID = "a b" },
		} {
			r := b.reservation("other", "n2")
			change(&r)
			if err := b.Reserve(b.Context(), r); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), says) {
				t.Errorf("refused by %v, and not as %q", err, says)
			}
		}
		// What the system made is not what was asked, or another came meanwhile.
		for name, spoil := range map[string]func(*Reservation){
			"fewer nodes": func(k *Reservation) { k.Nodes = k.Nodes[:1] },
			"later":       func(k *Reservation) { k.Start += grid.Second },
			"for another": func(k *Reservation) { k.User = "other" },
			"a part":      func(k *Reservation) { k.Cores = []int{1, 1} },
			"a race": func(k *Reservation) {
				o := *k
				o.Native, o.ID = "theirs", ""
				b.far.reservations = append(b.far.reservations, o)
			},
		} {
			b.far.set(func() { b.far.misreserve = spoil })
			r := b.reservation("other", "n1", "n2")
			r.Start, r.End = good.End, good.End+grid.Hour
			if err := b.Reserve(b.Context(), r); !errors.Is(err, grid.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
			b.far.set(func() {
				b.far.misreserve = nil
				for i, k := range b.far.reservations {
					if k.Native == "theirs" {
						b.far.reservations = append(b.far.reservations[:i:i], b.far.reservations[i+1:]...)
					}
				}
			})
			if len(b.far.held()) != 1 {
				t.Fatalf("%s: left behind: %+v", name, b.far.held())
			}
		}
	})
}

// Those of a broker that died are released, those of others and by hand are not.
func TestReservationsAreSwept(t *testing.T) {
	inBubble(t, func(b *bench) {
		kept, lost := b.reservation("kept", "n1"), b.reservation("lost", "n2")
		if err := b.Reserve(b.Context(), kept); err != nil {
			t.Fatal(err)
		}
		b.stop()
		b.far.set(func() {
			for _, owner := range []string{"suite", "hand", "another"} {
				b.far.reservations = append(b.far.reservations, Reservation{Native: owner, ID: ownerWord(owner) + lost.ID, Nodes: lost.Nodes, Start: lost.Start, End: lost.End})
			}
			b.far.reservations = append(b.far.reservations, Reservation{Native: "none", Nodes: []grid.NodeName{"n2"}, Start: lost.Start, End: lost.End})
		})
		b.start()
		b.later(time.Minute)
		left := map[string]bool{}
		for _, k := range b.far.held() {
			left[k.Native] = true
		}
		if len(left) != 4 || left["suite"] || !left["hand"] || !left["another"] || !left["none"] {
			t.Errorf("left are %v", left)
		}
	})
}

// An answer that is lost leaves nothing behind for ever.
func TestReserveWithoutAnAnswer(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.far.set(func() { b.far.deaf = true })
		if err := b.Reserve(b.Context(), b.reservation("r", "n1")); !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("Reserve: %v", err)
		}
		b.later(time.Minute)
		if len(b.far.held()) > 0 {
			t.Errorf("left behind: %+v", b.far.held())
		}
	})
}

// What could not be undone at once is undone later.
func TestReserveInTrouble(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.later(time.Minute)
		b.far.set(func() { b.far.deaf, b.far.misreserve = true, func(*Reservation) { b.far.down = errDown } })
		if err := b.Reserve(b.Context(), b.reservation("r", "n1")); !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("Reserve: %v", err)
		}
		b.later(time.Minute)
		if len(b.far.held()) != 1 {
			t.Errorf("the trouble was none: %+v", b.far.held())
		}
		b.far.set(func() { b.far.down, b.far.misreserve = nil, nil })
		b.later(3 * time.Minute)
		if len(b.far.held()) > 0 {
			t.Errorf("left behind: %+v", b.far.held())
		}
	})
}

func TestChangeIsUndone(t *testing.T) {
	inBubble(t, func(b *bench) {
		r := b.reservation("r", "n1")
		if err := b.Reserve(b.Context(), r); err != nil {
			t.Fatal(err)
		}
		spoilt := false
		b.far.set(func() {
			b.far.misreserve = func(k *Reservation) {
				if !spoilt {
					k.End -= grid.Minute
				}
				spoilt = true
			}
		})
		longer := r
		longer.End += grid.Hour
		if err := b.Change(b.Context(), longer); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("Change: %v", err)
		}
		if k := b.far.held()[0]; k.Start != r.Start || k.End != r.End {
			t.Errorf("it is now %+v", k)
		}
		if err := b.Change(b.Context(), longer); err != nil || b.far.held()[0].End != longer.End {
			t.Errorf("Change: %v, %+v", err, b.far.held())
		}
	})
}

// A change whose answer is lost has been made.
func TestChangeWithoutAnAnswer(t *testing.T) {
	inBubble(t, func(b *bench) {
		r := b.reservation("r", "n1")
		if err := b.Reserve(b.Context(), r); err != nil {
			t.Fatal(err)
		}
		b.far.set(func() { b.far.deaf = true })
		r.End += grid.Hour
		if err := b.Change(b.Context(), r); err != nil || b.far.held()[0].End != r.End {
			t.Errorf("Change: %v, %+v", err, b.far.held())
		}
	})
}

// A reservation goes when its time is over; it stays when its attempt was withdrawn, for the next.
func TestHowLongItStays(t *testing.T) {
	inBubble(t, func(b *bench) {
		r := b.reservation("r", "n1")
		if err := b.Reserve(b.Context(), r); err != nil {
			t.Fatal(err)
		}
		j := b.job()
		j.Reservation = r.ID
		b.submit(j)
		if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); !ok || err != nil {
			t.Fatalf("Withdraw: %v, %v", ok, err)
		}
		b.later(time.Hour)
		if len(b.far.held()) != 1 {
			t.Error("it is gone with its withdrawn attempt")
		}
		b.later(2 * time.Hour)
		if len(b.far.held()) > 0 {
			t.Errorf("its time is over, and it is there: %+v", b.far.held())
		}
	})
}

// Nodes are not reserved while a job may run on them, unless it runs in that very reservation.
func TestJobsInTheWay(t *testing.T) {
	inBubble(t, func(b *bench) {
		first := b.reservation("first", "n1")
		if err := b.Reserve(b.Context(), first); err != nil {
			t.Fatal(err)
		}
		// What overlaps is not even tried: some systems cancel jobs for a reservation.
		made := b.far.next
		other := b.reservation("other", "n1")
		if err := b.Reserve(b.Context(), other); !errors.Is(err, grid.ErrInvalid) || b.far.next != made {
			t.Errorf("over another: %v, %d tries", err, b.far.next-made)
		}
		b.far.set(func() {
			b.far.jobs = append(b.far.jobs, &Job{
				Local: "theirs", User: "other", State: Running, Limit: 3 * grid.Hour, Started: control.Now(),
				Places: []Place{{Node: "n1", Cores: 1}}, Reservation: b.far.reservations[0].Native,
			})
		})
		longer := first
		longer.End += grid.Minute
		if err := b.Change(b.Context(), longer); err != nil {
			t.Errorf("Change: %v", err)
		}
		other.Start, other.End = longer.End, longer.End+grid.Hour
		if err := b.Reserve(b.Context(), other); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("beside a job that may run on: %v", err)
		}
	})
}

// A reservation that was to begin while it was made has begun a little earlier or later, and ends so; one that is still to come
// begins and ends when it was asked to.
func TestReservationThatBeginsWhileItIsMade(t *testing.T) {
	inBubble(t, func(b *bench) {
		for name, k := range map[string]struct {
			ahead, shift, end grid.Tick
			good              bool
		}{
			"a little earlier":            {grid.Second, -grid.Second, 0, true},
			"much earlier":                {grid.Second, -5 * grid.Second, 0, false},
			"later, as it is late":        {-2 * grid.Second, 2 * grid.Second, 0, true},
			"later than now":              {grid.Second, 3 * grid.Second, 0, false},
			"moved, with time":            {grid.Hour, -grid.Second, 0, false},
			"its end reckoned before":     {-grid.Second, grid.Second, grid.Second, true},
			"longer, and a little early":  {grid.Second, -grid.Second, grid.Second, true},
			"too short":                   {grid.Second, -grid.Second, -grid.Second, false},
			"much too long":               {-grid.Second, 0, 5 * grid.Second, false},
			"of another end, with time":   {grid.Hour, 0, grid.Second, false},
			"of an end that does not fit": {grid.Second, 3 * grid.Second, grid.Second, false},
		} {
			b.far.set(func() { b.far.misreserve = func(o *Reservation) { o.Start += k.shift; o.End += k.end } })
			r := b.reservation("r", "n1")
			r.Start = control.Now()/grid.Second*grid.Second + k.ahead
			r.End = r.Start + grid.Hour
			err := b.Reserve(b.Context(), r)
			if (err == nil) != k.good || err != nil && !errors.Is(err, grid.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
			b.far.set(func() { b.far.misreserve = nil })
			if err := b.Release(b.Context(), "r"); err != nil && k.good {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// One that began while it was made, and so ends a little later than asked, is not in the way of the next, which is to begin when it was to end.
func TestTheNextAfterOneThatEndsLate(t *testing.T) {
	inBubble(t, func(b *bench) {
		r := b.reservation("first", "n1")
		r.Start = control.Now()/grid.Second*grid.Second - grid.Second
		r.End = r.Start + grid.Hour
		b.far.set(func() { b.far.misreserve = func(o *Reservation) { o.Start += grid.Second; o.End += grid.Second } })
		if err := b.Reserve(b.Context(), r); err != nil {
			t.Fatal(err)
		}
		b.far.set(func() { b.far.misreserve = nil })
		next := b.reservation("next", "n1")
		next.Start, next.End = r.End-grid.Second, r.End+grid.Hour
		if err := b.Reserve(b.Context(), next); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("over its last second: %v", err)
		}
		next.Start = r.End
		if err := b.Reserve(b.Context(), next); err != nil {
			t.Errorf("behind it: %v", err)
		}
	})
}
