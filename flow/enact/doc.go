// Package enact decides how a run of a workflow goes on: which tasks are due, under which key one is handed in, and what its end does to it
// and to those that need it. It is pure. Who enacts a workflow makes what it decides durable, hands the tasks in and waits for their
// jobs: package daemon/flows, and the simulator of faults.
//
//	waiting ─► handed in ─► done            waiting ─► reused (done before, with the same inputs)
//	   ▲           └──────► failed          waiting ─► cancelled (what it needs failed, or the workflow was cancelled)
//	   └── retry ──┘
//
// # What holds
//
//   - A task is due once all that it needs has ended well. One that was handed in is due until its job has ended: after a kill it is
//     handed in again under the key of the same attempt, which is the same job.
//   - That a task is handed in is durable before it is. So a cancel ends with the jobs of all tasks, and no job is forgotten.
//   - A task that fails is handed in again if it is rerunnable, within the retries, under another key; else it has failed for good.
//   - What needs a task that has not ended well, at whatever remove, is cancelled, and the rest goes on.
package enact
