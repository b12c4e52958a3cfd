package slurm

import (
	"fmt"
	"regexp"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// states are the states of a job: all that Slurm 22.05 knows.
var states = map[string]external.State{
	"PENDING": external.Queued,

	"REQUEUED": external.Queued, "REQUEUE_FED": external.Queued,
	"REQUEUE_HOLD": external.Held, "SPECIAL_EXIT": external.Held, "RESV_DEL_HOLD": external.Held,

	"RUNNING": external.Running, "SUSPENDED": external.Running, "COMPLETING": external.Running,
	"CONFIGURING": external.Running, "RESIZING": external.Running, "SIGNALING": external.Running,
	"STAGE_OUT": external.Running, "STOPPED": external.Running,

	"COMPLETED": external.Done, "CANCELLED": external.Done, "FAILED": external.Done, "TIMEOUT": external.Done,
	"NODE_FAIL": external.Done, "PREEMPTED": external.Done, "BOOT_FAIL": external.Done, "DEADLINE": external.Done,
	"OUT_OF_MEMORY": external.Done, "REVOKED": external.Done,
}

// unconsidered are reasons for which the scheduler passes a pending job over.
var unconsidered = map[string]bool{
	"JobHeldUser": true, "JobHeldAdmin": true, "BeginTime": true, "Dependency": true, "DependencyNeverSatisfied": true,

	// It waits until somebody changes it, its partition or its account.
	"PartitionNodeLimit": true, "PartitionTimeLimit": true, "AccountNotAllowed": true, "QOSNotAllowed": true,
	"InvalidAccount": true, "InvalidQOS": true, "BadConstraints": true,
}

// beyond is the reason of a job that waits for a limit that cannot be counted here: of nodes, memory, minutes, or of
// one job, which it will never keep.
var beyond = regexp.MustCompile(`^(QOS|Assoc).*(Limit|Minutes|NotSatisfied)$`)

// considered tells whether the scheduler looks at a pending job with that reason.
func considered(reason string) bool {
	return !unconsidered[reason] && (limited.MatchString(reason) || !beyond.MatchString(reason))
}

func stateOf(word, reason string) (external.State, error) {
	state, known := states[word]
	if !known {
		return external.Odd, fmt.Errorf("%.40q is no state of a job", word)
	}
	if state == external.Queued && !considered(reason) {
		state = external.Held
	}
	return state, nil
}

// notLaunched stands in the place of a signal where the script could not be started: its
// output file, its folder or its account was missing.
const notLaunched = 53

// endOf is how a job ended. code and signal are of its script.
func endOf(state, reason string, code, signal int) *external.End {
	end := &external.End{ExitCode: code, Signal: signal}
	if signal > 0 {
		end.ExitCode = 128 + signal&127
	}
	switch state {
	case "COMPLETED":
	case "FAILED":
		// A script that killed itself has this reason too, but its own signal.
		if reason == "JobLaunchFailure" && signal == notLaunched {
			*end = external.End{Cause: grid.NeverRan, Detail: "the batch system could not launch it: " + reason}
		}
	case "TIMEOUT", "DEADLINE":
		end.Cause, end.Detail = grid.ByWalltime, "its time limit: "+state
	case "CANCELLED":
		end.Cause, end.Detail = grid.ByRequest, "cancelled in the batch system"
	case "NODE_FAIL":
		end.Cause, end.Detail, end.NodeFail = grid.Disappeared, "its node has failed", true
	case "BOOT_FAIL":
		end.Cause, end.Detail, end.NodeFail = grid.NeverRan, "its node did not boot", true
	case "OUT_OF_MEMORY":
		end.Detail = "out of memory"
	default: // PREEMPTED, REVOKED
		end.Cause, end.Detail = grid.Disappeared, "the batch system ended it: "+state
	}
	return end
}

// nodeStates tell whether a node of that base state takes jobs.
var nodeStates = map[string]bool{
	"idle": true, "allocated": true, "mixed": true,
	"down": false, "unknown": false, "error": false, "future": false, "invalid": false,
}

// nodeFlags tell whether a node with that flag takes jobs. One in maintenance does, but for
// the reservation that says so.
var nodeFlags = map[string]bool{
	"CLOUD": true, "COMPLETING": true, "DYNAMIC_FUTURE": true, "DYNAMIC_NORM": true, "MAINTENANCE": true,
	"PERFCTRS": true, "PLANNED": true, "POWERED_DOWN": true, "POWERING_UP": true, "POWER_UP": true,
	"REBOOT_REQUESTED": true, "RESERVED": true, "RESUME": true,
	"DRAIN": false, "FAIL": false, "INVALID_REG": false, "NOT_RESPONDING": false,
	"POWERING_DOWN": false, "POWER_DOWN": false, "REBOOT_ISSUED": false,
}
