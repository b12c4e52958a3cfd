// Package pbs is the local batch system behind one interface. Each kind has a
// folder of its own; all share the control directory of a job, whose files are
// specified in package control, and one behavioural suite, pbstest.
//
//	embedded                    schedules and runs processes on this machine
//	pool                        gives jobs to computers of their owners, whose agents call
//	external                    one System over the commands of any batch system
//	├─ slurm, torque, openpbs   its Clients: translations without memory
//	├─ wrapper                  the script that is handed over in place of the program
//	└─ command                  runs commands, with limits
//
// # Exactly once
//
// A listing cannot say whether a job has started: batch systems forget, requeue,
// and act on commands whose client has given up. The start token says it. It is
// a file that appears once, by link(2), in the job's control directory. Whoever
// starts the program takes it first; Withdraw takes it in the broker's name, and
// from then on the attempt can never start. What the control files say outranks
// any listing, and a control directory that cannot be read means that nothing is
// known. Any trace of a start stands for a token that is lost.
//
// # Adding a batch system
//
// One that is reached by commands needs an external.Client, and no more. Any other
// hands over something that takes the token before all else (and ends with status
// 75 where it is taken), then writes run and end as package control says. Withdraw,
// and Progress where a token or an end is there, are then the same for all.
package pbs

import (
	"context"

	"gbroker/grid"
	"gbroker/plan"
)

// System is what the broker needs of a local batch system. Its methods may be
// called from any goroutine, before and while Run runs; every call may be
// repeated, and gives the same answer as long as the attempt goes no further.
//
// Errors wrap grid.ErrUnavailable where trying again may help and nothing is
// known of what was asked, and grid.ErrInvalid where it never will. They wrap
// grid.ErrDamaged where the control files of the attempt are lost or torn, and the batch
// system itself was heard: Progress then gives besides what it says of the attempt by
// other evidence, Ended only where that proves that nothing of it runs or will; Withdraw
// may still be true where the system alone starts jobs, and has dropped it; and Kill takes
// out of the system what there is.
type System interface {
	// Run serves the system until ctx is done; jobs that run go on without it. It
	// is called once, and returns after its goroutines have.
	Run(ctx context.Context) error
	// Snapshot is what the system holds at this moment.
	Snapshot(ctx context.Context) (plan.Snapshot, error)
	// Submit hands over an attempt. The same attempt again gives the same LocalID,
	// also where it has long ended.
	Submit(ctx context.Context, s grid.Submission) (grid.LocalID, error)
	// Withdraw decides by the start token whether an attempt starts. True: it never
	// has and never will, and it is out of the local queue. False: it has started.
	// An attempt that was never submitted is withdrawn too.
	Withdraw(ctx context.Context, at grid.AttemptID, control string) (withdrawn bool, err error)
	// Kill ends an attempt: TERM, a grace time, KILL, to all of its processes. It
	// returns when that is certain to happen; Progress tells when it has, with cause
	// grid.ByRequest unless the program was faster. An attempt that has not started
	// is withdrawn; one that has ended stays as it is.
	Kill(ctx context.Context, at grid.AttemptID, control string) error
	// Progress is how far an attempt has come, by its control files first.
	Progress(ctx context.Context, at grid.AttemptID, control string) (grid.Progress, error)
	// Attempts lists those of ours that wait or run, by the tags of the local jobs.
	Attempts(ctx context.Context) ([]grid.AttemptID, error)
}
