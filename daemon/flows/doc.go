// Package flows runs workflows at their home. A [Keeper] hands each task in as a job of its user when all that the task
// needs is there, and makes the outputs of the tasks before it its inputs. Where a job runs the brokers decide, as of
// any job; the plan is a preference (Choice.Prefer).
//
// # What is on disk
//
//	DATA/flows/ULID/spec.json    the workflow as it was handed in; never changed
//	DATA/flows/ULID/state.json   how far it is; replaced whole, synced, before what it says is acted on
//	DATA/flows/ULID/in/          its files
//
// An instance of a periodic workflow is one too, with a spec.json that names its parent in place of what was handed in. A folder without a spec.json
// is none, and is removed at a start.
//
// # What holds
//
//   - A task is handed in under a key of workflow, run, task and attempt, which makes a repeated request the same job. So a
//     Keeper that was killed anywhere hands in again what it is not sure of, and nothing runs twice by that.
//   - A task that has ended well is not handed in again as long as what it left is there: its job is found by the digest of its
//     document, the contents of its inputs and their names, in this run and all later ones of the workflow ([record.Memo]).
//   - A task that fails is handed in again if it is rerunnable, within the workflow's retries; then what needs it, at whatever
//     remove, is cancelled, and the rest goes on.
//
// # A run
//
//	coming ─ all files are here ─► running ─ no task waits or is handed in ─► ended ─ resume ─► running
//
// Package enact decides which tasks are due, and what becomes of each; what that promises is in its comment.
//
// # The plan
//
// A run is planned when it begins, and again when a task ends later or earlier than the plan says by more than a [margin], or has not ended by
// then; when a site that it counts on is lost; and when a site's estimate has changed by more than [estimateMargin]. Tasks that were handed in
// stay. A plan knows cores, speeds and ways of the sites as their home sees them; from when so many cores of each can be had, as its own estimates say,
// in which all jobs there are; and of memory and named resources, and run times: what tasks of the same user, name (but for digits) and configuration took before, else what the task says.
package flows
