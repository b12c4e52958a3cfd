package flows

import (
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/grid"
)

// planned is where the tasks of a workflow were to run, by name.
func planned(s *api.FlowStatus) map[string]string {
	sites := map[string]string{}
	for _, t := range s.Tasks {
		sites[t.Name] = t.Planned
	}
	return sites
}

// A site that says that others have it for an hour is not planned on, and when its estimate changes the rest is planned again.
func TestEstimatesEnterThePlan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.sites, b.waits = []string{"other"}, map[string]time.Duration{"home": time.Hour, "other": 0}
		b.runs = 5 * time.Minute
		k, stop := keeper(t, t.TempDir(), b)
		defer stop()
		s := diamond()
		for i := range s.Tasks {
			s.Tasks[i].RuntimeS = 300
		}
		id := begin(t, k, s)
		time.Sleep(time.Second) //house:allow sleep: virtual time
		f, err := k.Flow(t.Context(), bob, id)
		if err != nil || planned(&f)["end"] != "other" || f.PlansMade != 1 {
			t.Fatalf("planned at %v, %d plans (%v)", planned(&f), f.PlansMade, err)
		}
		b.mu.Lock()
		b.waits = map[string]time.Duration{"home": 0, "other": time.Hour}
		b.mu.Unlock()
		time.Sleep(2 * askSites) //house:allow sleep: virtual time
		if f, err = k.Flow(t.Context(), bob, id); err != nil || planned(&f)["end"] != "home" || f.PlansMade < 2 || f.PlansMade > 3 {
			t.Errorf("after the estimates changed, planned at %v, %d plans (%v)", planned(&f), f.PlansMade, err)
		}
		b.mu.Lock()
		b.sites, b.waits = nil, map[string]time.Duration{"home": time.Minute}
		b.mu.Unlock()
		await(t, k, id)
	})
}

// A task that does not end is late, and the rest is planned again, less and less often; so it is when a site is lost.
func TestLateAndLost(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			b.sites, b.waits = []string{"other"}, map[string]time.Duration{"home": 2 * time.Minute}
			b.runs = 10 * time.Minute
			k, stop := keeper(t, t.TempDir(), b)
			defer stop()
			id := begin(t, k, diamond())
			time.Sleep(time.Second) //house:allow sleep: virtual time
			b.mu.Lock()
			if lost {
				b.sites = nil
			}
			b.mu.Unlock()
			time.Sleep(8 * time.Second) //house:allow sleep: virtual time
			f, err := k.Flow(t.Context(), bob, id)
			if err != nil || f.PlansMade < 2 || lost != (planned(&f)["end"] == "home") {
				t.Errorf("lost %v: planned at %v, %d plans (%v)", lost, planned(&f), f.PlansMade, err)
			}
			time.Sleep(8 * time.Minute) //house:allow sleep: virtual time
			if f, err = k.Flow(t.Context(), bob, id); err != nil || f.PlansMade > 40 {
				t.Errorf("%d plans while a task of 2 s ran for 8 minutes (%v)", f.PlansMade, err)
			}
			await(t, k, id)
		})
	}
}

// What a site says about cores is what a plan may use of it.
func TestNote(t *testing.T) {
	t.Parallel()
	p := workflow.Place{Name: "x", Cores: 8}
	note(&p, 2, &grid.Candidate{Wait: grid.Minute})
	note(&p, 4, &grid.Candidate{Refusal: &grid.Refusal{Kind: grid.Temporary, Again: grid.Hour}})
	note(&p, 6, &grid.Candidate{Refusal: &grid.Refusal{Kind: grid.Permanent}})
	note(&p, 8, &grid.Candidate{Refusal: &grid.Refusal{Kind: grid.Permanent}})
	if p.Cores != 5 || len(p.Openings) != 2 || wait(&p, 1) != 0 || wait(&p, 3) != time.Minute || wait(&p, 5) != time.Hour {
		t.Errorf("%+v", p)
	}
	now := workflow.Place{Name: "x", Cores: 5, Openings: []workflow.Opening{{Cores: 2, After: 30 * time.Second}}}
	for _, c := range []struct {
		ago  time.Duration
		most int
		want bool
	}{{30 * time.Second, 2, false}, {0, 2, true}, {2 * time.Minute, 2, true}, {30 * time.Second, 4, true}, {0, 1, false}} {
		if got := moved([]workflow.Place{p}, []workflow.Place{now}, c.most, c.ago); got != c.want {
			t.Errorf("%v ago, of %d cores: moved is %v", c.ago, c.most, got)
		}
	}
	if !moved(nil, []workflow.Place{now}, 1, 0) {
		t.Error("a site that came has not moved")
	}
}

// A site takes the tasks of a workflow to run to their limits; its home knows better, and plans by that. The plan counts from the beginning of the run,
// also where the sites take their time to answer.
func TestOwnTasksEndBeforeTheirLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.asked, b.waits = 3*time.Second, map[string]time.Duration{"home": 0}
		b.runs = 10 * time.Second
		k, stop := keeper(t, t.TempDir(), b)
		defer stop()
		s := diamond()
		for i := range s.Tasks {
			s.Tasks[i].RuntimeS = 10
		}
		b.limit = time.Hour
		f := await(t, k, begin(t, k, s))
		if f.PlannedS < 0.9*f.MakespanS || f.PlannedS > 1.1*f.MakespanS || f.BoundS > f.MakespanS+1 {
			t.Errorf("planned %v s, bound %v s, took %v s", f.PlannedS, f.BoundS, f.MakespanS)
		}
	})
	openings := []workflow.Opening{{Cores: 1}, {Cores: 2, After: time.Hour}, {Cores: 4, After: 2 * time.Hour}}
	if got := giveBack(openings, 1, time.Minute); got[1].After != time.Minute || got[2].After != 2*time.Hour || openings[1].After != time.Hour {
		t.Errorf("%v", got)
	}
}
