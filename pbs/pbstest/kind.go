package pbstest

import (
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/control"
	"gbroker/plan"
)

// Kind is one kind of batch system, as the suite must know it. What a bool or a function
// of Hand that is nil denies is skipped with a word.
type Kind struct {
	Name string
	// Take gives a test a batch system of its own until the test ends; it waits until one
	// is free. Only a Supervised kind is asked for particular nodes; else nodes is nil, and
	// the system has at least three, each with as many cores, of which one has a property
	// or a resource that another has not. Nothing runs or waits there.
	Take func(t testing.TB, nodes []plan.Node) Bench

	// Live: it is a real one that somebody wants to know of, so that a run which skips most tests has failed.
	Live bool
	// Supervised: programs stand under our own supervisor (package supervise), which sees
	// all of their processes, keeps them in their sandbox and explains what cannot be run.
	Supervised bool
	// Narrow: no job is wider than one node.
	Narrow bool
	// Whole: instants are told in whole seconds.
	Whole bool
	// Told: instants are told over a network, and so a moment late.
	Told bool
	// Least is the shortest limit that the system keeps.
	Least grid.Tick
	// Ages: the age of a job orders the queue.
	Ages bool
	// MemoryLimits: grid.LimitMemory binds.
	MemoryLimits bool
	// HostFile: programs are told their nodes by GBROKER_HOSTFILE.
	HostFile bool
	// Lasting: jobs of a node that is lost are told to run until it is back.
	Lasting bool
	// Rounds is how often a withdrawal is made to race a start.
	Rounds int
	// Ahead is how long before its start a reservation must be made to begin as asked; at least 4 s are left.
	Ahead grid.Tick
	// Patience bounds each wait: how long the slowest change takes to be seen; 0 is 30 s.
	Patience time.Duration
}

// Bench is one batch system in the hands of one test.
type Bench struct {
	Nodes []plan.Node
	// Open makes our side of it, not yet running; the same Spool again is a restart.
	Open func(t testing.TB, s Setup) pbs.System
	Hand Hand
	// Ready tells that a system which runs takes jobs; nil: at once.
	Ready func() bool
	// Private is the folder in which the program of an attempt runs, where that is not its sandbox: what lies
	// in the sandbox is brought there before, and what the program makes is brought back at its end.
	Private func(at grid.AttemptID) string
	// Supervisor is the process that supervises an attempt; nil: that which took its start token.
	Supervisor func(at grid.AttemptID, dir string) (control.Process, error)
}

// Setup is what a test wants of our side.
type Setup struct {
	Site    grid.Site
	Spool   string // absolute; also for whatever else our side keeps
	Owner   string // the word that marks this broker's local jobs, where the kind marks any
	Grace   time.Duration
	Changed func(grid.AttemptID)
}

// Hand does behind our back what operators, other users and accidents do. A function
// that is nil cannot be done here. Locals are as Progress tells them, or Submit of Hand.
type Hand struct {
	// Hold and Release are an operator's (system) hold of a waiting job.
	Hold, Release func(local grid.LocalID) error
	// Delete removes a job, waiting or running, in an operator's name.
	Delete func(local grid.LocalID) error
	// Requeue puts a running job back into the queue; an error is the system's refusal.
	Requeue func(local grid.LocalID) error
	// Submit hands in a job that is not ours.
	Submit func(f Foreign) (grid.LocalID, error)
	// Down stops the controller as an accident would, Up starts it again. Jobs run on.
	Down, Up func() error
	// Stall: from now on commands have no effect and give no answer until the function
	// that it gives is called (also twice). Those that were given up by then take effect
	// after all.
	Stall func() (end func(), err error)
	// Deafen: from now on, until the function that it gives is called, commands take
	// effect and their answers are lost: the client hangs. Also the end may be called twice.
	Deafen func() (end func(), err error)
	// Crash takes a node with all that runs there from the system, Revive brings it back.
	Crash, Revive func(node grid.NodeName) error
	// Drain lets no further job onto a node, Undrain ends that.
	Drain, Undrain func(node grid.NodeName) error
}

// Foreign is a job that is not ours. It takes all cores of some nodes.
type Foreign struct {
	Other  bool   // of another account than ours
	Name   string // such as the tag of one of ours
	Mark   string // as external.Order.Mark; "" is none
	Nodes  int
	Limit  grid.Tick
	Script string // for sh
	Dir    string // absolute: where it starts; any account may write there
}

func (k Kind) patience() time.Duration {
	if k.Patience == 0 {
		return 30 * time.Second
	}
	return k.Patience
}
