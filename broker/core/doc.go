// Package core decides where jobs run and sees them through. It is pure: [Core.Step] takes an
// event at an instant and gives effects; package broker carries them out. A [Core] holds the
// records of all jobs that this site is home, owner, candidate or former owner of, and speaks the
// protocols with the other brokers. [Host] is what a process does around it.
//
// # Machines
//
// Core is made of machines over one kernel. The kernel (kernel.go) has the clock, the jobs, the
// members, the timers and the effects of the step under way, and decides nothing. Each machine
// has the rest of what it needs to know for itself, says which events, messages and timers it
// takes (its method routes), and which few methods of the others it needs (the interfaces among
// its fields), so that it can be built and stepped alone.
//
//	                    events, messages, timers
//	                               │ routes
//	   ┌───────────┬───────────┬───┴───────┬────────────┬───────────┬─────────┐
//	ownership    search    estimator   execution   home, groups,  recovery   relay   neighbourhood
//	   │           │           │           │          terms          │         │
//	   └───────────┴───────────┴───┬───────┴────────────┴───────────┴─────────┘
//	                               │          gates: what has to be known first
//	                            kernel
//
//	ownership      each job has one owner: handoff.go, commit.go (the owner's side), candidate.go,
//	               prepared.go (the candidate's), certificate.go (proof to those who did not see
//	               it), allowance.go (what one member may make this site hold), superseded.go
//	search         the place of each job: estimate.go, decide.go, reevaluate.go (jobs that wait in
//	               the local queue), where.go (dry runs)
//	estimator      when a job would start here: answer.go, forecast.go (from a plan), expected.go,
//	               traits.go, accuracy.go (what is learned)
//	execution      attempts in the local batch system: local.go, stands.go, collect.go, refused.go, vanish.go,
//	               damaged.go, inputs.go, stray.go, end.go (an administrator's word)
//	groups         jobs that were handed in as one: group.go (the machine), grouprequest.go (its users)
//	terms          what keeps a job back at its home, and deadlines: terms.go, depend.go (on other jobs),
//	               alter.go, version.go (what the home makes of a job)
//	home           submission, reports, output, the end: submit.go, quota.go, home.go, report.go (the
//	               owner's side), cancel.go, claim.go (results of older epochs), forget.go
//	recovery       what this broker does not know: recover.go, stall.go, lives.go, rollback.go,
//	               recount.go, learn.go, lostpart.go, reconcile.go, traces.go, told.go, unwritten.go, duplicate.go
//	budgets        what users here may pay at sites with prices: budgets.go (package budget has the book)
//	kernel         archive.go (jobs that ended) and document.go (long documents) tell what is in the journal alone
//	relay          requests of users for jobs and groups of other homes: wish.go, request.go (who asks), serve.go
//	               (who is asked), found.go (as it travels)
//	neighbourhood  members come, go, live and die; this site drains: neighbourhood.go, drain.go
//	gates          what has to be known before an action, by kind: gates.go, gates_job.go, gates_word.go, gates_site.go;
//	               why a word is not believed: doubt.go
//
// routes.go steps machines; core.go puts them together.
//
// # What holds
//
//   - Persist before anything is seen: no effect leaves before the saves of all
//     steps up to its own are durable.
//   - Exactly one owner: a site runs a job only while its record says Owning; the
//     owner stops being that in the save of the commit point, the candidate starts
//     in a save after it, and never by any other word.
//   - An attempt has its number on disk before the batch system hears of it; it is
//     followed by another only after the start token said that it never starts.
//   - Every change of a job is reported to its home until the home acknowledged it;
//     the end until the home has the output too.
//   - A term is raised by the home alone, on disk first; what is claimed at an older
//     one starts nothing. An attempt for another home is submitted, and its job handed
//     on, only when that home was heard lately.
//   - What was decided before a time when nobody listened is not submitted after it.
//   - A broker whose journal was rolled back starts nothing and hands nothing over
//     before all members were asked, and its own control directories read.
//   - No epoch of a job is used twice, also not by two branches of a journal.
//   - What a user was told of an end, or of the wish for it, is beside the journal before.
//   - A terminal state is left by nothing (LOST may gain a result).
package core
