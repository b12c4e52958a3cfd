// Package core decides where jobs run and sees them through. It is pure: [Core.Step] takes an
// event at an instant and gives effects; package broker carries them out. A [Core] holds the
// records of all jobs that this site is home, owner, candidate or former owner of, and speaks the
// protocols with the other brokers. One file per protocol:
//
//	submit.go     a user's job, its files, its removal
//	estimate.go   the search: asking, and taking the answers
//	answer.go     answering the searches of others, and one's own, from a plan
//	decide.go     the least total, or why nobody
//	handoff.go    giving a job away: Offer ... Commit, Owned (the owner)
//	candidate.go  taking one: Accept, Ready, PREPARED, OWNED (the candidate)
//	certificate.go       who owns a job, proven to those who did not see it change hands
//	reevaluate.go the search for jobs that wait in the local queue
//	drain.go      a site that takes no more grid jobs
//	inputs.go     inputs that are gone
//	local.go      attempts in the local batch system
//	refused.go    jobs that the batch system will never take
//	vanish.go     attempts that the batch system does not show
//	damaged.go    attempts whose control files are lost or torn
//	end.go        jobs that an administrator ends
//	stray.go      what it holds and no record has
//	home.go       reports of the owner, output brought home
//	cancel.go     the sticky flag
//	forget.go     a site that will not come back: again, or LOST (the home)
//	claim.go      claims and results of an older epoch
//	learn.go      a home that lost its journal
//	lives.go      how far journals have come, and who was rolled back
//	rollback.go   what such a one does
//	recount.go    what a member tells it
//	traces.go     jobs that control directories know and no record
//	lostpart.go   what certificates prove of the part that is lost
//	told.go       what users were told, beside the journal
//	stamp.go      epochs that never repeat
//	duplicate.go       two brokers under one identity
//	reconcile.go  what control directories know and the journal does not
//	ask.go        what has to be heard before a start or a handoff
//	request.go    users who ask at another broker
//	stall.go        when nobody listened
//	recover.go    after a restart
//
// and beside them member.go (the neighbourhood), record.go (what is kept of a job),
// planned.go (the plan of the last look) and timer.go.
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
