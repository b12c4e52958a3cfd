package workflow

import (
	"fmt"
	"slices"
	"time"

	"gbroker/flow"
	"gbroker/grid"
)

// Place is a site where tasks can run, as it is seen from the home of the workflow.
type Place struct {
	Name  string        `json:"name"`
	Cores int           `json:"cores"`
	Speed float64       `json:"speed"`
	Rate  float64       `json:"rate"`  // bytes a second between it and the home
	Delay time.Duration `json:"delay"` // before a transfer begins
	// Overhead is how long it takes beside the run of a task, from when that is handed in until its end is known; 0 is not known.
	Overhead time.Duration `json:"overhead,omitempty"`
	// Ways are the rates to other places but the home, by name, in bytes a second, where a task there takes files from here. To the others they go by home.
	Ways map[string]float64 `json:"ways,omitempty"`
	// Openings are when cores of it can be had; none is that all are free, but for what tasks of the workflow have.
	Openings []Opening `json:"openings,omitempty"`
	// Amounts are what it has of the named resources that were asked about.
	Amounts []Amount `json:"amounts,omitempty"`
	// Refuses are the shapes of configurations that it will never run.
	Refuses []string `json:"refuses,omitempty"`
}

// Progress is how far a task has come, where a plan begins in the middle.
type Progress struct {
	Done  bool            // its outputs are at the home
	Runs  bool            // at the place At, in the configuration Way, for Left yet
	At    int             // index of a place
	Way   int             // index of a configuration
	Left  time.Duration   // expected
	Needs []time.Duration // by configuration, about, at speed 1: what was learned; 0, or none, is what the task says
	Least []time.Duration // the same: the least that such tasks took
}

// defaultRuntime is how long a task of which nothing is known is taken to run.
const defaultRuntime = time.Minute

// Graph is the workflow as package flow plans it; the home is the first place. The first vertices are the tasks. Whatever
// a task leaves goes home when it ends, and from there to who needs it, so that is the way of a transfer. Files that no task
// makes lie at the home, and what no task needs is awaited there.
func (w *Workflow) Graph(places []Place, progress []Progress) (*flow.Graph, *flow.Platform) {
	names := w.Amounts()
	p := platform(places, names)
	g := &flow.Graph{}
	for i := range w.Tasks {
		s := Progress{}
		if i < len(progress) {
			s = progress[i]
		}
		g.Vertices = append(g.Vertices, w.vertex(i, s, places, names))
		if s.Runs && len(places[s.At].Openings) == 0 { // else the site has reckoned with it
			e := &p.Executors[s.At]
			amounts := w.Tasks[i].Ways()[s.Way].needs(names, places)
			for r := range amounts {
				amounts[r] = min(amounts[r], e.Capacity[r])
			}
			e.Taken = append(e.Taken, flow.Taken{To: lasts(s.Left, 1), Amounts: amounts})
		}
	}
	files, end := len(g.Vertices), len(g.Vertices)+1
	g.Vertices = append(g.Vertices, flow.Vertex{Name: "files", Kind: flow.Source}, flow.Vertex{Name: "home", Kind: flow.Destination})
	last := make([]bool, len(w.Tasks))
	for i := range last {
		last[i] = true
	}
	brought := w.brought()
	for _, e := range w.Edges() {
		last[e.From] = false
		if g.Vertices[e.To].Kind == flow.Job {
			g.Edges = append(g.Edges, flow.Edge{From: e.From, To: e.To, Size: e.Size})
		}
	}
	for i := range w.Tasks {
		if g.Vertices[i].Kind == flow.Job && brought[i] > 0 {
			g.Edges = append(g.Edges, flow.Edge{From: files, To: i, Size: brought[i]})
		}
		if last[i] {
			size := int64(0)
			for _, d := range w.Tasks[i].Outputs {
				size += max(d.Size, 1)
			}
			g.Edges = append(g.Edges, flow.Edge{From: i, To: end, Size: size})
		}
	}
	return g, p
}

// brought is how much each task needs of what no task makes.
func (w *Workflow) brought() []int64 {
	made := map[string]bool{}
	for i := range w.Tasks {
		for _, d := range w.Tasks[i].Outputs {
			made[d.Name] = true
		}
	}
	out := make([]int64, len(w.Tasks))
	for i := range w.Tasks {
		for _, d := range w.Tasks[i].Inputs {
			if !made[d.Name] {
				out[i] += max(d.Size, 1)
			}
		}
	}
	return out
}

// vertex is a task; one that has run or runs is a source of its data. None is rerunnable for the plan: in the grid a task
// is not run twice to save a transfer.
func (w *Workflow) vertex(i int, s Progress, places []Place, names []string) flow.Vertex {
	t := &w.Tasks[i]
	switch {
	case s.Done:
		return flow.Vertex{Name: t.Name, Kind: flow.Source}
	case s.Runs:
		return flow.Vertex{Name: t.Name, Kind: flow.Source, At: s.At, Release: lasts(s.Left, 1)}
	}
	v := flow.Vertex{Name: t.Name}
	ways := t.Ways()
	anywhere := homeless(ways, places)
	for k, way := range ways {
		need := way.Expected()
		if k < len(s.Needs) && s.Needs[k] > 0 {
			need = s.Needs[k]
		}
		c := flow.Configuration{Name: way.Name, Needs: way.needs(names, places), Run: make([]flow.Time, len(places))}
		for e, at := range places {
			if c.Run[e] = min(lasts(need, at.Speed)+max(micro(at.Overhead), 0), flow.MaxTime); !anywhere && at.refuses(&way) {
				c.Run[e] = -1
			}
		}
		v.Configurations = append(v.Configurations, c)
	}
	return v
}

// lasts is how long something takes at a speed, within what is planned: sites say their speeds themselves.
func lasts(need time.Duration, speed float64) flow.Time {
	return max(flow.Time(min(float64(micro(need))/speed, float64(flow.MaxTime))), 1)
}

func platform(places []Place, names []string) *flow.Platform {
	p := &flow.Platform{Resources: append([]string{"cores"}, names...)}
	for i, from := range places {
		e := flow.Executor{Name: from.Name, Capacity: []int64{int64(from.Cores)}, Latency: min(max(micro(from.Delay), 0), flow.MaxTime), Taken: taken(from.Openings, from.Cores, 0)}
		for r, name := range names {
			a := from.has(name)
			e.Capacity = append(e.Capacity, int64(a.Most))
			e.Taken = append(e.Taken, taken(a.Openings, a.Most, r+1)...)
		}
		p.Executors = append(p.Executors, e)
		row := make([]int64, len(places))
		for j, to := range places {
			switch {
			case i == j:
				row[j] = 1
			case i == 0:
				row[j] = int64(max(to.Rate, 1))
			case j == 0:
				row[j] = int64(max(from.Rate, 1))
			default:
				row[j] = from.onward(&to)
			}
		}
		p.Bandwidth = append(p.Bandwidth, row)
	}
	return p
}

// onward is the rate of data from here to another place but the home: what a task leaves comes home when it ends, and goes on from here where there is
// a way, else from home.
func (p *Place) onward(to *Place) int64 {
	next := max(to.Rate, 1)
	if direct := p.Ways[to.Name]; direct > 0 {
		next = direct
	}
	return int64(max(1/(1/max(p.Rate, 1)+1/next), 1))
}

func micro(d time.Duration) flow.Time { return flow.Time(d.Microseconds()) }

// Planned is a plan of a workflow.
type Planned struct {
	Makespan time.Duration `json:"makespan"`
	Path     time.Duration `json:"critical_path"`      // a lower bound
	Work     time.Duration `json:"work_over_capacity"` // another
	Rule     flow.Rule     `json:"rule"`
	Tasks    []PlannedTask `json:"tasks"`
}

// PlannedTask is where and when a task is to run.
type PlannedTask struct {
	Name  string        `json:"name"`
	Site  string        `json:"site"`
	Way   int           `json:"-"`                       // index of its configuration
	Named string        `json:"configuration,omitempty"` // the name of that
	Start time.Duration `json:"start"`
	End   time.Duration `json:"end"`
}

// Efforts: of a plan that somebody waits for, and of one that is made again and again.
const (
	Thorough = 500_000
	Quick    = 20_000
)

// maxSearched is how many tasks a workflow has at most of which local search looks for a better plan.
const maxSearched = 2000

// Plan plans the workflow over some places. Effort is how many tasks local search may place in all.
func (w *Workflow) Plan(places []Place, progress []Progress, effort int) (*Planned, error) {
	if err := w.checkResources(); err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	if err := w.unfit(places, progress); err != nil {
		return nil, err
	}
	g, p := w.Graph(places, progress)
	rule := flow.Search
	if len(w.Tasks) > maxSearched {
		rule = flow.HEFT
	}
	s, err := flow.Plan(g, p, rule, flow.Options{Steps: min(flow.DefaultSteps, effort/len(w.Tasks)+1)})
	if err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	bounds, err := w.bounds(places, progress)
	if err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	out := &Planned{Makespan: spanOf(s.Makespan), Path: spanOf(bounds.Path), Work: spanOf(bounds.Work), Rule: rule}
	for i := range w.Tasks {
		at := s.Placements[i]
		t := PlannedTask{Name: w.Tasks[i].Name, Site: places[at.Executor].Name, Way: at.Configuration, Start: spanOf(at.Start), End: spanOf(at.End)}
		if ways := w.Tasks[i].Configurations; len(ways) > 0 {
			t.Named = ways[at.Configuration].Name
		}
		out.Tasks = append(out.Tasks, t)
	}
	return out, nil
}

// unfit says of the first task that is still to run and for which no place is large enough what it lacks.
func (w *Workflow) unfit(places []Place, progress []Progress) error {
	for i := range w.Tasks {
		if i < len(progress) && (progress[i].Done || progress[i].Runs) {
			continue
		}
		var lacks error
		for _, way := range w.Tasks[i].Ways() {
			if lacks = way.lacks(places); lacks == nil {
				break
			}
		}
		if lacks != nil {
			return w.Mistake(TaskPath(i, ""), "task %s fits no site: %v", w.Tasks[i].Name, lacks)
		}
	}
	return nil
}

// lacks tells what no single place has for a configuration; nil if one has it all.
func (c *Configuration) lacks(places []Place) error {
	var why error
	most := 0
	for i := range places {
		p := &places[i]
		short := slices.IndexFunc(c.Resources, func(r grid.Resource) bool { return r.Amount > int64(p.has(r.Name).Most) })
		switch most = max(most, p.Cores); {
		case c.Cores <= p.Cores && short < 0:
			return nil
		case short >= 0 && c.Cores <= p.Cores:
			r := c.Resources[short]
			why = fmt.Errorf("it asks for %d of %s, and the sites with %d cores have no such amount of it", r.Amount, r.Name, max(c.Cores, 1))
		}
	}
	if why == nil {
		why = fmt.Errorf("it asks for %d cores, and the largest has %d", c.Cores, most)
	}
	return why
}

// bounds are those of any run in which each task takes what it says, or the least that such tasks took. What is only guessed is left out: the time of a
// task that says none, what runs now, what sites take beside a run. And a site may have more of a resource than it was asked about.
func (w *Workflow) bounds(places []Place, progress []Progress) (flow.Bounds, error) {
	places = AtMost(places, w.Amounts())
	for i := range places {
		places[i].Overhead = 0
	}
	sure := make([]Progress, len(w.Tasks))
	copy(sure, progress)
	for i := range sure {
		s := &sure[i]
		s.Left, s.Needs = 0, nil
		for k, way := range w.Tasks[i].Ways() {
			least := way.Runtime
			if k < len(s.Least) && s.Least[k] > 0 {
				least = s.Least[k]
			}
			s.Needs = append(s.Needs, max(least, 1)) // 0 would be what is guessed
		}
	}
	return flow.LowerBounds(w.Graph(places, sure))
}

func spanOf(t flow.Time) time.Duration { return time.Duration(t) * time.Microsecond }
