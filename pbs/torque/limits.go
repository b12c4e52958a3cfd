package torque

import (
	"regexp"
	"time"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// Maui tells a limit of a user or a class where a job meets it, and nowhere else: "violates active HARD MAXJOB limit of 2
// for user alice (R: 1, U: 2)".

// violation is the reason of such a job in showq -b.
var violation = regexp.MustCompile(`^violates active (?:HARD|SOFT) (MAXJOB|MAXPROC) limit of (\d{1,9}) for (user|class) (\S+)`)

// meet notes the limit that is told in the reason of a job; false where that is another reason.
func (m *Maui) meet(reason string, now time.Time) bool {
	told := violation.FindStringSubmatch(reason)
	if told == nil {
		return false
	}
	most, err := number(told[2], 0, 1<<31)
	if err != nil {
		return false
	}
	key := external.LimitKey{Name: "Maui's " + told[1], Cores: told[1] == "MAXPROC"}
	if told[3] == "user" {
		key.User = told[4]
	} else {
		key.Queue = grid.QueueName(told[4])
	}
	m.limits.Meet(key, most, now)
	return true
}
