package api

import (
	"fmt"
	"slices"
	"strings"

	"gbroker/api/workflow"
	"gbroker/flow/enact"
	"gbroker/grid"
	"gbroker/jsdl"
)

// FlowID is SITE.ULID.flow: a workflow, and its home.
type FlowID string

// FlowSuffix ends the identifier of a workflow.
const FlowSuffix = ".flow"

// NewFlowID joins the parts of an identifier.
func NewFlowID(home grid.SiteName, ulid string) FlowID {
	return FlowID(string(home) + "." + ulid + FlowSuffix)
}

// ParseFlowID checks s to be SITE.ULID.flow.
func ParseFlowID(s string) (FlowID, error) {
	stem, is := strings.CutSuffix(s, FlowSuffix)
	if id, err := grid.ParseJobID(stem); !is || err != nil || strings.Count(string(id), ".") != 1 {
		return "", fmt.Errorf("%.80q is no identifier of a workflow: it looks like SITE.01ABCDEFGHJKMNPQRSTVWXYZ00.flow: %w", s, grid.ErrInvalid)
	}
	return FlowID(s), nil
}

// Bounds of a workflow that is handed in.
const (
	MaxFlowTasks   = 1000
	maxFlowRetries = 100
)

// FlowSubmission is what POST /v1/flows takes.
type FlowSubmission struct {
	Key     string     `json:"key"`
	Name    string     `json:"name"`
	Retries int        `json:"retries"` // of a rerunnable task that has failed
	Tasks   []FlowTask `json:"tasks"`
	Files   []File     `json:"files"` // beside the workflow: those that its tasks need and no task makes
	// QueueAnyway: it is taken though no known site could ever run one of its tasks.
	QueueAnyway bool `json:"queue_anyway,omitempty"`
	// Resumes is a workflow of this home that has ended: what is as it was there is not run again.
	Resumes FlowID `json:"resumes,omitempty"`
	// Periodic runs it again and again; null runs it once.
	Periodic *FlowPeriodic `json:"periodic,omitempty"`
}

// FlowPeriodic is how often a workflow runs; see workflow.Periodic.
type FlowPeriodic struct {
	Rate      int64   `json:"rate"`
	PerS      float64 `json:"per_s"`
	Count     int     `json:"count"` // 0: until it is cancelled
	DeadlineS float64 `json:"deadline_s"`
	Folder    string  `json:"folder,omitempty"` // that is watched, in place of a rate
	As        string  `json:"as,omitempty"`
	Reserve   bool    `json:"reserve,omitempty"` // the slots of its instances
}

// Every is what it says.
func (p *FlowPeriodic) Every() workflow.Periodic {
	return workflow.Periodic{Rate: p.Rate, Per: seconds(p.PerS), Count: p.Count, Deadline: seconds(p.DeadlineS), Folder: p.Folder, As: p.As, Reserve: p.Reserve}
}

// FlowPeriods is how a periodic workflow is: instances that have begun, that are under way, have ended well or not, periods that
// were missed, instances that ended after their deadline, and the ages of what the last thousand left: from the beginning of an instance to its end.
type FlowPeriods struct {
	Begun    int     `json:"begun"`
	Open     int     `json:"open"`
	Done     int     `json:"done"`
	Failed   int     `json:"failed"`
	Missed   int     `json:"missed"`
	Late     int     `json:"late"`
	AgeP50S  float64 `json:"age_p50_s"`
	AgeP99S  float64 `json:"age_p99_s"`
	AgeMostS float64 `json:"age_most_s"`
	// Reserved is how many slots of tasks were, and Unreserved why the last that was asked for and refused was not.
	Reserved   int    `json:"reserved,omitempty"`
	Unreserved string `json:"unreserved,omitempty"`
	Waits      string `json:"waits,omitempty"` // why no instance begins though files have appeared, or the folder cannot be read
}

// FlowTask is one job of a workflow. A Source in its document is the Target of another task, or one of the files.
type FlowTask struct {
	Name       string           `json:"name"`
	Document   string           `json:"document"` // JSDL
	Rerunnable bool             `json:"rerunnable"`
	After      []string         `json:"after,omitempty"`     // an order without data
	RuntimeS   float64          `json:"runtime_s,omitempty"` // about, at speed 1
	Sizes      map[string]int64 `json:"sizes,omitempty"`     // of what it leaves, about
	// Configuration is the name of the way to run it that Document and RuntimeS say; Others are its other ways, with the same files.
	Configuration string              `json:"configuration,omitempty"`
	Others        []FlowConfiguration `json:"others,omitempty"`
}

// FlowConfiguration is a way to run a task.
type FlowConfiguration struct {
	Name     string  `json:"name"`
	Document string  `json:"document"`
	RuntimeS float64 `json:"runtime_s,omitempty"`
}

// FlowPart is a task as its document says it, and where its files come from.
type FlowPart struct {
	FlowTask
	Job     grid.Job // in its first configuration; files are the same in all
	Uploads []jsdl.Upload
	Maker   map[string]int // by the From of an upload: the task that makes it
	Needs   []int          // tasks before it, by data or order
	Ways    []FlowWay      // its configurations, one at least
}

// Parts reads all tasks, and finds who needs what of whom.
func (s *FlowSubmission) Parts(walltime grid.Tick) ([]FlowPart, error) {
	list, err := s.KeptParts(walltime)
	if err == nil {
		err = checkWays(list)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// KeptParts are the parts of a workflow that was taken before, maybe where its configurations were not bounded.
func (s *FlowSubmission) KeptParts(walltime grid.Tick) ([]FlowPart, error) {
	if len(s.Tasks) < 1 || len(s.Tasks) > MaxFlowTasks || s.Retries < 0 || s.Retries > maxFlowRetries {
		return nil, fmt.Errorf("%w: a workflow of %d tasks and %d retries: 1 to %d tasks, at most %d retries", grid.ErrInvalid, len(s.Tasks), s.Retries, MaxFlowTasks, maxFlowRetries)
	}
	if s.Periodic != nil {
		every := s.Periodic.Every()
		if err := every.Check(); err != nil {
			return nil, fmt.Errorf("%w: periodic: %w", grid.ErrInvalid, err)
		}
		if s.Resumes != "" {
			return nil, fmt.Errorf("%w: a periodic workflow goes on from no other", grid.ErrInvalid)
		}
	}
	made, twice, err := s.made()
	if err != nil {
		return nil, err
	}
	known, err := s.beside(made)
	if err != nil {
		return nil, err
	}
	list := make([]FlowPart, len(s.Tasks))
	for i, t := range s.Tasks {
		p := FlowPart{FlowTask: t, Maker: map[string]int{}}
		beside := func(path string) (int64, uint32, error) {
			if k, is := made[path]; is && k != i {
				return 0, 0o755, nil
			}
			return known(path)
		}
		if p.Job, p.Uploads, err = jobOf(t.Name, []byte(t.Document), beside, t.Rerunnable, walltime); err != nil {
			return nil, fmt.Errorf("task %s: %w", t.Name, err)
		}
		if err := p.readWays(beside, walltime); err != nil {
			return nil, fmt.Errorf("task %s: %w", t.Name, err)
		}
		p.Rerunnable = p.Job.Rerunnable
		for _, u := range p.Uploads {
			if k, is := made[u.From]; is && k != i {
				if twice[u.From] {
					return nil, fmt.Errorf("%w: task %s needs %s, which several tasks leave", grid.ErrInvalid, t.Name, u.From)
				}
				p.Maker[u.From] = k
				p.Needs = append(p.Needs, k)
			}
		}
		for _, name := range t.After {
			k := slices.IndexFunc(s.Tasks, func(o FlowTask) bool { return o.Name == name })
			if k < 0 || k == i {
				return nil, fmt.Errorf("%w: task %s comes after %q, which is no other task", grid.ErrInvalid, t.Name, name)
			}
			p.Needs = append(p.Needs, k)
		}
		slices.Sort(p.Needs)
		p.Needs = slices.Compact(p.Needs)
		list[i] = p
	}
	return list, s.acyclic(list)
}

// beside are the files that come with a workflow, or by its folder.
func (s *FlowSubmission) beside(made map[string]int) (jsdl.Beside, error) {
	known := besideOf(s.Files)
	if s.Periodic == nil || s.Periodic.As == "" {
		return known, nil
	}
	as := s.Periodic.As
	if _, is := made[as]; is || slices.ContainsFunc(s.Files, func(f File) bool { return f.Path == as }) {
		return nil, fmt.Errorf("%w: what appears in the folder %s is known as %s, which a task leaves or which comes with the workflow: give it a name of its own", grid.ErrInvalid, s.Periodic.Folder, as)
	}
	return func(path string) (int64, uint32, error) {
		if path == as {
			return 0, 0o644, nil
		}
		return known(path)
	}, nil
}

// made are the tasks by what they leave; twice has what several leave.
func (s *FlowSubmission) made() (made map[string]int, twice map[string]bool, err error) {
	made, twice = map[string]int{}, map[string]bool{}
	names := map[string]bool{}
	for i, t := range s.Tasks {
		if t.Name == "" || names[t.Name] || len(t.Name) > grid.MaxPath {
			return nil, nil, fmt.Errorf("%w: the name %.80q is empty, too long or that of two tasks", grid.ErrInvalid, t.Name)
		}
		names[t.Name] = true
		d, err := jsdl.Parse(t.Name, []byte(t.Document))
		if err != nil {
			return nil, nil, fmt.Errorf("task %s: %w", t.Name, err)
		}
		for _, f := range d.Staging {
			if f.Target == "" {
				continue
			}
			if k, is := made[f.Target]; is && k != i {
				twice[f.Target] = true
			}
			made[f.Target] = i
		}
	}
	return made, twice, nil
}

func (s *FlowSubmission) acyclic(list []FlowPart) error {
	done := make([]bool, len(list))
	for left, moved := len(list), true; left > 0; {
		if !moved {
			k := slices.Index(done, false)
			return fmt.Errorf("%w: task %s needs itself, by way of others", grid.ErrInvalid, list[k].Name)
		}
		moved = false
		for i := range list {
			if !done[i] && !slices.ContainsFunc(list[i].Needs, func(k int) bool { return !done[k] }) {
				done[i], moved, left = true, true, left-1
			}
		}
	}
	return nil
}

// FlowStatus is how a workflow is.
type FlowStatus struct {
	ID        FlowID         `json:"id"`
	Name      string         `json:"name"`
	User      string         `json:"user"`
	State     string         `json:"state"` // coming (its files), running, ended
	Cancelled bool           `json:"cancelled"`
	Run       int            `json:"run"`    // from 1: how often it was begun
	States    map[string]int `json:"states"` // tasks by state
	Submitted Time           `json:"submitted"`
	Begun     Time           `json:"begun"` // of this run
	Ended     Time           `json:"ended"`
	PlannedS  float64        `json:"planned_s"`         // makespan of this run, as it was planned first
	BoundS    float64        `json:"bound_s"`           // lower bound of that
	MakespanS float64        `json:"makespan_s"`        // as it was; 0 before the end
	PlansMade int            `json:"plans_made"`        // in this run
	Periods   *FlowPeriods   `json:"periods,omitempty"` // of a periodic one, whose tasks are those of the last instance that ended
	Tasks     []FlowTaskView `json:"tasks,omitempty"`
	Edges     [][2]int       `json:"edges,omitempty"` // from task, to task
}

// Words of tasks of a workflow.
const (
	FlowWaiting   = enact.Waiting
	FlowGiven     = enact.Given
	FlowDone      = enact.Done
	FlowReused    = enact.Reused // done in an earlier run, with the same inputs
	FlowFailed    = enact.Failed
	FlowCancelled = enact.Cancelled // or what it needs has failed
)

// FlowTaskView is how a task is.
type FlowTaskView struct {
	Name    string     `json:"name"`
	State   string     `json:"state"`
	Attempt int        `json:"attempt"` // from 1; 0 before the first
	Job     grid.JobID `json:"job"`
	Site    string     `json:"site"`    // where it runs or ran
	Planned string     `json:"planned"` // site
	// Configuration is how it runs, or is planned to; "" where there is one way only.
	Configuration string `json:"configuration,omitempty"`
	Started       Time   `json:"started"`
	Ended         Time   `json:"ended"`
	Reason        string `json:"reason"`
}

// FlowAccepted is the answer to the submission of a workflow.
type FlowAccepted struct {
	FlowStatus
	Again  bool   `json:"again"`
	Wanted []File `json:"wanted"`
}

// Workflow is the workflow of some parts, as plans are made of it. Sizes are those of the files, what is known of what tasks have
// left, and else what they say.
func Workflow(name string, parts []FlowPart, size func(task int, file string) int64) *workflow.Workflow {
	w := &workflow.Workflow{Name: name}
	for i := range parts {
		p := &parts[i]
		t := workflow.Task{Name: p.Name, Rerunnable: p.Rerunnable}
		for _, way := range p.Ways {
			t.Configurations = append(t.Configurations, way.configuration())
		}
		for _, u := range p.Uploads {
			t.Inputs = append(t.Inputs, workflow.Data{Name: u.From, Size: u.Size})
		}
		for _, o := range p.Job.Outputs {
			if o.Target != "" {
				t.Outputs = append(t.Outputs, workflow.Data{Name: o.Target, Size: size(i, o.Target)})
			}
		}
		t.After = p.After
		w.Tasks = append(w.Tasks, t)
	}
	return w
}
