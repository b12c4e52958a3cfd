package wire

import (
	"math"
	"strings"
	"testing"

	"gbroker/grid"
)

// number is one that a message tells, with its bounds.
type number struct {
	field     string
	low, high int64
	with      func(v int64) Message
}

// Each number is taken from its least to its most, both ways, and what is beside that is refused by its name.
func TestNumbersHaveBounds(t *testing.T) {
	t.Parallel()
	for _, n := range append(append(numbersOfJobs(), numbersOfAnswers()...), numbersOfReservations()...) {
		values := map[int64]bool{n.low: true, n.high: true}
		if n.low > math.MinInt64 {
			values[n.low-1] = false
		}
		if n.high < math.MaxInt64 {
			values[n.high+1] = false
		}
		for v, fine := range values {
			m := n.with(v)
			_, sent := Encode(m)
			_, came := Decode(unchecked(t, m))
			if fine && (sent != nil || came != nil) {
				t.Errorf("%s of %d: %v, %v", n.field, v, sent, came)
			}
			if !fine && (sent == nil || came == nil || !strings.Contains(came.Error(), n.field)) {
				t.Errorf("%s of %d is taken, or refused by another name: %v, %v", n.field, v, sent, came)
			}
		}
	}
}

// changed gives messages of one kind, with a field as it is told.
func changed[M Message](base func() M, change func(m *M, v int64)) func(int64) Message {
	return func(v int64) Message {
		m := base()
		change(&m, v)
		return m
	}
}

func numbersOfJobs() []number {
	offer := func(change func(j *grid.Job, v int64)) func(int64) Message {
		return changed(func() Offer { return Offer{Handoff: HandoffID{Job: aJob, To: other}, Job: exampleJob()} }, func(m *Offer, v int64) { change(&m.Job, v) })
	}
	chunk := func(change func(k *grid.Chunk, v int64)) func(int64) Message {
		return offer(func(j *grid.Job, v int64) {
			j.Demand.Chunks = []grid.Chunk{{Count: 1, Processes: 1}}
			change(&j.Demand.Chunks[0], v)
		})
	}
	part := func(change func(p *grid.Part, v int64)) func(int64) Message {
		return offer(func(j *grid.Job, v int64) { j.Part = examplePart(); change(j.Part, v) })
	}
	several := func(change func(k *grid.Coallocation, v int64)) func(int64) Message {
		return offer(func(j *grid.Job, v int64) {
			j.Coallocation = &grid.Coallocation{Sites: 2, PerSite: 2}
			change(j.Coallocation, v)
		})
	}
	return []number{
		{"chunks[0].count", 1, grid.MaxProcesses, chunk(func(k *grid.Chunk, v int64) { k.Count = int(v) })},
		{"chunks[0].processes", 1, grid.MaxProcesses, chunk(func(k *grid.Chunk, v int64) { k.Processes = int(v) })},
		{"chunks[0].cores", 0, grid.MaxProcesses, chunk(func(k *grid.Chunk, v int64) { k.Cores = int(v) })},
		{"chunks[0].memory", 0, grid.MaxMemory, chunk(func(k *grid.Chunk, v int64) { k.Memory = v })},
		{"chunks[0].memory", 0, MaxTotalMemory / grid.MaxProcesses, chunk(func(k *grid.Chunk, v int64) { k.Count, k.Memory = grid.MaxProcesses, v })},
		{"disk", 0, grid.MaxDisk, offer(func(j *grid.Job, v int64) { j.Demand.Disk = v })},
		{"walltime", 1, int64(grid.MaxWalltime), offer(func(j *grid.Job, v int64) { j.Walltime = grid.Tick(v) })},
		{"memory_limit", 0, grid.MaxMemory, offer(func(j *grid.Job, v int64) { j.Program.Limits = nil; j.Program.SetLimit(grid.LimitMemory, v) })},
		{"inputs[0].", 0, 0, offer(func(j *grid.Job, v int64) { j.Inputs = grid.Manifest{{Path: "a", Size: v}} })},
		{"part.rank", 0, 1, part(func(p *grid.Part, v int64) { p.Rank = int(v) })},
		{"part.sites[1].processes", 1, grid.MaxProcesses, part(func(p *grid.Part, v int64) { p.Sites[1].Processes = int(v) })},
		{"part.limit", 1, int64(grid.MaxWalltime), part(func(p *grid.Part, v int64) { p.Limit = grid.Tick(v) })},
		{"coallocation.sites", 1, grid.MaxPartSites, several(func(k *grid.Coallocation, v int64) { k.Sites = int(v) })},
		{"coallocation.per site", 1, grid.MaxProcesses, several(func(k *grid.Coallocation, v int64) { k.PerSite = int(v) })},
		{"grants[0].until", 0, int64(MaxSpan), offer(func(j *grid.Job, v int64) {
			j.Sharing.Grants = []grid.Grant{{Holder: other, Until: grid.Tick(v), Signature: []byte("signed")}}
		})},
	}
}

func numbersOfAnswers() []number {
	hello := func(change func(s *grid.Site, v int64)) func(int64) Message {
		return changed(func() Hello { return Hello{Site: grid.Site{Name: "a", Processes: 1, Speed: 1}} }, func(m *Hello, v int64) { change(&m.Site, v) })
	}
	cohort := func(change func(k *grid.Cohort, v int64)) func(int64) Message {
		return hello(func(s *grid.Site, v int64) {
			s.Cohorts = []grid.Cohort{{Computers: 1, Free: 1, Cores: 1, Memory: 1}}
			change(&s.Cohorts[0], v)
		})
	}
	starts := func(change func(s *grid.Starts, v int64)) func(int64) Message {
		return func(v int64) Message {
			s := grid.Starts{Processes: []int{1}, Walltimes: []grid.Tick{1}, Waits: []grid.Tick{1}}
			change(&s, v)
			return Announce{Site: drainingSite, Starts: s}
		}
	}
	report := func(change func(m *Report, v int64)) func(int64) Message {
		return changed(func() Report { return Report{Job: aJob, State: grid.Running} }, change)
	}
	ack := func(change func(m *ReportAck, v int64)) func(int64) Message {
		return changed(func() ReportAck { return ReportAck{Job: aJob} }, change)
	}
	status := func(change func(s *Status, v int64)) func(int64) Message {
		return func(v int64) Message {
			s := Status{User: grid.User{Home: aPeer}, Home: aPeer, State: grid.Running, Demand: exampleJob().Demand, Walltime: 1}
			change(&s, v)
			return Response{Job: aJob, Outcome: OutcomeDone, Status: &s}
		}
	}
	about := func(change func(s *GroupStatus, v int64)) func(int64) Message {
		return func(v int64) Message {
			s := GroupStatus{User: grid.User{Home: aPeer}}
			change(&s, v)
			return Response{Group: aGroup, Outcome: OutcomeDone, About: &s}
		}
	}
	candidate := func(change func(k *grid.Candidate, v int64)) func(int64) Message {
		return func(v int64) Message {
			k := grid.Candidate{Site: "a"}
			change(&k, v)
			return Response{Job: aJob, Outcome: OutcomeLater, Decisions: []Decision{{Candidates: []grid.Candidate{k}}}}
		}
	}
	alter := func(change func(a *Alteration, v int64)) func(int64) Message {
		return func(v int64) Message {
			a := Alteration{}
			change(&a, v)
			return Request{User: "alice", Job: aJob, Wish: WishAlter, Alter: &a}
		}
	}
	page := func(change func(m *Request, v int64)) func(int64) Message {
		return changed(func() Request { return Request{User: "alice", Group: aGroup} }, change)
	}
	estimate := func(change func(e *grid.Estimate, v int64)) func(int64) Message {
		return func(v int64) Message {
			e := grid.Estimate{}
			change(&e, v)
			return EstimateReply{Site: drainingSite, Answers: []Answer{{Job: aJob, Estimate: e}}}
		}
	}
	outline := Status{User: grid.User{Home: aPeer}, Home: aPeer, State: grid.Submitted, Outline: true}
	return []number{
		{"load.cores", 0, grid.MaxProcesses, hello(func(s *grid.Site, v int64) { s.Load.Cores = int(v) })},
		{"load.busy", 0, grid.MaxProcesses, hello(func(s *grid.Site, v int64) { s.Load = grid.Load{Cores: 1, Busy: int(v)} })},
		{"load.waiting", 0, grid.MaxProcesses, hello(func(s *grid.Site, v int64) { s.Load = grid.Load{Cores: 1, Waiting: int(v)} })},
		{"processes", 0, grid.MaxProcesses, hello(func(s *grid.Site, v int64) { s.Processes = int(v) })},
		{"each.disk", 0, grid.MaxDisk, hello(func(s *grid.Site, v int64) { s.Each = grid.Each{Disk: v, Clock: 1} })},
		{"cohorts[0].memory", 0, grid.MaxMemory, cohort(func(k *grid.Cohort, v int64) { k.Memory = v })},
		{"cohorts[0].cores", 0, grid.MaxProcesses, cohort(func(k *grid.Cohort, v int64) { k.Cores = int(v) })},
		{"cohorts[0].computers", 1, grid.MaxProcesses, cohort(func(k *grid.Cohort, v int64) { k.Computers = int(v) })},
		{"cohorts[0].free", 0, grid.MaxProcesses, cohort(func(k *grid.Cohort, v int64) { k.Free = int(v) })},
		{"processes[0].", 1, grid.MaxProcesses, starts(func(s *grid.Starts, v int64) { s.Processes[0] = int(v) })},
		{"walltimes[0].", 1, int64(grid.MaxWalltime), starts(func(s *grid.Starts, v int64) { s.Walltimes[0] = grid.Tick(v) })},
		{"exit_code", math.MinInt32, math.MaxInt32, report(func(m *Report, v int64) { m.ExitCode = int(v) })},
		{"signal", 0, maxSignal, report(func(m *Report, v int64) { m.Signal = int(v) })},
		{"usage.cpu", 0, int64(grid.MaxUsedCPU), report(func(m *Report, v int64) { m.Usage.CPU = grid.Tick(v) })},
		{"usage.memory", 0, grid.MaxUsedMemory, report(func(m *Report, v int64) { m.Usage.Memory = v })},
		{"exit_code", math.MinInt32, math.MaxInt32, ack(func(m *ReportAck, v int64) { m.ExitCode = int(v) })},
		{"signal", 0, maxSignal, ack(func(m *ReportAck, v int64) { m.Signal = int(v) })},
		{"exit_code", math.MinInt32, math.MaxInt32, status(func(s *Status, v int64) { s.ExitCode = int(v) })},
		{"signal", 0, maxSignal, status(func(s *Status, v int64) { s.Signal = int(v) })},
		{"about.jobs", 0, grid.MaxSweep, about(func(s *GroupStatus, v int64) { s.Jobs = int(v) })},
		{"about.count", 0, grid.MaxSweep, about(func(s *GroupStatus, v int64) { s.Counts[grid.Running] = int(v) })},
		{"members[0].number", 1, grid.MaxSweep, about(func(s *GroupStatus, v int64) { s.Members = []Member{{int(v), outline}} })},
		{"candidates[0].size", 0, math.MaxInt64, candidate(func(k *grid.Candidate, v int64) { k.Size = v })},
		{"candidates[0].delivery", -int64(MaxSpan), int64(MaxSpan), candidate(func(k *grid.Candidate, v int64) { k.Delivery = grid.Tick(v) })},
		{"alter.priority", -grid.MaxPriority, grid.MaxPriority, alter(func(a *Alteration, v int64) { n := int(v); a.Priority = &n })},
		{"alter.walltime", 1, int64(grid.MaxWalltime), alter(func(a *Alteration, v int64) { n := grid.Tick(v); a.Walltime = &n })},
		{"alter.processes", 1, grid.MaxProcesses, alter(func(a *Alteration, v int64) { n := int(v); a.Processes = &n })},
		{"after", 0, grid.MaxSweep, page(func(m *Request, v int64) { m.After = int(v) })},
		{"limit", 0, MaxMembers, page(func(m *Request, v int64) { m.Limit = int(v) })},
		{"estimate.wait", 0, int64(MaxSpan), estimate(func(e *grid.Estimate, v int64) { e.Wait = grid.Tick(v) })},
		{"spread.of", math.MinInt64, MaxOutcomes, estimate(func(e *grid.Estimate, v int64) { e.Spread.Of = int(v) })}, // of none or less it is not told
	}
}

func numbersOfReservations() []number {
	slot := func(change func(s *grid.Slot, v int64)) func(int64) Message {
		return func(v int64) Message {
			s := grid.Slot{Node: "n1", Start: 0, End: 1, Cores: 1}
			change(&s, v)
			return SlotsReply{Of: aJob, Site: drainingSite, Slots: []grid.Slot{s}}
		}
	}
	slots := func(change func(m *Slots, v int64)) func(int64) Message {
		return changed(func() Slots {
			return Slots{Of: aJob, Demand: exampleJob().Demand, Walltime: 1, User: exampleJob().User, From: 5, To: 6}
		}, change)
	}
	reserve := func(change func(m *Reserve, v int64)) func(int64) Message { return changed(exampleReserve, change) }
	delivery := func(change func(m *Reserve, v int64)) func(int64) Message {
		return reserve(func(m *Reserve, v int64) { m.Nodes, m.What = nil, grid.DeliveryReserved; change(m, v) })
	}
	word := func(change func(r *grid.Reservation, v int64)) func(int64) Message {
		return func(v int64) Message {
			r := exampleReservation()
			change(&r, v)
			return ReservationWord{Reservation: r}
		}
	}
	change := func(change func(m *Change, v int64)) func(int64) Message {
		return changed(func() Change { return Change{ID: "r1", Number: 1, Start: 1000, End: 2000} }, change)
	}
	span, seconds := int64(grid.MaxReservationSpan), int64(grid.Second)
	return []number{
		{"slots[0].cores", 1, grid.MaxProcesses, slot(func(s *grid.Slot, v int64) { s.Cores = int(v) })},
		{"slots[0].memory", 0, grid.MaxMemory, slot(func(s *grid.Slot, v int64) { s.Memory = v })},
		{"to", 6, 5 + int64(grid.MaxWalltime), slots(func(m *Slots, v int64) { m.To = grid.Tick(v) })},
		{"walltime", 1, int64(grid.MaxWalltime), slots(func(m *Slots, v int64) { m.Walltime = grid.Tick(v) })},
		{"length", 1, int64(grid.MaxReservation), reserve(func(m *Reserve, v int64) { m.Until, m.Length = m.From+grid.MaxReservation+grid.Second, grid.Tick(v) })},
		{"limit", 0, span, reserve(func(m *Reserve, v int64) { m.Limit = grid.Tick(v) })},
		{"grace", 0, span, reserve(func(m *Reserve, v int64) { m.Grace = grid.Tick(v) })},
		{"bandwidth", 1, grid.MaxReservedRate, delivery(func(m *Reserve, v int64) { m.Bandwidth = v })},
		{"bandwidth", 0, 0, reserve(func(m *Reserve, v int64) { m.Bandwidth = v })},
		{"cores", 0, grid.MaxProcesses, word(func(r *grid.Reservation, v int64) { r.Cores = int(v) })},
		{"bandwidth", 0, grid.MaxReservedRate, word(func(r *grid.Reservation, v int64) { r.Bandwidth = v })},
		{"grace", 0, span, word(func(r *grid.Reservation, v int64) { r.Grace = grid.Tick(v) })},
		{"end", 1, int64(grid.MaxReservation) / seconds, word(func(r *grid.Reservation, v int64) { r.End = r.Start + grid.Tick(v*seconds) })},
		{"", 1, 1, change(func(m *Change, v int64) { m.Start = grid.Tick(v * seconds) })},
		{"lease", 0, span, func(v int64) Message { return Confirm{ID: "r1", Lease: grid.Tick(v)} }},
		{"count", 0, grid.MaxReservedNodes, change(func(m *Change, v int64) { m.Count = int(v) })},
	}
}
