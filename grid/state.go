package grid

import "fmt"

// State is where a job is in its life; see the diagram in the package comment.
type State uint8

// The states. The numbers are stored and sent: append only.
const (
	Submitted         State = 1 + iota // accepted, on disk
	StageIn                            // its files are on the way to the home
	Ready                              // all files at the owner, no place chosen
	Assigned                           // in the local queue of the owner
	Moving                             // offered to another site
	Running                            // its program was started
	Finished                           // its program ended
	StageOut                           // its output is on the way home
	Completed                          // ended by itself, with any exit code
	Failed                             // could not be run
	Killed                             // ended by its user or an administrator
	CancelledWalltime                  // ended by its walltime limit
	CancelledDeadline                  // ended by its deadline
	Lost                               // its owner is gone for ever
)

var stateNames = [...]string{
	Submitted: "SUBMITTED", StageIn: "STAGEIN", Ready: "READY", Assigned: "ASSIGNED",
	Moving: "MOVING", Running: "RUNNING", Finished: "FINISHED", StageOut: "STAGEOUT",
	Completed: "COMPLETED", Failed: "FAILED", Killed: "KILLED",
	CancelledWalltime: "CANCELLED_WALLTIME", CancelledDeadline: "CANCELLED_DEADLINE", Lost: "LOST",
}

// Valid reports that s is one of the states.
func (s State) Valid() bool { return s >= Submitted && s <= Lost }

// Terminal reports that the job's life has ended.
func (s State) Terminal() bool { return s >= Completed && s <= Lost }

func (s State) String() string {
	if !s.Valid() {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateNames[s]
}

// ParseState is the inverse of String.
func ParseState(name string) (State, error) {
	for s := Submitted; s <= Lost; s++ {
		if stateNames[s] == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%.40q is no state of a job", name)
}
