package core

import (
	"fmt"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// others stand in for all machines but the one that a test steps alone: they write down what it
// asks of them, and do nothing. The gates are real, but for those of a start and of a cancel.
type others struct {
	*gates
	asked  []string
	closed gate    // of the start of every job
	keeps  keeping // every job is kept back at home
}

func (o *others) did(format string, args ...any) {
	o.asked = append(o.asked, fmt.Sprintf(format, args...))
}

// take gives what was asked since it was last called.
func (o *others) take() []string {
	list := o.asked
	o.asked = nil
	return list
}

// what is needed of budgets

func (o *others) admit(_ *grid.Job) error                         { return nil }
func (o *others) lienFor(_ *job, _ *grid.Candidate) *grid.Refusal { return nil }
func (o *others) shortFor(*job, *grid.Candidate) *grid.Refusal    { return nil }
func (o *others) beyond(*grid.Job) *grid.Refusal                  { return nil }
func (o *others) jobSaved(_ *job)                                 {}
func (o *others) branchLost()                                     {}
func (o *others) dropped(_ *job)                                  {}

// what is needed of estimator

func (o *others) began(_ *grid.Record) { o.did("began") }
func (o *others) expect(j *job)        { o.did("expect %s", j.rec.Job.ID) }
func (o *others) judge()               { o.did("judge") }
func (o *others) learn(_ *grid.Record) { o.did("learn") }
func (o *others) look()                { o.did("look") }
func (o *others) estimate(b *batch, q plan.Question, _ grid.ReservationID) grid.Estimate {
	return b.estimate(q)
}
func (o *others) lookAgain()                                          { o.did("lookAgain") }
func (o *others) newForecast(_ plan.Snapshot) (r forecast)            { o.did("newForecast"); return }
func (o *others) question(_ *grid.Job, _ grid.Tick) (r plan.Question) { o.did("question"); return }
func (o *others) unwelcome(home grid.PeerID) (r *grid.Refusal)        { o.did("unwelcome %v", home); return }

// what is needed of execution

func (o *others) checkInputs(j *job) { o.did("checkInputs %s", j.rec.Job.ID) }
func (o *others) collect(j *job)     { o.did("collect %s", j.rec.Job.ID) }
func (o *others) end(j *job, state grid.State, reason string) {
	o.did("end %s %v %v", j.rec.Job.ID, state, reason)
}
func (o *others) launch(j *job, why string) { o.did("launch %s %v", j.rec.Job.ID, why) }
func (o *others) refusedHere(_ grid.JobID, _ alterable) (r *grid.Refusal) {
	o.did("refusedHere")
	return
}
func (o *others) unreadable(j *job) { o.did("unreadable %s", j.rec.Job.ID) }
func (o *others) withdraw(j *job)   { o.did("withdraw %s", j.rec.Job.ID) }

// what is needed of gates

func (o *others) beforeStart(j *job) (r gate) { o.did("beforeStart %s", j.rec.Job.ID); return o.closed }
func (o *others) beforeHandingOn(j *job) (r gate) {
	o.did("beforeHandingOn %s", j.rec.Job.ID)
	return o.closed
}
func (o *others) beforeCancel(j *job) (r gate) {
	o.did("beforeCancel %s", j.rec.Job.ID)
	return o.closed
}

// what is needed of home

func (o *others) adopt(j *job, _ claim) { o.did("adopt %s", j.rec.Job.ID) }
func (o *others) allHere(j *job)        { o.did("allHere %s", j.rec.Job.ID) }
func (o *others) awaitHome(j *job)      { o.did("awaitHome %s", j.rec.Job.ID) }
func (o *others) newJob(of grid.Job, _ string, _ bool) *job {
	o.did("newJob %s", of.ID)
	return &job{rec: grid.Record{Job: of}}
}
func (o *others) letOffer(j *job)                          { o.did("letOffer %s", j.rec.Job.ID) }
func (o *others) lose(j *job, why string)                  { o.did("lose %s %v", j.rec.Job.ID, why) }
func (o *others) loseContact(j *job)                       { o.did("loseContact %s", j.rec.Job.ID) }
func (o *others) pull(j *job)                              { o.did("pull %s", j.rec.Job.ID) }
func (o *others) pursueCancel(j *job)                      { o.did("pursueCancel %s", j.rec.Job.ID) }
func (o *others) onCancel(from grid.PeerID, m wire.Cancel) { o.did("onCancel %s %s", from, m.Job) }
func (o *others) refuseClaim(j *job)                       { o.did("refuseClaim %s", j.rec.Job.ID) }
func (o *others) reportOf(j *job) (r wire.Report)          { o.did("reportOf %s", j.rec.Job.ID); return }
func (o *others) keepRun(j *job)                           { o.did("keepRun %s", j.rec.Job.ID) }
func (o *others) runAgain(j *job, why string)              { o.did("runAgain %s %v", j.rec.Job.ID, why) }
func (o *others) runOnceReported(j *job, why string) {
	o.did("runOnceReported %s: %s", j.rec.Job.ID, why)
}
func (o *others) sendClosed(to grid.PeerID, j *job) { o.did("sendClosed %v %s", to, j.rec.Job.ID) }
func (o *others) terminal(j *job, s grid.State)     { o.did("terminal %s %v", j.rec.Job.ID, s) }
func (o *others) conclude(j *job)                   { o.did("conclude %s", j.rec.Job.ID) }
func (o *others) endOverdue(j *job)                 { o.did("endOverdue %s", j.rec.Job.ID) }
func (o *others) within(string, usage, string, string) error {
	o.did("within")
	return nil
}
func (o *others) wantGone(j *job, by string) { o.did("wantGone %s %v", j.rec.Job.ID, by) }

// what is needed of ownership

func (o *others) abandon(j *job, why string) { o.did("abandon %s %v", j.rec.Job.ID, why) }
func (o *others) believe(j *job, _ []grid.Certificate, _ bool) (r doubt) {
	o.did("believe %s", j.rec.Job.ID)
	return
}
func (o *others) commit(j *job) { o.did("commit %s", j.rec.Job.ID) }
func (o *others) considerOffer(_ pendingOffer, _ *batch, _ plan.Snapshot, _ *allowance) {
	o.did("considerOffer")
}
func (o *others) decline(j *job, why string) { o.did("decline %s %v", j.rec.Job.ID, why) }
func (o *others) inputsLooked(j *job, missing error) {
	o.did("inputsLooked %s %v", j.rec.Job.ID, missing)
}
func (o *others) declineRemoved(j *job)               { o.did("declineRemoved %s", j.rec.Job.ID) }
func (o *others) dropOffer(j *job, why string)        { o.did("dropOffer %s %v", j.rec.Job.ID, why) }
func (o *others) handedOver(j *job)                   { o.did("handedOver %s", j.rec.Job.ID) }
func (o *others) handoffDue(j *job)                   { o.did("handoffDue %s", j.rec.Job.ID) }
func (o *others) handoffID(j *job) (r wire.HandoffID) { o.did("handoffID %s", j.rec.Job.ID); return }
func (o *others) inputsFetched(_ Fetched)             { o.did("inputsFetched") }
func (o *others) letGo(j *job)                        { o.did("letGo %s", j.rec.Job.ID) }
func (o *others) makeOffer(j *job, to grid.PeerID, _ grid.Tick, _ uint32) {
	o.did("makeOffer %s %v", j.rec.Job.ID, to)
}
func (o *others) mayHandOn(j *job) (r bool)                      { o.did("mayHandOn %s", j.rec.Job.ID); return true }
func (o *others) notRepeated(j *job)                             { o.did("notRepeated %s", j.rec.Job.ID) }
func (o *others) offersRemoved()                                 { o.did("offersRemoved") }
func (o *others) ownerLost(j *job, owner grid.PeerID)            { o.did("ownerLost %s %v", j.rec.Job.ID, owner) }
func (o *others) preparedDue(j *job)                             { o.did("preparedDue %s", j.rec.Job.ID) }
func (o *others) release(_ *acceptance)                          { o.did("release") }
func (o *others) relinquish(j *job)                              { o.did("relinquish %s", j.rec.Job.ID) }
func (o *others) sendAbort(_ wire.HandoffID, why string)         { o.did("sendAbort %v", why) }
func (o *others) sendCommit(j *job)                              { o.did("sendCommit %s", j.rec.Job.ID) }
func (o *others) sendOffer(j *job, _ grid.Tick)                  { o.did("sendOffer %s", j.rec.Job.ID) }
func (o *others) superseded(from grid.PeerID, _ wire.Superseded) { o.did("superseded %v", from) }
func (o *others) takeOffers() (r []pendingOffer)                 { o.did("takeOffers"); return }
func (o *others) tellMoved(j *job)                               { o.did("tellMoved %s", j.rec.Job.ID) }
func (o *others) unproven(_ *grid.Job, _ grid.Hash, _ []grid.Certificate) (r doubt) {
	o.did("unproven")
	return
}
func (o *others) usedBy(p grid.PeerID) (r allowance)           { o.did("usedBy %v", p); return }
func (o *others) usedByMember() (r map[grid.PeerID]*allowance) { o.did("usedByMember"); return }

// what is needed of recovery

func (o *others) askSuccessors(j *job) { o.did("askSuccessors %s", j.rec.Job.ID) }
func (o *others) awaitSuccessors(j *job, _ grid.PeerID) {
	o.did("awaitSuccessors %s", j.rec.Job.ID)
}
func (o *others) successorsWord(_ *job) (r string) { return }
func (o *others) askOwner(j *job)                  { o.did("askOwner %s", j.rec.Job.ID) }
func (o *others) successorNamed(j *job, _ grid.Hash, _ []grid.Certificate) {
	o.did("successorNamed %s", j.rec.Job.ID)
}
func (o *others) successorForgotten(j *job, _ Forget) { o.did("successorForgotten %s", j.rec.Job.ID) }
func (o *others) spokenFor(j *job, _ grid.Forgotten)  { o.did("spokenFor %s", j.rec.Job.ID) }
func (o *others) hadOnce(j *job, p grid.PeerID, _ grid.Epoch) {
	o.did("hadOnce %s %s", j.rec.Job.ID, p)
}
func (o *others) killedUnheard(_ *job) (r bool)                         { return }
func (o *others) beforeKilled(_ *job, _ grid.State) (r gate)            { return }
func (o *others) successorsRemoved()                                    { o.did("successorsRemoved") }
func (o *others) knownOf(grid.JobID) grid.State                         { return 0 }
func (o *others) read() (r bool)                                        { o.did("read"); return true }
func (o *others) tracesOf(id grid.JobID) (r grid.Epoch)                 { o.did("tracesOf"); return }
func (o *others) beforeEntering(_ bool) (r gate)                        { o.did("beforeEntering"); return }
func (o *others) beforeCounting() (r gate)                              { o.did("beforeCounting"); return }
func (o *others) beforeEndingRest(_ bool) (r gate)                      { o.did("beforeEndingRest"); return }
func (o *others) beforeCertain() gate                                   { return untilAll }
func (o *others) hadIt(*job, grid.PeerID, wire.Report) bool             { return false }
func (o *others) forgotRun(*job, grid.PeerID, grid.Certificate) bool    { return false }
func (o *others) runForgotten(*job)                                     {}
func (o *others) reconcile()                                            { o.did("reconcile") }
func (o *others) beforeResuming(*job, grid.PeerID, wire.HandoffID) gate { return untilHome }
func (o *others) beforePassing(_ bool) (r gate)                         { return untilHome }
func (o *others) adopted(j *job)                                        { o.did("adopted %s", j.rec.Job.ID) }
func (o *others) madeAgain(j *job) (r bool) {
	o.did("madeAgain %s", j.rec.Job.ID)
	return
}
func (o *others) begunAnew() (r bool) { o.did("begunAnew"); return }
func (o *others) forgotten(from grid.PeerID, j *job, _ []grid.Certificate) (r gate) {
	o.did("forgotten %v %s", from, j.rec.Job.ID)
	return
}
func (o *others) gaveAway(j *job, _ wire.Owned) { o.did("gaveAway %s", j.rec.Job.ID) }
func (o *others) givenAway(from grid.PeerID, j *job, _ wire.Report) (r bool) {
	o.did("givenAway %v %s", from, j.rec.Job.ID)
	return
}
func (o *others) disowned(from grid.PeerID, _ wire.Declined)      { o.did("disowned %v", from) }
func (o *others) growthSoon()                                     { o.did("growthSoon") }
func (o *others) hasSeen(p grid.PeerID) (r string)                { o.did("hasSeen %v", p); return }
func (o *others) missed(grid.PeerID, grid.Epoch) bool             { return false }
func (o *others) isHere(j *job)                                   { o.did("isHere %s", j.rec.Job.ID) }
func (o *others) behind(j *job, a grid.AttemptID)                 { o.did("behind %s", a) }
func (o *others) membersChanged(_ map[grid.PeerID]*member)        { o.did("membersChanged") }
func (o *others) mark(p grid.PeerID) (r grid.JournalID)           { o.did("mark %v", p); return }
func (o *others) mayLack(j *job) (r bool)                         { o.did("mayLack %s", j.rec.Job.ID); return }
func (o *others) forgets(who grid.Forgotten)                      { o.did("forgets %v %v", who.Peer, who.Fenced) }
func (o *others) asking() (r string)                              { o.did("asking"); return }
func (o *others) recounting() (r bool)                            { o.did("recounting"); return }
func (o *others) rolledBack(how string, _ grid.JournalID)         { o.did("rolledBack %v", how) }
func (o *others) rolledBackTo(from grid.PeerID, _ grid.JournalID) { o.did("rolledBackTo %v", from) }
func (o *others) saveState()                                      { o.did("saveState") }
func (o *others) saw(from grid.PeerID, _ grid.JournalID)          { o.did("saw %v", from) }
func (o *others) supplant(from grid.PeerID, j *job, _ []grid.Certificate, _ bool) (r gate) {
	o.did("supplant %v %s", from, j.rec.Job.ID)
	return
}
func (o *others) tellSeen(p grid.PeerID)                        { o.did("tellSeen %v", p) }
func (o *others) unknownReport(from grid.PeerID, _ wire.Report) { o.did("unknownReport %v", from) }

// what is needed of relay

func (o *others) extendRequests() { o.did("extendRequests") }

// what is needed of reporter

func (o *others) report(j *job) { o.did("report %s", j.rec.Job.ID) }

func (o *others) heardVersion(_ grid.PeerID, _ *job, _ grid.Hash, _ []grid.Certificate) {}

// what is needed of terms

func (o *others) admitTerms(_ *grid.Job) error                 { return nil }
func (o *others) await(_ *job)                                 {}
func (o *others) oweEnd(_ *job, _ grid.State)                  {}
func (o *others) handedIn(*grid.Job) grid.Tick                 { return 0 }
func (o *others) groupEnded(_ grid.GroupID)                    {}
func (o *others) keepsBack(_ *job) keeping                     { return o.keeps }
func (o *others) kept(_ *job) keeping                          { return o.keeps }
func (o *others) recover()                                     {}
func (o *others) renew(_ *job)                                 {}
func (o *others) giveBack(_ *job)                              {}
func (o *others) saved(_ *job)                                 {}
func (o *others) due(_ *job)                                   {}
func (o *others) tooLate(_ *job)                               {}
func (o *others) wantsBack(_ *job) bool                        { return o.keeps != notKept }
func (o *others) withdrawOffer(j *job, why string)             { o.did("withdrawOffer %s %v", j.rec.Job.ID, why) }
func (o *others) word(_ *job, m wire.ReportAck) wire.ReportAck { return m }

// what is needed of search

func (o *others) hopsOf(_ *job) uint32 { return 0 }

func (o *others) beginPass(_ plan.Snapshot, _ forecast) { o.did("beginPass") }
func (o *others) extendRound()                          { o.did("extendRound") }
func (o *others) noOwnAnswer(_ *grid.Refusal)           { o.did("noOwnAnswer") }
func (o *others) noPass()                               { o.did("noPass") }
func (o *others) ownAnswer(_ *batch, _ plan.Snapshot)   { o.did("ownAnswer") }
func (o *others) passSoon()                             { o.did("passSoon") }
func (o *others) predicted(j *job)                      { o.did("predicted %s", j.rec.Job.ID) }
func (o *others) ready(j *job, why string)              { o.did("ready %s %v", j.rec.Job.ID, why) }
func (o *others) stir(_ plan.Snapshot)                  { o.did("stir") }
func (o *others) undecide(j *job)                       { o.did("undecide %s", j.rec.Job.ID) }
func (o *others) whereHere(_ grid.Load, _ func(*grid.Job) grid.Estimate, _ *grid.Refusal) {
	o.did("whereHere")
}
