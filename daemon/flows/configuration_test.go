package flows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/grid"
)

const resource = `<Resources><gb:Resource xmlns:gb="urn:gbroker:jsdl:1" name="gpu">1</gb:Resource></Resources>`

// twoWays is a submission whose tasks can run on cores, and in a tenth of the time with a GPU.
func twoWays() api.FlowSubmission {
	s := diamond()
	for i := range s.Tasks {
		task := &s.Tasks[i]
		with := strings.Replace(task.Document, "</Application>", "</Application>"+resource, 1)
		task.Configuration, task.RuntimeS = "cpu", 100
		task.Others = []api.FlowConfiguration{{Name: "gpu", Document: with, RuntimeS: 10}}
	}
	return s
}

// A task is handed in in the configuration that the plan has taken, also by a home that was ended meanwhile; what was done in either is not run again.
func TestConfigurationsAreHandedIn(t *testing.T) {
	t.Parallel()
	for _, gpus := range []int64{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			b, folder := newBroker(), t.TempDir()
			b.gpus, b.waits = gpus, map[string]time.Duration{"home": 0}
			k, stop := keeper(t, folder, b)
			id := begin(t, k, twoWays())
			time.Sleep(3 * time.Second) //house:allow sleep: virtual time
			stop()
			k, stop = keeper(t, folder, b)
			defer stop()
			f := await(t, k, id)
			want := map[bool]string{false: "cpu", true: "gpu"}[gpus > 0]
			for _, x := range f.Tasks {
				r := b.jobs[x.Job]
				if x.State != api.FlowDone || x.Configuration != want || len(r.Job.Demand.Resources()) != map[string]int{"cpu": 0, "gpu": 1}[want] {
					t.Errorf("%d GPUs: %s is %s in %q, with %v", gpus, x.Name, x.State, x.Configuration, r.Job.Demand)
				}
			}
			if b.begun["top"] != 1 || len(b.jobs) != 4 {
				t.Errorf("begun %v", b.begun)
			}
			b.mu.Lock()
			b.gpus = 2 - gpus // now the other one is planned
			b.mu.Unlock()
			if _, err := k.ResumeFlow(t.Context(), bob, id); err != nil {
				t.Fatal(err)
			}
			if f := await(t, k, id); f.States[api.FlowReused] != 4 || len(b.jobs) != 4 {
				t.Errorf("resumed: %v, %d jobs", f.States, len(b.jobs))
			}
		})
	}
}

// Configurations that leave other files are refused.
func TestConfigurationsHaveTheSameFiles(t *testing.T) {
	t.Parallel()
	s := twoWays()
	other := made("left", "l", "lo more")
	s.Tasks[1].Others[0].Document = other.Document
	if _, err := s.Parts(grid.Minute); err == nil || !strings.Contains(err.Error(), "configuration gpu has other files than cpu") {
		t.Errorf("the error is %v", err)
	}
}

// task is the demand of one of so many cores, with some memory and GPUs.
func task(cores int, memory, gpus int64) grid.Demand {
	c := grid.Chunk{Count: 1, Processes: 1, Cores: cores, Memory: memory}
	if gpus > 0 {
		c.Resources = []grid.Resource{{Name: "gpu", Amount: gpus}}
	}
	return grid.Demand{Chunks: []grid.Chunk{c}}
}

// The sites are asked about tasks as they are, one and many at once, with the most and the least of each resource.
func TestAmountsAreAskedAbout(t *testing.T) {
	t.Parallel()
	places := []workflow.Place{{Name: "home", Cores: 4}, {Name: "big", Cores: 40}}
	tasks := []grid.Demand{task(1, 0, 4), task(2, 0, 0), task(1, 0, 4)}
	for n := range int64(30) {
		tasks = append(tasks, task(2, n+1, 0))
	}
	counts, most := map[int64]int{}, map[int64]int{}
	for _, a := range amounts(tasks, places) {
		c := a.each.Chunks[0]
		if got := a.demand().Chunks[0]; got.Count != a.times || got.Cores != c.Cores || got.Memory != c.Memory || a.demand().Resources() == nil && c.Memory == 0 {
			t.Errorf("%+v asks for %+v", a, a.demand())
		}
		key := c.Memory - int64(10*len(c.Resources))
		counts[key]++
		most[key] = max(most[key], a.times)
	}
	if len(counts) != maxDemands || counts[-10] == 0 || most[-10] != 40 || counts[1] == 0 || counts[30] != 6 || most[30] != 20 || counts[0] != 0 {
		t.Errorf("asked about %v, up to %v", counts, most)
	}
	if got := multiples(task(1, maxBytes/2, 0), []workflow.Place{{Cores: 1000}}, 10); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("of the largest memory %v are asked about", got)
	}
}

// A site has as much of something as it does not refuse for ever: also one of fewer cores than GPUs.
func TestAmountsAreNoted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.gpus, b.memory, b.waits = 6, 5<<30, map[string]time.Duration{"home": time.Minute}
		k, stop := keeper(t, t.TempDir(), b)
		defer stop()
		places, err := k.PlacesFlow(t.Context(), bob, api.FlowNeeds{Tasks: []grid.Demand{task(1, 0, 3), task(1, 1<<30, 0), task(1, 4<<30, 0)}})
		if err != nil {
			t.Fatal(err)
		}
		most, lacks := map[string]int{}, map[string]int{}
		for _, a := range places[0].Amounts {
			most[a.Name], lacks[a.Name] = a.Most, a.Lacks
			if a.Openings[0].After != time.Minute {
				t.Errorf("%+v", a)
			}
		}
		if places[0].Cores != 2 || most["gpu"] != 6 || most[workflow.Memory] != 4<<30 || lacks[workflow.Memory] != 8<<30 {
			t.Errorf("%d cores, there are %v, and not %v", places[0].Cores, most, lacks)
		}
	})
}

// A task is planned at no site that would never run it, as it asks for a queue that is not there, say; what no site would run is planned all the same.
func TestShapesThatSitesRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lacks map[string]grid.QueueName
		left  string
	}{
		{nil, "other"}, {map[string]grid.QueueName{"other": "long"}, "home"}, {map[string]grid.QueueName{"other": "long", "home": "long"}, "other"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			b.sites, b.waits, b.lacks = []string{"other"}, map[string]time.Duration{"home": time.Minute, "other": 0}, c.lacks
			k, stop := keeper(t, t.TempDir(), b)
			defer stop()
			s := diamond()
			s.QueueAnyway = true
			s.Tasks[1].Document = strings.Replace(s.Tasks[1].Document, "</Application>", `</Application><Resources><gb:Queue xmlns:gb="urn:gbroker:jsdl:1">long</gb:Queue></Resources>`, 1)
			id := begin(t, k, s)
			time.Sleep(time.Second) //house:allow sleep: virtual time
			f, err := k.Flow(t.Context(), bob, id)
			if at := planned(&f); err != nil || at["left"] != c.left || at["right"] != "other" {
				t.Errorf("%v: planned at %v (%v)", c.lacks, at, err)
			}
			await(t, k, id)
		})
	}
}

// naming is the diamond in ways that need five resources in all.
func naming() api.FlowSubmission {
	s := twoWays()
	for i := range s.Tasks {
		task := &s.Tasks[i]
		for n := range 5 {
			with := strings.Replace(task.Document, "</Application>", "</Application>"+strings.Replace(resource, "gpu", fmt.Sprintf("r%d", n), 1), 1)
			task.Others = append(task.Others, api.FlowConfiguration{Name: fmt.Sprintf("r%d", n), Document: with})
		}
		task.Others = task.Others[1:]
	}
	return s
}

// A workflow whose tasks need resources of too many names is refused, and so are configurations without names of their own, also where no client has
// looked at it.
func TestConfigurationsAreBounded(t *testing.T) {
	t.Parallel()
	nameless, twice := twoWays(), twoWays()
	nameless.Tasks[2].Others[0].Name = ""
	twice.Tasks[3].Others[0].Name = "cpu"
	for want, s := range map[string]api.FlowSubmission{
		"with task top, tasks need resources of 5 names: at most 4": naming(), "task right: the name of configuration 2": nameless, "task end: the name of configuration 2": twice,
	} {
		if _, err := s.Parts(grid.Minute); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, not %q", err, want)
		}
	}
}

// One that was taken before that was bounded runs on without a plan.
func TestUnboundedConfigurationsRunWithoutAPlan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, folder := newBroker(), t.TempDir()
		b.waits = map[string]time.Duration{"home": 0}
		k, stop := keeper(t, folder, b)
		id := begin(t, k, twoWays())
		f, err := k.find(bob, id)
		if err != nil {
			t.Fatal(err)
		}
		stop()
		f.spec.Submission = naming()
		f.rec.Plans = 0
		if err := errors.Join(k.write(f.folder, "spec.json", &f.spec), f.save()); err != nil {
			t.Fatal(err)
		}
		k, stop = keeper(t, folder, b)
		defer stop()
		if s := await(t, k, id); s.States[api.FlowDone] != 4 || s.PlansMade != 0 {
			t.Errorf("%v, %d plans", s.States, s.PlansMade)
		}
	})
}
