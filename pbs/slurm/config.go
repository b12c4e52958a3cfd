package slurm

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
)

// settings is what is used of scontrol show config.
type settings struct {
	at           grid.Tick // the controller's clock, whole seconds
	version      string
	policy       plan.Policy
	countsMemory bool // memory is given to jobs, and not only compared with the node's
	minJobAge    grid.Tick
}

// parseConfig reads lines KEY = VALUE; of the many keys few are used.
func parseConfig(text []byte) (settings, error) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	stamp, is := strings.CutPrefix(string(first), "Configuration data as of ")
	if !is {
		return settings{}, fmt.Errorf("line 1 is not \"Configuration data as of ...\"")
	}
	var s settings
	var err error
	if s.at, err = instant(stamp); err != nil || s.at == 0 {
		return settings{}, fmt.Errorf("line 1: the time %.40q", stamp)
	}
	used := map[string]string{
		"SLURM_VERSION": "", "SchedulerType": "", "SchedulerParameters": "",
		"SelectType": "", "SelectTypeParameters": "", "MinJobAge": "",
	}
	found := 0
	for raw := range bytes.SplitSeq(rest, []byte("\n")) {
		key, value, is := strings.Cut(string(raw[:min(len(raw), maxText)]), "=")
		key = strings.TrimSpace(key)
		if _, wanted := used[key]; is && wanted {
			used[key] = strings.TrimSpace(value)
			found++
		}
	}
	if found != len(used) {
		return settings{}, fmt.Errorf("%d of the keys SLURM_VERSION, SchedulerType, SchedulerParameters, "+
			"SelectType, SelectTypeParameters, MinJobAge are missing, or come twice", len(used)-found)
	}
	s.version = used["SLURM_VERSION"]
	s.countsMemory = strings.Contains(strings.ToUpper(used["SelectTypeParameters"]), "MEMORY")
	age, _, _ := strings.Cut(used["MinJobAge"], " ")
	n, err := number(age)
	if err != nil {
		return settings{}, fmt.Errorf("MinJobAge: %w", err)
	}
	s.minJobAge = grid.Tick(n) * grid.Second
	s.policy, err = policy(used["SchedulerType"], used["SchedulerParameters"])
	return s, err
}

// deep is how many waiting jobs with a start of their own are as good as all of them.
const deep = 100

// policy is the planner's policy that comes nearest to the scheduler's: see the package
// comment.
func policy(scheduler, parameters string) (plan.Policy, error) {
	switch scheduler {
	case "sched/builtin":
		return plan.Policy{Kind: plan.FCFS}, nil
	case "sched/backfill":
	default:
		return plan.Policy{}, fmt.Errorf("SchedulerType %.40q is not known: sched/backfill and sched/builtin are", scheduler)
	}
	for word := range strings.SplitSeq(parameters, ",") {
		text, is := strings.CutPrefix(strings.TrimSpace(word), "bf_max_job_test=")
		if !is {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return plan.Policy{}, fmt.Errorf("SchedulerParameters has bf_max_job_test=%.20q", text)
		}
		if n > 0 && n < deep {
			return plan.Policy{Kind: plan.EASY, Reservations: int(n)}, nil
		}
	}
	return plan.Policy{Kind: plan.ConsRebuild}, nil
}
