package openpbs

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gbroker/pbs/external"
	"gbroker/plan"
)

// scheduler is what sched_config says about the order of jobs.
type scheduler struct {
	strict     bool // strict_ordering
	byQueue    bool
	roundRobin bool
	keys       []sortKey
}

// sortKey is one job_sort_key.
type sortKey struct {
	resource string
	low      bool // the lowest first
}

// config reads sched_config: lines of "name: value [prime|non_prime|all]", and comments with #.
// What differs between prime time and the rest is taken as it is in prime time.
func config(text []byte) (scheduler, error) {
	c := scheduler{byQueue: true}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		words, _, _ := strings.Cut(strings.TrimSpace(string(line)), "#")
		name, val, is := strings.Cut(words, ":")
		if strings.TrimSpace(words) == "" {
			continue
		}
		if !is {
			return c, fmt.Errorf("line %d: %.60q is no name: value", number, words)
		}
		if err := c.set(strings.TrimSpace(name), strings.Fields(val)); err != nil {
			return c, fmt.Errorf("line %d: %.40s: %w", number, name, err)
		}
	}
	return c, nil
}

func (c *scheduler) set(name string, val []string) error {
	if len(val) > 0 && strings.EqualFold(val[len(val)-1], "non_prime") {
		return nil
	}
	flags := map[string]*bool{"strict_ordering": &c.strict, "by_queue": &c.byQueue, "round_robin": &c.roundRobin}
	if flag := flags[name]; flag != nil {
		if len(val) == 0 {
			return fmt.Errorf("it says nothing")
		}
		var err error
		*flag, err = truth(val[0])
		return err
	}
	if name != "job_sort_key" {
		return nil
	}
	quoted := strings.Fields(strings.ReplaceAll(strings.Join(val, " "), `"`, " "))
	if len(quoted) < 2 || !slices.Contains([]string{"HIGH", "LOW"}, strings.ToUpper(quoted[1])) || len(c.keys) == 20 {
		return fmt.Errorf("it is not \"RESOURCE HIGH\" or LOW, or there are more than 20")
	}
	c.keys = append(c.keys, sortKey{quoted[0], strings.EqualFold(quoted[1], "LOW")})
	return nil
}

// policy is how jobs are taken. Without strict_ordering whatever fits is started, in order;
// with it the first backfill_depth jobs that do not fit are given reservations.
func (c scheduler) policy(depth int) plan.Policy {
	switch {
	case !c.strict:
		return plan.Policy{Kind: plan.FirstFit}
	case depth == 0:
		return plan.Policy{Kind: plan.FCFS}
	}
	return plan.Policy{Kind: plan.EASY, Reservations: depth}
}

// order sorts jobs as the scheduler will take them.
func (c scheduler) order(jobs []job, queues []queue) {
	priority := map[string]int64{}
	for _, q := range queues {
		priority[string(q.Name)] = q.priority
	}
	slices.SortStableFunc(jobs, func(a, b job) int {
		by := 0
		if c.byQueue || c.roundRobin {
			by = cmp.Compare(priority[string(b.Queue)], priority[string(a.Queue)])
		}
		for _, k := range c.keys {
			if by != 0 {
				return by
			}
			if by = cmp.Compare(k.of(b), k.of(a)); k.low {
				by = -by
			}
		}
		return cmp.Or(by, cmp.Compare(a.Eligible, b.Eligible), cmp.Compare(sequence(a), sequence(b)))
	})
	if c.roundRobin {
		alternate(jobs, priority)
	}
}

// of is what a job is sorted by; keys that depend on usage in the past count nothing.
func (k sortKey) of(j job) int64 {
	switch k.resource {
	case "ncpus":
		return int64(j.Demand.Cores())
	case "walltime":
		return int64(j.Limit)
	case "job_priority":
		return j.Priority
	case "mem":
		var sum int64
		for _, c := range j.Demand.Chunks {
			sum += min(c.Memory, 1<<42) * int64(c.Count)
		}
		return sum
	}
	return 0
}

// sequence is the number of a job's identifier.
func sequence(j job) int64 {
	digits, _, _ := strings.Cut(strings.ReplaceAll(string(j.Local), "[", "."), ".")
	n, _ := clamped(digits, 1<<60)
	return n
}

// alternate takes one job of each queue in turn, among queues of one priority.
func alternate(jobs []job, priority map[string]int64) {
	turns := map[string]int{}
	turn := make(map[string]int, len(jobs))
	for _, j := range jobs {
		if j.State == external.Running || j.State == external.Done {
			continue
		}
		turn[string(j.Local)] = turns[string(j.Queue)]
		turns[string(j.Queue)]++
	}
	slices.SortStableFunc(jobs, func(a, b job) int {
		return cmp.Or(cmp.Compare(priority[string(b.Queue)], priority[string(a.Queue)]),
			cmp.Compare(turn[string(a.Local)], turn[string(b.Local)]))
	})
}
