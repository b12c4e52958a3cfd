package torque

import (
	"fmt"

	"gbroker/grid"
	"gbroker/pbs/external"
)

const sigterm, sigkill = 15, 9

// looks is how long a job may run before its node has looked at what it uses.
const looks = grid.Minute

// end is how a job that is Done has ended: see the package comment.
func (r *record) end() *external.End {
	j := &r.job
	if r.exit == nil {
		return &external.End{Cause: grid.ByRequest, Detail: "it was deleted before it started"}
	}
	switch n := *r.exit; {
	case n == 0:
		// Of a job whose node was restarted the same is told. What its node has looked at it tells the usage of.
		return &external.End{Unsure: j.Usage.CPU == 0 && j.Usage.Memory == 0 && j.Usage.Wall >= looks}
	case n >= 0 && n <= 255:
		return &external.End{ExitCode: int(n)}
	case n == 256+sigterm && j.Limit > 0 && j.Usage.Wall >= j.Limit:
		return &external.End{ExitCode: 128 + sigterm, Signal: sigterm, Cause: grid.ByWalltime, Detail: "it was ended after its walltime"}
	case n == 256+sigterm:
		return &external.End{ExitCode: 128 + sigterm, Signal: sigterm, Cause: grid.ByRequest, Detail: "it was deleted while it ran"}
	case n > 256 && n <= 256+64:
		return &external.End{ExitCode: int(n) - 128, Signal: int(n) - 256}
	default:
		return failure(n)
	}
}

// failure is the end for which TORQUE has a number below zero.
func failure(n int64) *external.End {
	killed := external.End{ExitCode: 128 + sigkill, Signal: sigkill}
	switch n {
	case -11:
		killed.Cause, killed.Detail = grid.ByWalltime, "it was over its walltime"
	case -10:
		killed.Detail = "it was over its memory"
	case -12:
		killed.Detail = "it was over its processor time"
	case -4, -6:
		return &external.End{Cause: grid.Disappeared, NodeFail: true, Detail: fmt.Sprintf("its node was started again (exit_status %d)", n)}
	case -1, -2, -3, -5, -7, -8, -9, -13:
		return &external.End{Cause: grid.NeverRan, Detail: fmt.Sprintf("its node could not start it (exit_status %d)", n)}
	default:
		return &external.End{Cause: grid.Disappeared, Detail: fmt.Sprintf("it ended with the unknown exit_status %d", n)}
	}
	return &killed
}
