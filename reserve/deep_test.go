package reserve

import (
	"testing"

	"gbroker/grid"
)

// What is said to a reservation that random words seldom bring so far: bound, come to, active, being changed.

// deep is a book with r of alice, of n0 from 100 s to 200 s, with a grace of 10 s, in a state that is held, at 50 s.
func deep(s grid.ReservationState, change func(*grid.Reservation)) *Book {
	r := grid.Reservation{
		ID: "r", Kind: grid.NodesReserved, Holder: alice, For: "j", Nodes: []grid.NodeName{"n0"}, Start: span(100), End: span(200), Grace: span(10),
		State: s, Holding: grid.Placed, Seq: 1,
	}
	if change != nil {
		change(&r)
	}
	return New(Rules{Offered: true, Uplink: 8}, []grid.Reservation{r})
}

func get(b *Book) grid.Reservation {
	r, _ := b.Get("r")
	return r
}

// Only the job that it is for may have it, of the user who holds it, and only once it is confirmed.
func TestWhoBinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state grid.ReservationState
		job   grid.JobID
		user  grid.User
		may   bool
	}{
		"its job":                 {grid.Confirmed, "j", alice, true},
		"its job again":           {grid.Bound, "j", alice, true},
		"its job, which runs":     {grid.Active, "j", alice, true},
		"another job":             {grid.Bound, "k", alice, false},
		"another job beside it":   {grid.Active, "k", alice, false},
		"another user":            {grid.Confirmed, "j", grid.User{Home: alice.Home, Name: "bob"}, false},
		"before it is confirmed":  {grid.Tentative, "j", alice, false},
		"another site":            {grid.Confirmed, "j", grid.User{Home: "other", Name: alice.Name}, false},
		"another user of its job": {grid.Active, "j", grid.User{Home: alice.Home, Name: "bob"}, false},
	} {
		b := deep(c.state, func(r *grid.Reservation) { r.Until = span(80) })
		if _, why := b.Bind(span(50), "r", c.job, c.user); (why == nil) != c.may {
			t.Errorf("%s: %v", name, why)
		}
		if c.may && c.state == grid.Confirmed && get(b).State != grid.Bound || c.state != grid.Confirmed && get(b).State != c.state {
			t.Errorf("%s: it is %v", name, get(b).State)
		}
		if c.state == grid.Confirmed && c.may {
			b.Bind(span(50), "r", c.job, c.user)
			if seq := get(b).Seq; seq != 2 {
				t.Errorf("bound twice it is told %d times", seq)
			}
		}
	}
	b := deep(grid.Confirmed, func(r *grid.Reservation) { r.Kind, r.Holding, r.Nodes = grid.DeliveryReserved, grid.NotPlaced, nil })
	if _, why := b.Bind(span(50), "r", "j", alice); why == nil {
		t.Error("bandwidth is bound to a job")
	}
}

// A lease, and the wait for its job, end it while it is bound; not once its job has come or runs.
func TestWhatEndsABoundOne(t *testing.T) {
	t.Parallel()
	lease := func(r *grid.Reservation) { r.Until = span(80) }
	came := func(r *grid.Reservation) { r.Came = span(100) }
	for name, c := range map[string]struct {
		state  grid.ReservationState
		change func(*grid.Reservation)
		end    grid.Tick
	}{
		"lease":                {grid.Bound, lease, span(80)},
		"lease, confirmed":     {grid.Confirmed, lease, span(80)},
		"lease, come":          {grid.Bound, func(r *grid.Reservation) { r.Until, r.Came = span(150), span(100) }, span(150)},
		"lease, active":        {grid.Active, lease, span(200)},
		"nobody came":          {grid.Bound, nil, span(110)},
		"nobody was to come":   {grid.Confirmed, nil, span(110)},
		"come":                 {grid.Bound, came, span(200)},
		"active":               {grid.Active, nil, span(200)},
		"no grace":             {grid.Bound, func(r *grid.Reservation) { r.Grace = 0 }, span(200)},
		"bandwidth has none":   {grid.Confirmed, func(r *grid.Reservation) { r.Kind, r.Holding = grid.DeliveryReserved, grid.NotPlaced }, span(200)},
		"a lease past its end": {grid.Bound, func(r *grid.Reservation) { r.Until, r.Came = span(300), span(100) }, span(200)},
	} {
		b := deep(c.state, c.change)
		if next := b.Next(); next != c.end {
			t.Errorf("%s: it is due at %v, not %v", name, next, c.end)
		}
		b.Pass(c.end - 1)
		if s := get(b).State; s != c.state {
			t.Errorf("%s: it is %v before", name, s)
		}
		if b.Pass(c.end); get(b).State != grid.Released || get(b).Ended != c.end {
			t.Errorf("%s: it is %v", name, get(b).State)
		}
	}
}

// Only its own job comes, starts and leaves.
func TestWordsOfItsJob(t *testing.T) {
	t.Parallel()
	for _, job := range []grid.JobID{"j", "k"} {
		mine := job == "j"
		b := deep(grid.Bound, nil)
		b.Arrived(span(101), "r", job)
		b.Arrived(span(105), "r", job)
		if came := get(b).Came; mine && came != span(101) || !mine && came != 0 {
			t.Errorf("%s: it came at %v", job, came)
		}
		b = deep(grid.Bound, nil)
		b.Started(span(102), "r", job)
		if r := get(b); (r.State == grid.Active) != mine || mine && r.Came != span(102) {
			t.Errorf("%s: started it is %+v", job, r)
		}
		b.Left(span(103), "r", job, "")
		if r := get(b); (r.State == grid.Released) != mine || mine && r.Holding != grid.Ending {
			t.Errorf("%s: left it is %+v", job, r)
		}
	}
	b := deep(grid.Confirmed, nil)
	if b.Started(span(102), "r", "j"); get(b).State != grid.Confirmed {
		t.Error("a job starts in what is not bound to it")
	}
	if b.Arrived(span(102), "r", "j"); get(b).Came != 0 {
		t.Error("a job comes to what is not bound to it")
	}
	b = deep(grid.Tentative, func(r *grid.Reservation) { r.Until = span(190) })
	if b.Left(span(103), "r", "j", ""); get(b).State != grid.Tentative {
		t.Error("a job leaves what is not confirmed")
	}
}

// What is bound is unbound, and bound anew; what runs is neither, and is only made longer.
func TestChangesOfABoundOne(t *testing.T) {
	t.Parallel()
	at := func(nodes string, start, end int) grid.Place {
		p := grid.Place{Start: span(start), End: span(end)}
		if nodes != "" {
			p.Nodes = []grid.NodeName{grid.NodeName(nodes)}
		}
		return p
	}
	for name, c := range map[string]struct {
		state grid.ReservationState
		wish  Wish
		may   bool
		for_  grid.JobID
	}{
		"longer while it runs":    {grid.Active, Wish{For: "j", Place: at("", 100, 250)}, true, "j"},
		"shorter while it runs":   {grid.Active, Wish{For: "j", Place: at("", 100, 190)}, false, "j"},
		"later while it runs":     {grid.Active, Wish{For: "j", Place: at("", 120, 250)}, false, "j"},
		"elsewhere while it runs": {grid.Active, Wish{For: "j", Place: at("n1", 100, 250)}, false, "j"},
		"unbound while it runs":   {grid.Active, Wish{Place: at("", 100, 200)}, false, "j"},
		"unbound":                 {grid.Bound, Wish{Place: at("", 100, 200)}, true, ""},
		"for another job":         {grid.Confirmed, Wish{For: "k", Place: at("", 100, 200)}, true, "k"},
		"before it is confirmed":  {grid.Tentative, Wish{For: "k", Place: at("", 100, 200)}, false, "j"},
		"moved before that":       {grid.Tentative, Wish{For: "j", Place: at("n1", 120, 200)}, true, "j"},
		"into the past":           {grid.Bound, Wish{For: "j", Place: at("", 10, 40)}, false, "j"},
		"to begin long ago, come": {grid.Bound, Wish{For: "j", Place: at("", 10, 200)}, true, "j"},
		"to begin long ago":       {grid.Confirmed, Wish{For: "j", Place: at("", 40, 200)}, false, "j"},
		"to have just begun":      {grid.Confirmed, Wish{For: "j", Place: at("", 41, 200)}, true, "j"},
		"between two seconds":     {grid.Bound, Wish{For: "j", Place: grid.Place{Start: span(100) + 1, End: span(200)}}, false, "j"},
	} {
		b := deep(c.state, func(r *grid.Reservation) {
			r.Came = map[bool]grid.Tick{true: 1}[c.state == grid.Bound]
			r.Until = span(90)
		})
		if c.state == grid.Active {
			b = deep(c.state, nil)
		}
		c.wish.Number = 1
		got, why := b.Change(span(50), "r", alice.Home, c.wish)
		if (why == nil) != c.may || get(b).For != c.for_ {
			t.Errorf("%s: %v, for %q", name, why, get(b).For)
			continue
		}
		moved := len(c.wish.Place.Nodes) > 0 || c.wish.Place.Start != span(100) || c.wish.Place.End != span(200)
		if c.may && moved && (got.Holding != grid.Changing || got.Was == nil || got.Was.End != span(200)) {
			t.Errorf("%s: moved it is %+v", name, got)
		}
		if !c.may && get(b).Number != 0 || c.may && get(b).Number != 1 {
			t.Errorf("%s: its last wish is %d", name, get(b).Number)
		}
		if name == "unbound" && (got.State != grid.Confirmed || got.Came != 0) {
			t.Errorf("unbound it is %+v", got)
		}
	}
}

// While the batch system is at a change, both places count, and no other change is taken; what it refuses is as it was.
func TestWhileItIsChanged(t *testing.T) {
	t.Parallel()
	moved := func() *Book {
		b := deep(grid.Bound, nil)
		b.Change(span(50), "r", alice.Home, Wish{Number: 1, For: "j", Place: grid.Place{Nodes: []grid.NodeName{"n1"}, Start: span(300), End: span(400)}})
		return b
	}
	b := moved()
	for i, p := range []grid.Place{{Nodes: []grid.NodeName{"n0"}, Start: span(150), End: span(160)}, {Nodes: []grid.NodeName{"n1"}, Start: span(350), End: span(360)}} {
		if _, why := b.Reserve(span(51), "site", Ask{ID: grid.ReservationID(rune('a' + i)), Holder: alice, Kind: grid.NodesReserved, Place: p}); why == nil {
			t.Errorf("%v is reserved twice", p)
		}
	}
	is := get(b)
	if _, why := b.Change(span(52), "r", alice.Home, Wish{Number: 2, For: "j", Place: is.Place()}); why == nil {
		t.Error("changed while it is being changed")
	}
	if why := b.Check(span(52)); why != nil {
		t.Error(why)
	}
	b.Made(span(53), "r", is.Place(), &grid.Refusal{Kind: grid.Temporary, Reason: "busy"})
	if get(b).Holding != grid.Changing {
		t.Error("a refusal that passes ends the change")
	}
	seq := get(b).Seq
	b.Made(span(54), "r", is.Place(), &grid.Refusal{Kind: grid.Permanent, Reason: "no"})
	if r := get(b); r.Holding != grid.Placed || r.Start != span(100) || r.Nodes[0] != "n0" || r.Was != nil || r.Seq != seq+1 || r.State != grid.Bound {
		t.Errorf("refused it is %+v", r)
	}
	b = moved()
	b.Made(span(54), "r", is.Place(), nil)
	if r := get(b); r.Holding != grid.Placed || r.Was != nil || r.Start != span(300) {
		t.Errorf("changed it is %+v", r)
	}
}

// One that may begin early is moved when it is bound: to a whole second some seconds on, where that is free, and never later.
func TestHastened(t *testing.T) {
	t.Parallel()
	other := grid.Reservation{ID: "o", Kind: grid.NodesReserved, Holder: alice, Nodes: []grid.NodeName{"n0"}, Start: span(60), End: span(90), State: grid.Confirmed, Holding: grid.Placed}
	for name, c := range map[string]struct {
		now   grid.Tick
		early bool
		beside,
		changing bool
		start grid.Tick
	}{
		"early":            {span(50) + 1, true, false, false, span(56)},
		"not early":        {span(50), false, false, false, span(100)},
		"taken meanwhile":  {span(50), true, true, false, span(100)},
		"about to begin":   {span(98), true, false, false, span(100)},
		"is being changed": {span(50), true, false, true, span(100)},
	} {
		b := deep(grid.Confirmed, func(r *grid.Reservation) {
			if r.Early = c.early; c.changing {
				was := r.Place()
				r.Holding, r.Was = grid.Changing, &was
			}
		})
		if c.beside {
			b = New(b.Rules(), append(b.All(), other))
		}
		b.Bind(c.now, "r", "j", alice)
		if r := get(b); r.Start != c.start || r.End != c.start+span(100) || r.State != grid.Bound {
			t.Errorf("%s: from %v to %v, %v", name, r.Start, r.End, r.State)
		}
	}
}
