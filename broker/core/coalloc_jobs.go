package core

import (
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// wholeJobs are the jobs of co-allocation: what is done to them, the other machines do.
type wholeJobs struct {
	*kernel
	budgets interface {
		placeLien(j *grid.Job, id grid.JobID, rate float64, cores int, limit grid.Tick) *grid.Refusal
		liftLien(user string, part grid.JobID)
		short(j *grid.Job, costs []grid.Amount) (at int, why *grid.Refusal)
	}
	execution interface {
		launch(j *job, why string)
	}
	gates interface {
		beforeAllBegun(begun, of int) gate
		beforeConfirming(tentative, of int) gate
		beforeGo(arrived, of int) gate
		beforeReleasingAgain() gate
		beforeRound(j *job) gate
		beforeCancel(j *job) gate
		beforeKilled(j *job, end grid.State) gate
		beforeStart(j *job) gate
		offset(t grid.Tick) grid.Tick
		beforeSaving(to grid.AllocationState) gate
	}
	home interface {
		accept(of *job)
		furnish(j *job)
		newJob(of grid.Job, key string, anyway bool) *job
		notToldYet(j *job, hold gate)
		terminal(j *job, s grid.State)
		pursueCancel(j *job)
		wantGone(j *job, by string)
	}
	ownership interface {
		makeOffer(j *job, to grid.PeerID, wait grid.Tick, hops uint32)
	}
	reservations interface {
		delivered(part grid.JobID)
		delivers(part grid.JobID, user grid.User, to grid.PeerID, bytes int64, until grid.Tick) *grid.Refusal
	}
	search interface {
		delivery(m *member, size int64) (bandwidth float64, measured bool, delivery grid.Tick)
		draft(id grid.JobID) *job
		fetching(j *job) grid.Tick
		predicted(j *job)
		ready(j *job, why string)
		unwanted(j *job, p grid.PeerID) *grid.Refusal
		upTo(span grid.Tick) grid.Tick
	}
	terms interface {
		keepsBack(j *job) keeping
		renew(j *job)
		tooLate(j *job)
	}
}

func (w *wholeJobs) instant() grid.Tick { return w.now }

func (w *wholeJobs) retry(tries int) grid.Tick {
	return min(w.cfg.Retry<<min(tries, 20), w.cfg.RetryMax)
}

func (w *wholeJobs) jitter(span grid.Tick) grid.Tick { return w.search.upTo(span) }

func (w *wholeJobs) round() uint64 {
	w.rounds++
	return w.rounds
}

func (w *wholeJobs) newStamp() uint32 { return w.nextStamp(0) }

func (w *wholeJobs) again(at grid.Tick) { w.armWithin(allocationsDue, at-w.now) }

func (w *wholeJobs) say(to grid.PeerID, m wire.Message) { w.send(to, m) }

func (w *wholeJobs) save(a *grid.Allocation, why string) {
	ch := grid.Saved(a)
	if why != "" {
		ch.Events = []grid.Event{{At: w.now, Site: w.cfg.Site.Name, Why: why}}
	}
	w.emit(Save{ch})
}

func (w *wholeJobs) drop(of grid.JobID) {
	w.emit(Save{grid.Deleted(grid.KindAllocation, string(of))})
	for _, r := range w.parts(of, 0) {
		if j := w.job(r.Job.ID); j != nil && j.rec.State.Terminal() {
			w.kernel.drop(j)
		}
	}
}

func (w *wholeJobs) whole(id grid.JobID) (*grid.Record, keeping) {
	j := w.job(id)
	if j == nil {
		return nil, notKept
	}
	return &j.rec, w.terms.keepsBack(j)
}

func (w *wholeJobs) tell(id grid.JobID, why string, start grid.Tick) {
	if j := w.job(id); j != nil && !j.rec.State.Terminal() {
		j.rec.Reason, j.rec.EstimateNow = why, start
		if start > 0 {
			w.search.predicted(j)
		}
		w.show(j)
	}
}

func (w *wholeJobs) alone(id grid.JobID, why string) {
	if j := w.job(id); j != nil && j.rec.State == grid.Ready && j.rec.Role == grid.Owning {
		w.search.ready(j, why)
	}
}

func (w *wholeJobs) renew(id grid.JobID) {
	if j := w.job(id); j != nil && j.rec.State == grid.Ready {
		w.terms.renew(j)
	}
}

func (w *wholeJobs) pursue(id grid.JobID) {
	if j := w.job(id); j != nil {
		w.home.pursueCancel(j)
	}
}

func (w *wholeJobs) begun(id grid.JobID) {
	if j := w.job(id); j != nil && j.rec.State == grid.Ready {
		w.terms.tooLate(j)
		w.become(j, grid.Running)
		j.rec.Started, j.rec.Reason = w.now, ""
		w.kernel.save(j, "all parts have begun")
	}
}

func (w *wholeJobs) end(id grid.JobID, of ending) {
	j := w.job(id)
	if j == nil || j.rec.State.Terminal() {
		return
	}
	r := &j.rec
	r.HasExit, r.ExitCode, r.Signal, r.Usage, r.Finished = of.hasExit, of.exitCode, of.signal, of.usage, of.finished
	r.Reason, r.End = of.why, of.state
	if of.state == grid.Completed || of.state == grid.CancelledWalltime {
		w.become(j, grid.StageOut)
	}
	w.home.terminal(j, of.state)
}

// drawn is a job of this home, or one that nobody has handed in.
func (w *wholeJobs) drawn(id grid.JobID) *job {
	if j := w.search.draft(id); j != nil {
		return j
	}
	return w.job(id)
}

func (w *wholeJobs) sites(id grid.JobID) (list []reachable) {
	j := w.drawn(id)
	if j == nil {
		return nil
	}
	add := func(p grid.PeerID, why *grid.Refusal, link float64, facts grid.Site) {
		if no := w.search.unwanted(j, p); no != nil {
			why = no
		}
		list = append(list, reachable{p, w.siteName(p), why, link, facts})
	}
	var own *grid.Refusal
	if w.draining {
		own = forNow(drained)
	}
	add(w.cfg.Self, own, 0, w.cfg.Site)
	for _, p := range w.targets {
		m := w.members[p]
		var why *grid.Refusal
		if m.live != grid.Alive {
			why = forNow(notAlive)
		}
		add(p, why, m.link.RTT.Seconds(), m.site)
	}
	return list
}

func (w *wholeJobs) bytes(id grid.JobID, to grid.PeerID) grid.Tick {
	j, m := w.drawn(id), w.members[to]
	if j == nil || m == nil {
		return 0
	}
	_, _, delivery := w.search.delivery(m, sizeOf(&j.rec.Job))
	return delivery + w.search.fetching(j)
}

func (w *wholeJobs) part(id grid.JobID) *grid.Record {
	if j := w.job(id); j != nil {
		return &j.rec
	}
	return nil
}

func (w *wholeJobs) parts(of grid.JobID, after int) (list []*grid.Record) {
	for _, n := range slices.Sorted(maps.Keys(w.kernel.parts[of])) {
		id := partID(of, n)
		if n <= after && w.live[id] == nil {
			continue
		}
		if j := w.job(id); j != nil {
			list = append(list, &j.rec)
		}
	}
	return list
}

func partID(of grid.JobID, n int) grid.JobID { return (&grid.Allocation{Of: of}).PartID(n) }

func (w *wholeJobs) makePart(of grid.Job) {
	if w.peek(of.ID) != nil {
		return
	}
	j := w.home.newJob(of, "", false)
	w.home.accept(j)
	if j.rec.State == grid.StageIn {
		w.home.furnish(j)
		return
	}
	w.become(j, grid.Ready)
	w.kernel.save(j, "made")
}

func (w *wholeJobs) place(id grid.JobID, to grid.PeerID, wait grid.Tick) *grid.Refusal {
	j := w.job(id)
	switch {
	case j == nil || j.rec.State != grid.Ready || j.rec.Role != grid.Owning || j.rec.CancelRequested || w.gates.beforeStart(j) != open:
	case to != w.cfg.Self && j.blocked[to] <= w.now && w.lives(to):
		w.ownership.makeOffer(j, to, wait, 0)
	case to == w.cfg.Self:
		if no := w.refusedBy(j, to); no != nil {
			return no
		}
		w.execution.launch(j, "its place is here")
	}
	return nil
}

func (w *wholeJobs) cancel(id grid.JobID, why string) {
	if j := w.job(id); j != nil {
		w.home.wantGone(j, why)
	}
}

// disown leaves what has begun: it ends by itself, sooner if it is without the others.
func (w *wholeJobs) disown(of grid.JobID) {
	if w.peek(of) != nil {
		return
	}
	for _, r := range w.parts(of, 0) {
		heard := r.Report > 0 || r.Role == grid.Owning
		begun := r.Started != 0 || r.State >= grid.Running
		if j := w.job(r.Job.ID); w.isHome(j) && heard && !begun {
			w.home.wantGone(j, "its home, which has lost the job of which it is a part")
		}
	}
}

func (w *wholeJobs) deliver(of, part grid.JobID, to grid.PeerID, until grid.Tick) *grid.Refusal {
	j := w.job(of)
	if j == nil {
		return nil
	}
	return w.reservations.delivers(part, j.rec.Job.User, to, sizeOf(&j.rec.Job), until)
}

func (w *wholeJobs) delivered(part grid.JobID) { w.reservations.delivered(part) }

func (w *wholeJobs) placeLien(of grid.JobID, p *grid.AllocatedPart) *grid.Refusal {
	j := w.job(of)
	if j == nil {
		return nil
	}
	return w.budgets.placeLien(&j.rec.Job, p.Job, p.Price, p.Cores, p.Limit)
}

func (w *wholeJobs) short(j *grid.Job, costs []grid.Amount) (at int, why *grid.Refusal) {
	return w.budgets.short(j, costs)
}

func (w *wholeJobs) liftLien(of, part grid.JobID) {
	if j := w.job(of); j != nil {
		w.budgets.liftLien(j.rec.Job.User.Name, part)
	}
}

func (w *wholeJobs) beforeRound(id grid.JobID) gate {
	if j := w.job(id); j != nil {
		return w.gates.beforeRound(j)
	}
	return forNobody
}

func (w *wholeJobs) beforeCancel(id grid.JobID) gate {
	if j := w.job(id); j != nil {
		return w.gates.beforeCancel(j)
	}
	return open
}

func (w *wholeJobs) unheard(id grid.JobID, end grid.State) bool {
	j := w.job(id)
	if j == nil {
		return false
	}
	hold := w.gates.beforeKilled(j, end)
	if hold != open {
		w.home.notToldYet(j, hold)
	}
	return hold != open
}

func (w *wholeJobs) beforeConfirming(n, of int) gate           { return w.gates.beforeConfirming(n, of) }
func (w *wholeJobs) beforeGo(n, of int) gate                   { return w.gates.beforeGo(n, of) }
func (w *wholeJobs) beforeAllBegun(n, of int) gate             { return w.gates.beforeAllBegun(n, of) }
func (w *wholeJobs) beforeSaving(to grid.AllocationState) gate { return w.gates.beforeSaving(to) }
func (w *wholeJobs) beforeReleasingAgain() gate                { return w.gates.beforeReleasingAgain() }
func (w *wholeJobs) offset(t grid.Tick) grid.Tick              { return w.gates.offset(t) }
