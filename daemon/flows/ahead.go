package flows

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/flow/enact"
	"gbroker/grid"
)

// Where a periodic workflow wants it, the slots of its pipeline are reserved one period ahead: when an instance begins, nodes are asked for, for each
// task of the next one, at the site, in the configuration and from the instant that the plan says. A task is handed in bound to what is reserved for
// it; where that is refused, or lost, it is queued as any job. What nobody comes for the site gives up by itself, so that what a kill leaves is soon
// gone.

const (
	// maxReserved is for how many tasks of an instance something is reserved.
	maxReserved = 16
	// reservedMore is what a reservation is longer than the limit of its task: start and end take some time. So much later than planned it may begin.
	reservedMore = 2 * grid.Minute
	// leastAhead is how long before its start a reservation is asked for.
	leastAhead = 10 * grid.Second
	// releaseLimit is how long one that is not needed has to be given up.
	releaseLimit = 10 * time.Second
)

// reservedAhead is what is reserved for an instance.
type reservedAhead struct {
	number int
	ids    []grid.ReservationID // by task; "" is nothing
	made   int
	why    string // of those that were refused, one
}

// ahead has the slots of the instance after n reserved, beside the run; what comes of it goes to done.
func (f *flow) ahead(ctx context.Context, every *workflow.Periodic, sites [][]workflow.PlannedTask, n int, done chan<- reservedAhead) {
	if n++; !every.Reserve || len(sites) == 0 || every.Count > 0 && n >= every.Count {
		return
	}
	f.mu.Lock()
	_, is := f.rec.Periods.Ahead[n]
	over := f.rec.Cancelled
	f.mu.Unlock()
	if is || over {
		return
	}
	f.keeper.running.Go(func() {
		h := f.reserveAll(ctx, every, sites, n)
		select {
		case done <- h:
		case <-ctx.Done():
			f.giveUp(ctx, h.ids)
		}
	})
}

// reserveAll asks for the slots of an instance.
func (f *flow) reserveAll(ctx context.Context, every *workflow.Periodic, sites [][]workflow.PlannedTask, n int) reservedAhead {
	f.mu.Lock()
	begins := f.rec.Begun + grid.Span(every.Instant(n))
	f.mu.Unlock()
	at := row(n, len(sites))
	h := reservedAhead{number: n, ids: make([]grid.ReservationID, len(f.parts))}
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range min(len(f.parts), maxReserved) {
		planned := &sites[at][i]
		start := begins + grid.Span(planned.Start-every.Instant(at))
		all.Go(func() {
			r, err := f.reserve(ctx, i, planned, start)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				h.why = f.parts[i].Name + ": " + err.Error()
				return
			}
			h.ids[i], h.made = r.ID, h.made+1
		})
	}
	all.Wait()
	return h
}

// reserve asks for the slot of a task.
func (f *flow) reserve(ctx context.Context, i int, planned *workflow.PlannedTask, start grid.Tick) (grid.Reservation, error) {
	second := func(t grid.Tick) grid.Tick { return (t + grid.Second - 1) / grid.Second * grid.Second }
	j := &f.parts[i].Ways[planned.Way].Job
	length := second(max(j.Walltime, grid.Span(planned.End-planned.Start)) + reservedMore)
	from := second(max(start, f.keeper.config.Now()+leastAhead))
	return f.keeper.config.Jobs.Reserve(ctx, f.who(), api.NewReservation{
		Site: grid.SiteName(planned.Site), Demand: j.Demand, Queue: j.Queue, From: from, Until: from + reservedMore + length, Length: length, Early: true,
	})
}

// keepReserved notes what is reserved for an instance, unless that has begun or never will.
func (f *flow) keepReserved(ctx context.Context, h reservedAhead) {
	f.mu.Lock()
	p := f.rec.Periods
	p.Reserved, p.Unreserved = p.Reserved+h.made, h.why
	needed := h.number >= p.Next && !f.rec.Cancelled
	if needed {
		if p.Ahead == nil {
			p.Ahead = map[int][]grid.ReservationID{}
		}
		p.Ahead[h.number] = h.ids
		f.keep()
	}
	f.mu.Unlock()
	if !needed {
		f.giveUp(ctx, h.ids)
	}
}

// takeReserved is what is reserved for an instance that begins; f.mu is held.
func (p *periods) takeReserved(n int) []grid.ReservationID {
	ids := p.Ahead[n]
	delete(p.Ahead, n)
	return ids
}

// unneeded gives up what is reserved for instances whose time is over, or that never begin.
func (f *flow) unneeded(ctx context.Context) {
	f.mu.Lock()
	p := f.rec.Periods
	var ids []grid.ReservationID
	for _, n := range slices.Sorted(maps.Keys(p.Ahead)) {
		if n < p.Next || f.rec.Cancelled {
			ids = append(ids, p.takeReserved(n)...)
		}
	}
	if len(ids) > 0 {
		f.keep()
	}
	f.mu.Unlock()
	f.giveUp(ctx, ids)
}

// unused are the reservations of tasks that never run in them: they are over and have not begun, or are to be tried again. No task has them any more.
func (f *flow) unused() (ids []grid.ReservationID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.rec.Tasks {
		t := &f.rec.Tasks[i]
		if t.Reservation == "" || !t.Over() && (t.State != enact.Waiting || t.Attempt == 0) {
			continue
		}
		if t.Started == 0 || t.State == enact.Reused { // when what it reuses was begun
			ids, t.Reservation = append(ids, t.Reservation), ""
		}
	}
	if len(ids) > 0 {
		f.keep()
	}
	return ids
}

// giveUp releases reservations, beside the run, also when that ends. Those that cannot be end by themselves, as nobody comes.
func (f *flow) giveUp(ctx context.Context, ids []grid.ReservationID) {
	for _, id := range ids {
		if id == "" {
			continue
		}
		f.keeper.running.Go(func() {
			ctx, done := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
			defer done()
			if _, err := f.keeper.config.Jobs.Release(ctx, f.who(), id); err != nil {
				f.keeper.config.Log.Info("a reservation of a workflow is not given up, and ends by itself", "workflow", f.spec.ID, "reservation", id, "error", err)
			}
		})
	}
}
