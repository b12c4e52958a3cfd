package agent

import (
	"context"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// Runner runs programs as the operating system of the computer lets it. It is what differs between systems.
type Runner interface {
	// Prepare makes the folders of a job those of the account that runs it.
	Prepare(f Folder) error
	// Start starts the program of a job, at most once in its folder whatever becomes of this process.
	Start(f Folder, job Job) (Process, error)
	// Settle tells what became of a job that this process did not start: nothing of it runs
	// afterwards. started is false where it may be started yet.
	Settle(f Folder, job Job) (o Outcome, started bool, err error)
}

// Process is a program that was started, with all that it starts.
type Process interface {
	// Began is closed when the program runs; it may never be.
	Began() <-chan struct{}
	// Wait waits for the end of all of it; an end of ctx gives up waiting alone.
	Wait(ctx context.Context) (Outcome, error)
	// Suspend stops all of it, or lets it go on.
	Suspend(stop bool) error
	// Yield puts what it has started since behind the owner's programs.
	Yield() error
	// Kill ends all of it: the program may say a last word within its grace.
	Kill() error
	// Abandon ends all of it as the end of this process would.
	Abandon() error
	// Used is the processor time so far.
	Used() grid.Tick
	// Memory is what all of it has in memory now, bytes. Up to enough what is shared may count for each that shares it.
	Memory(enough int64) int64
}

// Job is what is to be run.
type Job struct {
	line.Assignment
	Stint string `json:"stint"`
	Node  string `json:"node"` // the name of this computer
}

// Folder is where a job lies at this computer.
type Folder string

// Outcome is how a program ended.
type Outcome struct {
	line.End
	At grid.Tick // when it ended
	On grid.Tick // when it began; 0 is never
}
