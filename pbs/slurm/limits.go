package slurm

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"gbroker/pbs/external"
	"gbroker/plan"
)

// Limits of associations and qualities of service are told to who may ask slurmdbd, and which of them holds for a job is
// not told at all. A job that meets one has a reason that names it: what runs under it then is the limit.

// limited is such a reason, as QOSMaxJobsPerUserLimit or AssocGrpCpuLimit.
var limited = regexp.MustCompile(`^(QOS|Assoc)?(Grp|Max)(Jobs|Cpu)(PerUser|PerAccount)?(?:Limit)?$`)

// limitOf is the limit that a job waits for, by its reason.
func limitOf(j *external.Job) (key external.LimitKey, is bool) {
	m := limited.FindStringSubmatch(j.Reason)
	if m == nil {
		return key, false
	}
	key = external.LimitKey{Name: "Slurm's " + m[2] + m[3] + m[4], Cores: m[3] == "Cpu"}
	of, each := m[1], m[4]
	if of == "Assoc" || each == "PerAccount" {
		key.Account = j.Account
	}
	if of == "QOS" || each == "PerAccount" {
		key.QOS = j.QOS
	}
	if each == "PerUser" || of == "Assoc" && m[2] == "Max" {
		key.User = j.User
	}
	return key, key.User+key.Account+key.QOS != ""
}

// limit puts the limits that jobs meet into a listing.
func (c *Client) limit(l *external.Listing, now time.Time) {
	for i := range l.Jobs {
		if j := &l.Jobs[i]; j.State == external.Queued {
			if key, is := limitOf(j); is {
				c.limits.Meet(key, external.Unknown, now)
			}
		}
	}
	c.limits.Put(l, now)
	index := map[string]int{}
	for i := range l.Jobs {
		j := &l.Jobs[i]
		if j.Throttle == 0 {
			continue
		}
		array, _, _ := strings.Cut(string(j.Local), "_") // those that wait are called as the array is
		at, known := index[array]
		if !known {
			at = len(l.Caps)
			index[array] = at
			l.Caps = append(l.Caps, plan.Cap{Most: j.Throttle, Why: "running tasks of array " + array})
		}
		j.Caps = append(j.Caps, at)
	}
}

// tasks is how many tasks a list such as 2-9%2 or 0,4-10:2 names. Slurm cuts long ones off.
func tasks(list string) (n int) {
	list, _, _ = strings.Cut(list, "%")
	for part := range strings.SplitSeq(list, ",") {
		from, to, many := strings.Cut(part, "-")
		to, by, stepped := strings.Cut(to, ":")
		first, err := strconv.Atoi(from)
		last, step := first, 1
		if many && err == nil {
			last, err = strconv.Atoi(to)
		}
		if stepped && err == nil {
			step, err = strconv.Atoi(by)
		}
		if err == nil && first <= last && step > 0 {
			n += (last-first)/step + 1
		}
	}
	return min(n, maxJobs)
}
