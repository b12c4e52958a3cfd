package openpbs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// delivered is sched_config as OpenPBS is delivered with it, in short.
const delivered = `# This is the config file for the scheduling policy
round_robin: False	all

by_queue: True		prime
by_queue: True		non_prime
strict_ordering: false	ALL
#job_sort_key: "cput LOW"	ALL
help_starving_jobs: true	ALL
fairshare_entity: euser
smp_cluster_dist: pack
dedicated_prefix: ded
`

// The policy of the plan follows sched_config and backfill_depth.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		delivered:                             "firstfit",
		"":                                    "firstfit",
		"strict_ordering: true ALL\n":         "easy:10",
		"strict_ordering: True prime # why\n": "easy:10",
		"strict_ordering: true non_prime\n":   "firstfit",
	} {
		c, err := config([]byte(text))
		if got := c.policy(10).String(); err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	c, _ := config([]byte("strict_ordering: true ALL"))
	if got := c.policy(0); got.Kind != plan.FCFS {
		t.Errorf("without backfill: %v", got)
	}
	for _, bad := range []string{"strict_ordering\n", "strict_ordering: perhaps\n", "by_queue:\n", "job_sort_key: ncpus\n", `job_sort_key: "ncpus UP" ALL`, strings.Repeat("job_sort_key: \"mem HIGH\"\n", 21)} {
		if c, err := config([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, c)
		}
	}
}

// The waiting jobs are in the order in which the scheduler takes them.
func TestOrderOfJobs(t *testing.T) {
	t.Parallel()
	jobs := func() []job {
		var list []job
		for i, j := range []struct {
			queue    grid.QueueName
			queued   grid.Tick
			cores    int
			limit    grid.Tick
			priority int64
		}{{"low", 3, 1, 10, 0}, {"low", 1, 8, 30, 5}, {"high", 5, 2, 20, 0}, {"low", 1, 4, 10, 1}, {"high", 4, 2, 5, 9}} {
			list = append(list, job{Job: external.Job{
				Eligible: j.queued, Local: grid.LocalID([]string{"10.p", "9.p", "12.p", "11.p", "13.p"}[i]), State: external.Queued, Queue: j.queue, Limit: j.limit, Priority: j.priority,
				Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Cores: j.cores}}},
			}})
		}
		return list
	}
	qs := []queue{{Queue: plan.Queue{Name: "low"}, priority: 10}, {Queue: plan.Queue{Name: "high"}, priority: 90}}
	for text, want := range map[string]string{
		"":                               "13 12 9 11 10",
		"by_queue: False ALL":            "9 11 10 13 12",
		`job_sort_key: "ncpus HIGH" ALL`: "13 12 9 11 10",
		"by_queue: f\njob_sort_key: \"ncpus LOW\"":                                  "10 13 12 11 9",
		"by_queue: f\njob_sort_key: \"walltime HIGH\"":                              "9 12 11 10 13",
		"by_queue: f\njob_sort_key: \"ncpus LOW\"\njob_sort_key: \"walltime HIGH\"": "10 12 13 11 9",
		"by_queue: f\njob_sort_key: \"job_priority HIGH\"":                          "13 9 11 10 12",
		"by_queue: f\njob_sort_key: \"fairshare_perc HIGH\"":                        "9 11 10 13 12",
		"round_robin: True ALL":                                                     "13 12 9 11 10",
	} {
		c, err := config([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		list := jobs()
		c.order(list, qs)
		got := ""
		for _, j := range list {
			got += strings.TrimSuffix(string(j.Local), ".p") + " "
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	c, _ := config([]byte("round_robin: True"))
	list := jobs()
	c.order(list, nil) // queues of one priority take turns
	if list[0].Queue == list[1].Queue || list[2].Queue == list[3].Queue {
		t.Errorf("no turns: %+v", list)
	}
}

// A configuration that is named must be readable; one that is not is the operator's word.
func TestSchedConfigIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sched_config")
	c, _ := replay(t, Config{SchedConfig: path, Policy: plan.Policy{Kind: plan.ConsRebuild}}, idleSystem(t)...)
	if _, err := c.Listing(t.Context()); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), path) {
		t.Errorf("there is none: %v", err)
	}
	if err := os.WriteFile(path, []byte("strict_ordering: true ALL\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := c.Listing(t.Context()); err != nil || l.Policy != (plan.Policy{Kind: plan.EASY, Reservations: 10}) {
		t.Errorf("%+v, %v", l.Policy, err)
	}
	c, _ = replay(t, Config{Policy: plan.Policy{Kind: plan.ConsRebuild}}, idleSystem(t)...)
	if l, err := c.Listing(t.Context()); err != nil || l.Policy.Kind != plan.ConsRebuild {
		t.Errorf("%+v, %v", l.Policy, err)
	}
}
