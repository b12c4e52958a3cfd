// Package api is the HTTP interface of one broker: the server that a daemon runs
// and the client that the users' program is.
//
// # Where
//
// On a unix socket, mode 0666, where a user is who the kernel says (SO_PEERCRED):
// the name of the uid, "uid:N" if it has none. Administrators are the daemon's own
// user, root, and those whom the configuration lists. And, if switched on, on TCP,
// loopback only: there every request carries "Authorization: Bearer TOKEN", its
// Host must be a loopback name with the right port, it must have no Origin (so
// that no web page reaches it), and it is made as the daemon's own user.
//
// Who one is is found out at the door, in one of these ways ([Identity]); then there are three tables of
// routes, of users, of administrators and of the hooks of the batch system, over a service each: a route
// leads on only whom it is for.
//
// # What
//
// All bodies are JSON (application/json) but those of files. Times are RFC 3339 in
// UTC with milliseconds, null if not yet; spans are seconds; sizes are bytes; a
// mode is the nine permission bits as a number. The files, explanations and outputs of the jobs of
// a group are those of single jobs.
//
//	POST   /v1/jobs                     {key, document, name, rerunnable, queue_anyway, files: [{path, size, mode}]}
//	                                    201, or 200 if the key was known: {a status, again, wanted: [{path, from, size, mode}]}
//	                                    files are those beside the document that it names; wanted says under
//	                                    which path each is uploaded
//	POST   /v1/where                    as POST /v1/jobs: where that job would run, and when ([Prospects]); nothing is kept
//	PUT    /v1/jobs/{id}/files/{path}   the bytes of one wanted file; 204. With "Expect: 100-continue" a file
//	                                    that is there already is not sent again
//	                                    With "Content-Range: bytes FROM-TO/SIZE" it goes on where an upload broke
//	HEAD   /v1/jobs/{id}/files/{path}   Upload-Offset: how far an upload has come that broke; 204
//	POST   /v1/jobs/{id}/uploaded       all wanted files were sent: a status
//	GET    /v1/jobs?after=ID&limit=N    {jobs: [status], next: ID or null}, oldest first, N at most 1000; of those that
//	                                    state=S,S site=NAME name=GLOB since=TIME group=ID user=NAME pass ([Filter])
//	GET    /v1/jobs/{id}                a status ([Status])
//	GET    /v1/jobs/{id}/wait?since=S   a status, as soon as the state is not S or after 30 s
//	GET    /v1/changes?after=POSITION   what changes, as server-sent events: see feed.go. kinds=KIND,KIND: of job, group,
//	                                    reservation, flow; without it of jobs
//	POST   /v1/jobs/{id}/cancel         {confirmed, job: status}; 202 while it is only recorded
//	POST   /v1/jobs/{id}/alter          {held, not_before, deadline, priority, walltime_s, processes, queue}, what is left out stays:
//	                                    {confirmed, job: status}; 202 while it is only recorded
//	POST   /v1/jobs/{id}/resubmit       {key}: an ended job handed in again, with its files: status of the new one; 201
//	GET    /v1/jobs/{id}/explain        how the places were chosen ([Explanation])
//	GET    /v1/jobs/{id}/history        {id, events: [{at, state, site, epoch, why}]}
//	GET    /v1/jobs/{id}/log            what a job has written so far, also while it runs: see log.go
//	GET    /v1/jobs/{id}/outputs        {id, complete, files: [{path, size, mode}]}
//	GET    /v1/jobs/{id}/outputs/{path} the bytes of one of them
//	DELETE /v1/jobs/{id}                removes an ended job and its files; 204
//	POST   /v1/jobs/{id}/end            {as: dead or lost, dry_run}: [Status]; administrators
//	POST   /v1/groups                   {key, name, queue_anyway, jobs: [as POST /v1/jobs, without key and queue_anyway]}
//	                                    all of them are taken, or none: {a group, again, wanted: [{job, files}]}
//	GET    /v1/groups                   {groups: [group]}, oldest first, without members
//	GET    /v1/groups/{id}              a group with the statuses of its jobs ([GroupStatus])
//	GET    /v1/groups/{id}/wait         the same, as soon as all have ended or after 30 s
//	POST   /v1/groups/{id}/cancel       the same; the cancel of all its jobs is recorded
//	DELETE /v1/groups/{id}              removes an ended group, its jobs and their files; 204
//	GET    /v1/budgets                  what the user may pay at sites with prices, as Budget; for administrators all
//	GET    /v1/usage                    what ended jobs have used, by user, site, month or day: see usage.go
//	GET    /v1/sites                    [site] ([Site]); that of the broker tells how good its estimates are
//	GET    /v1/sites/{name}/handoffs    the jobs on their way to or from a neighbour ([Handoff]); administrators
//	POST   /v1/drain, /v1/undrain       the site takes no more grid jobs, or takes them again: {draining}; administrators
//	POST   /v1/forget                   {site, fenced, dry_run}: {peer, jobs: [{id, state, verdict, why}]}; administrators
//	POST   /v1/resume                   ends a stop until an administrator decides: {asked: [names]}; administrators
//	POST   /v1/had-duplicate            the broker had a duplicate unnoticed: it asks all first: {asked: [names]}; administrators
//	GET    /v1/batch                    what the batch system holds now ([Batch]); administrators
//	POST   /v1/notify                   the batch system is polled now; 204; administrators, and its operator
//	GET    /v1/site                     this broker ([Self])
//	GET    /v1/broker                   how it is: jobs, disk, alarms, neighbours ([Overview]); administrators
//	GET    /metrics                     the same for Prometheus, in its text format
//	GET    /healthz                     200 while the broker answers
//	GET    /readyz                      200, or 503 while an alarm says that it does not do its work
//
// # Errors
//
// Anything else than success is {error, kind}: a sentence for people and one of
//
//	invalid      400 (also 405, 411, 413, 415)  the request is wrong
//	forbidden    403 (401 without a good token)
//	not_found    404
//	not_yet      409                            possible later
//	unavailable  503                            temporarily impossible; Retry-After says when
//	             408                            a file stopped coming
//	internal     500                            a fault of the broker; its log says more
//
// The client turns them back into errors that wrap the kinds of package grid.
//
// # Limits
//
// A document has at most [MaxDocument] bytes, a submission [MaxSubmission], and the files
// that it declares grid.MaxSandbox together. What has come of all bodies that are read at
// one moment shares a budget. Headers, answers and each piece of a file must move within a
// time limit. That budget, connections and long polls are bounded in all and for each
// user, and the last of each is for administrators.
package api
