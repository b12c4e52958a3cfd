package faults

import (
	"math/rand/v2"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// point is where a broker may crash: around a save or after an effect, and in which
// state of the protocol the job or the group is that it is about.
type point struct {
	where where
	stage stage
}

// where is around a save, after an effect of some kind, or after sending a message of
// some kind.
type where uint8

const (
	beforeSave where = iota
	afterSave
	afterAnswer
	afterLook
	afterLaunch
	afterWithdraw
	afterKill
	afterProbe
	afterFetch
	afterCollect
	afterDiscard
	afterSend // and the kind of the message
)

var whereNames = [...]string{"before save", "after save", "after Answer", "after Look", "after Launch", "after Withdraw", "after Kill",
	"after Probe", "after Fetch", "after Collect", "after Discard"}

// stage is what a broker is to a job, and how far that has come.
type stage uint8

const (
	noJob stage = iota
	unknown
	ownerStageIn
	ownerReady
	ownerOffering
	ownerWithdrawing
	ownerAssigned
	ownerRunning
	ownerFinished
	ownerStageOut
	homeCommitted
	homeWatching
	candidatePrepared
	candidateDeclined
	formerCommitted
	former
	ended

	groupComing // and those that follow are of a group
	groupEntering
	groupEntered
	groupCancelled
	groupEnded

	besideTemplate // and those that follow are of what lies beside jobs and groups, where nothing else is saved; see beside.go
	besideResults
	besideReservation
	besideBudget
	besideAllocation // and those of its states, in order
)

var stageNames = [...]string{"no job", "unknown", "owner, files to come", "owner, ready", "owner, offering", "owner, withdrawing", "owner, assigned",
	"owner, running", "owner, finished", "owner, output to go", "home, committed", "home, watching", "candidate, prepared",
	"candidate, declined", "former owner, committed", "former owner", "home, ended",
	"group, files to come", "group, jobs to come", "group, all jobs made", "group, cancelled", "group, ended",
	"template", "results", "reservation", "budget"}

func (s stage) String() string {
	if s < besideAllocation {
		return stageNames[s]
	}
	return "allocation, " + allocationOf(s).String()
}

func (p point) String() string {
	name := ""
	if p.where < afterSend {
		name = whereNames[p.where]
	} else {
		name = "after Send " + messageNames[wire.Kind(p.where-afterSend)]
	}
	return name + " (" + p.stage.String() + ")"
}

// messageNames are those that a Core sends.
var messageNames = func() map[wire.Kind]string {
	names := map[wire.Kind]string{}
	for _, m := range []wire.Message{
		wire.EstimateRequest{}, wire.EstimateReply{}, wire.Offer{}, wire.Accept{}, wire.Refuse{}, wire.Ready{}, wire.Abort{}, wire.Commit{}, wire.Owned{}, wire.Inquire{},
		wire.InquireReply{}, wire.Declined{}, wire.Unknown{}, wire.Report{}, wire.ReportAck{}, wire.Cancel{}, wire.Closed{}, wire.Error{},
		wire.Moved{}, wire.MovedAck{}, wire.Announce{}, wire.Superseded{}, wire.Recall{}, wire.Recalled{}, wire.Request{}, wire.Response{},
		wire.Seen{}, wire.Recount{}, wire.Recounted{},
		wire.Slots{}, wire.SlotsReply{}, wire.Reserve{}, wire.Reserved{}, wire.Confirm{}, wire.Release{}, wire.ReservationWord{}, wire.ReservationAck{}, wire.Gather{},
	} {
		names[m.Kind()] = kindOf(m)
	}
	return names
}()

// stageOf is the stage that a record tells.
func stageOf(r *grid.Record) stage {
	if r == nil {
		return unknown
	}
	switch r.Role {
	case grid.Prepared:
		return candidatePrepared
	case grid.Declined:
		return candidateDeclined
	case grid.Tombstone:
		if r.Handoff.Phase == grid.Committed {
			return formerCommitted
		}
		return former
	case grid.Watching:
		switch {
		case r.State.Terminal():
			return ended
		case r.Handoff.Phase == grid.Committed:
			return homeCommitted
		}
		return homeWatching
	}
	switch {
	case r.Handoff.Phase == grid.Offering:
		return ownerOffering
	case r.Handoff.Phase == grid.Withdrawing:
		return ownerWithdrawing
	case r.State.Terminal():
		return ended
	}
	return ownerStages[r.State]
}

var ownerStages = map[grid.State]stage{
	grid.Submitted: ownerStageIn, grid.StageIn: ownerStageIn, grid.Ready: ownerReady, grid.Assigned: ownerAssigned, grid.Moving: ownerOffering,
	grid.Running: ownerRunning, grid.Finished: ownerFinished, grid.StageOut: ownerStageOut,
}

// at is the crash before or after a commit; it tells whether it came.
func (h *host) at(where where, changes []grid.Change) bool {
	for _, c := range changes {
		if r, is := c.Record.(*grid.Group); is && h.crashAt(point{where, stageOfGroup(r)}) {
			return true
		}
		if _, r, is := c.Job(); is && h.crashAt(point{where, stageOf(r)}) {
			return true
		}
	}
	return slices.ContainsFunc(stagesBeside(changes), func(s stage) bool { return h.crashAt(point{where, s}) })
}

// after is the crash after an effect; it tells whether it came.
func (h *host) after(e core.Effect) bool {
	p := point{}
	id := grid.JobID("")
	switch e := e.(type) {
	case core.Send:
		p.where, id = afterSend+where(e.Message.Kind()), jobOf(e.Message)
	case core.Answer:
		p.where, id = afterAnswer, e.Record.Job.ID
		if e.Group.ID != "" {
			id, p.stage = "", stageOfGroup(&e.Group)
		}
	case core.Look:
		p.where = afterLook
	case core.Launch:
		p.where, id = afterLaunch, e.Submission.ID.Job
	case core.Withdraw:
		p.where, id = afterWithdraw, e.ID.Job
	case core.Kill:
		p.where, id = afterKill, e.ID.Job
	case core.Probe:
		p.where, id = afterProbe, e.ID.Job
	case core.Fetch:
		p.where, id = afterFetch, e.Job
	case core.Collect:
		p.where, id = afterCollect, e.Job.ID
	case core.Discard:
		p.where, id = afterDiscard, e.Job
	default:
		return false
	}
	if id != "" {
		p.stage = stageOf(h.view[id])
	}
	return h.crashAt(p)
}

// stageOfGroup is how far a group has come, by its record.
func stageOfGroup(g *grid.Group) stage {
	switch {
	case g.Ended != 0:
		return groupEnded
	case g.CancelRequested:
		return groupCancelled
	case len(g.Coming) > 0:
		return groupComing
	case g.Entered < g.Jobs:
		return groupEntering
	}
	return groupEntered
}

// aimed is how likely a crash is at the point that a history aims at, until there were
// aims of them.
const (
	aimed = 0.4
	aims  = 4
)

// aim is the point that a history aims at.
type aim struct {
	point
	met int // crashes there so far
}

// crashes is the source of chance for crashes in that stage, and the aim: others for groups, and for what lies beside, so that a history without
// those stays as it was.
func (w *world) crashes(s stage) (*rand.Rand, *aim) {
	switch {
	case s >= besideTemplate:
		return w.rnd.besideCrash, &w.besideAim
	case s >= groupComing:
		return w.rnd.groupCrash, &w.groupAim
	}
	return w.rnd.crash, &w.aim
}

// crashAt crashes the broker at a point, by chance.
func (h *host) crashAt(p point) bool {
	w := h.s.w
	rnd, aim := w.crashes(p.stage)
	chance := w.rates[CrashAtPoint]
	if chance > 0 && p == aim.point && aim.met < aims {
		chance = aimed
	}
	if !h.up || !w.struck(CrashAtPoint, rnd, chance) {
		return false
	}
	if p == aim.point {
		aim.met++
	}
	name := p.String()
	w.result.Coverage[name]++
	h.crash(between(rnd, 50, 90*grid.Second), name)
	return true
}

// jobOf is the job that a message is about, "" if it is about none or many.
func jobOf(m wire.Message) grid.JobID {
	switch m := m.(type) {
	case wire.Offer:
		return m.Handoff.Job
	case wire.Accept:
		return m.Handoff.Job
	case wire.Refuse:
		return m.Handoff.Job
	case wire.Ready:
		return m.Handoff.Job
	case wire.Abort:
		return m.Handoff.Job
	case wire.Commit:
		return m.Handoff.Job
	case wire.Owned:
		return m.Handoff.Job
	case wire.Inquire:
		return m.Handoff.Job
	case wire.InquireReply:
		return m.Handoff.Job
	case wire.Declined:
		return m.Handoff.Job
	case wire.Unknown:
		return m.Handoff.Job
	case wire.Report:
		return m.Job
	case wire.ReportAck:
		return m.Job
	case wire.Cancel:
		return m.Job
	case wire.Closed:
		return m.Job
	case wire.Error:
		return m.Job
	case wire.Moved:
		return m.Job
	case wire.MovedAck:
		return m.Job
	case wire.Superseded:
		return m.Job
	case wire.Recall:
		return m.Job
	case wire.Recalled:
		return m.Job.ID
	case wire.Request:
		return m.Job
	case wire.Response:
		return m.Job
	}
	return ""
}

// points are the crash points of the protocols: one history in so many aims at each.
var points = func() []point {
	var list []point
	at := func(w where, stages ...stage) {
		for _, s := range stages {
			list = append(list, point{w, s})
		}
	}
	sent := func(k wire.Kind, stages ...stage) { at(afterSend+where(k), stages...) }
	at(beforeSave, unknown, ownerStageIn, ownerReady, ownerOffering, ownerAssigned, ownerRunning, ownerFinished, ownerStageOut,
		homeCommitted, homeWatching, candidatePrepared, formerCommitted, former, ended)
	at(afterSave, unknown, ownerStageIn, ownerReady, ownerOffering, ownerAssigned, ownerRunning, ownerFinished, ownerStageOut,
		homeCommitted, homeWatching, candidatePrepared, formerCommitted, former, ended)
	at(afterAnswer, noJob, unknown, ownerStageIn, ownerReady, ownerAssigned, homeWatching, ended)
	at(afterLook, noJob)
	at(afterLaunch, ownerAssigned)
	at(afterWithdraw, ownerWithdrawing, ownerAssigned)
	at(afterKill, ownerAssigned, ownerRunning)
	at(afterProbe, ownerAssigned, ownerRunning)
	at(afterFetch, unknown, homeWatching)
	at(afterCollect, ownerFinished)
	at(afterDiscard, unknown, former, ended)
	sent(wire.KindEstimateRequest, noJob)
	sent(wire.KindEstimateReply, noJob)
	sent(wire.KindOffer, ownerOffering)
	sent(wire.KindAccept, unknown)
	sent(wire.KindRefuse, unknown)
	sent(wire.KindReady, candidatePrepared)
	sent(wire.KindAbort, ownerReady, ownerOffering, ownerAssigned, homeWatching, ended)
	sent(wire.KindCommit, homeCommitted, formerCommitted)
	sent(wire.KindOwned, ownerAssigned, ownerRunning, ownerStageOut, former)
	sent(wire.KindInquire, candidatePrepared)
	sent(wire.KindInquireReply, ownerOffering, ownerWithdrawing, homeCommitted, homeWatching)
	sent(wire.KindReport, ownerReady, ownerOffering, ownerAssigned, ownerRunning, ownerFinished, ownerStageOut)
	sent(wire.KindReportAck, homeWatching, ended)
	sent(wire.KindCancel, homeWatching)
	sent(wire.KindClosed, ended)
	sent(wire.KindMoved, former)
	sent(wire.KindMovedAck, homeWatching)
	sent(wire.KindAnnounce, noJob)
	sent(wire.KindSeen, noJob)
	sent(wire.KindSuperseded, ended)
	sent(wire.KindRequest, unknown, former)
	sent(wire.KindResponse, homeWatching, ended)
	return list
}()

// groupPoints are those of groups: each history aims at one of them beside the other, and meets it if it has groups.
var groupPoints = func() (list []point) {
	for _, w := range []where{beforeSave, afterSave} {
		for s := groupComing; s <= groupEnded; s++ {
			list = append(list, point{w, s})
		}
	}
	for _, s := range []stage{groupComing, groupEntering, groupEntered, groupCancelled} {
		list = append(list, point{afterAnswer, s})
	}
	return list
}()

// Points lists the names of the crash points that are aimed at.
func Points() []string {
	var names []string
	for _, p := range slices.Concat(points, groupPoints, besidePoints) {
		names = append(names, p.String())
	}
	return names
}
