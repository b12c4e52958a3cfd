package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// jobRecord is a job of squeue --json, as far as it is read. What must be there is a
// pointer. The format is open: Slurm adds members with each version.
type jobRecord struct {
	ID           *int64  `json:"job_id"`
	ArrayID      int64   `json:"array_job_id"`
	ArrayTask    *int64  `json:"array_task_id"`
	Name         *string `json:"name"`
	Comment      string  `json:"comment"`
	User         *string `json:"user_name"`
	Partition    *string `json:"partition"`
	State        *string `json:"job_state"`
	Reason       string  `json:"state_reason"`
	Exit         *int64  `json:"exit_code"`
	Restarts     *int64  `json:"restart_cnt"`
	Priority     *int64  `json:"priority"`
	Limit        *int64  `json:"time_limit"` // minutes; null is none
	Submitted    int64   `json:"submit_time"`
	Started      int64   `json:"start_time"`
	Ended        int64   `json:"end_time"`
	Nodes        *string `json:"nodes"`
	NodeCount    *int64  `json:"node_count"`
	MostNodes    *int64  `json:"max_nodes"`
	CPUs         *int64  `json:"cpus"`
	Tasks        *int64  `json:"tasks"`
	TasksPerNode *int64  `json:"tasks_per_node"`
	CPUsPerTask  *int64  `json:"cpus_per_task"`
	NodeMemory   *int64  `json:"memory_per_node"`
	CPUMemory    *int64  `json:"memory_per_cpu"`
	TRESPerNode  string  `json:"tres_per_node"`
	Features     string  `json:"features"`
	Shared       *string `json:"shared"`
	Reservation  string  `json:"resv_name"`
	// GresDetail is what it has on each of its nodes, in their order.
	GresDetail []string `json:"gres_detail"`
	Resources  *struct {
		Nodes []struct {
			Name   string `json:"nodename"`
			Cores  *cores `json:"sockets"`
			Memory int64  `json:"memory_allocated"` // MiB
		} `json:"allocated_nodes"`
	} `json:"job_resources"`
}

// parseQueue reads squeue --json. Cores of places are physical ones: see Listing.
func parseQueue(text []byte) (jobs []external.Job, release string, err error) {
	release, err = records(text, "jobs", maxJobs, func(r *jobRecord) error {
		job, err := r.job()
		if err == nil {
			jobs = append(jobs, job)
		}
		return err
	})
	return jobs, release, err
}

func (r *jobRecord) job() (external.Job, error) {
	if err := r.check(); err != nil {
		return external.Job{}, err
	}
	state, err := stateOf(*r.State, r.Reason)
	if err != nil {
		return external.Job{}, err
	}
	job := external.Job{
		Local: r.local(), Name: *r.Name, Mark: r.Comment, User: *r.User, State: state,
		OurHold: state == external.Held && r.Reason == "JobHeldUser", Submitted: seconds(r.Submitted),
		Priority: value(r.Priority), Reservation: r.Reservation, Reason: said(r.Reason), Limit: minutes(r.Limit),
	}
	first, _, _ := strings.Cut(*r.Partition, ",")
	job.Queue = grid.QueueName(first)
	if job.Demand, err = r.shape().demand(); err != nil {
		return job, err
	}
	begun := state == external.Running || state == external.Done
	if begun {
		job.Started = seconds(r.Started)
		if job.Places, err = r.places(); err != nil {
			return job, err
		}
	}
	if state == external.Done {
		wait := *r.Exit
		job.Finished = seconds(r.Ended)
		job.End = endOf(*r.State, r.Reason, int(wait>>8&255), int(wait&127))
		job.Usage.Wall = max(0, job.Finished-job.Started)
	}
	fresh := *r.Restarts == 0 && *r.Nodes == ""
	job.NeverStarted = fresh && (*r.State == "PENDING" || *r.State == "CANCELLED" && r.Started == r.Ended)
	return job, nil
}

// local is how commands call the job: a task of an array by the array's.
func (r *jobRecord) local() grid.LocalID {
	if r.ArrayTask != nil && r.ArrayID > 0 {
		return grid.LocalID(strconv.FormatInt(r.ArrayID, 10) + "_" + strconv.FormatInt(*r.ArrayTask, 10))
	}
	return grid.LocalID(strconv.FormatInt(*r.ID, 10))
}

func (r *jobRecord) check() error {
	switch {
	case r.ID == nil, r.Name == nil, r.User == nil, r.Partition == nil, r.State == nil, r.Exit == nil,
		r.Restarts == nil, r.Nodes == nil, r.NodeCount == nil:
		return fmt.Errorf("a job without one of job_id, name, user_name, partition, job_state, exit_code, restart_cnt, nodes, node_count")
	case *r.ID < 1:
		return fmt.Errorf("job_id %d", *r.ID)
	}
	for _, n := range []int64{*r.ID, r.ArrayID, value(r.ArrayTask), *r.Exit, *r.Restarts, value(r.Priority), *r.NodeCount,
		value(r.MostNodes), value(r.CPUs), value(r.Tasks), value(r.TasksPerNode), value(r.CPUsPerTask)} {
		if n < 0 || n > 1<<32 {
			return fmt.Errorf("job %d: the number %d", *r.ID, n)
		}
	}
	for _, n := range []int64{r.Submitted, r.Started, r.Ended, value(r.Limit), value(r.NodeMemory), value(r.CPUMemory)} {
		if n < 0 || n > 1<<40 {
			return fmt.Errorf("job %d: the number %d", *r.ID, n)
		}
	}
	for _, s := range []string{*r.User, *r.Partition, r.Reservation} {
		if len(s) > maxName {
			return fmt.Errorf("job %d: a name of %d characters", *r.ID, len(s))
		}
	}
	if len(*r.Name) > maxText || len(r.Comment) > maxText || len(r.Reason) > maxText || len(r.Features) > maxText {
		return fmt.Errorf("job %d: a text of more than %d characters", *r.ID, maxText)
	}
	return nil
}

func (r *jobRecord) shape() shape {
	return shape{
		nodes: int(*r.NodeCount), most: int(value(r.MostNodes)),
		cpus: int(max(value(r.CPUs), value(r.Tasks)*max(1, value(r.CPUsPerTask)))), tasks: int(value(r.Tasks)),
		perTask: int(value(r.CPUsPerTask)), perNode: int(value(r.TasksPerNode)),
		nodeMem: value(r.NodeMemory), cpuMem: value(r.CPUMemory),
		gres: r.TRESPerNode, features: r.Features, exclusive: r.Shared != nil && *r.Shared == "none",
	}
}

func (r *jobRecord) places() ([]external.Place, error) {
	if r.Resources == nil {
		return nil, nil
	}
	if len(r.Resources.Nodes) > maxNodes {
		return nil, fmt.Errorf("job %d: %w nodes", *r.ID, errTooMany)
	}
	places := make([]external.Place, 0, len(r.Resources.Nodes))
	for i, n := range r.Resources.Nodes {
		if n.Name == "" || len(n.Name) > maxName || n.Cores == nil || n.Memory < 0 || n.Memory > 1<<40 {
			return nil, fmt.Errorf("job %d: its node %d, %.40q, lacks something", *r.ID, i, n.Name)
		}
		place := external.Place{Node: grid.NodeName(n.Name), Cores: int(*n.Cores), Memory: n.Memory << 20}
		place.Processes = max(1, place.Cores/int(max(1, value(r.CPUsPerTask))))
		if i < len(r.GresDetail) {
			var err error
			if place.Resources, err = gres(r.GresDetail[i]); err != nil {
				return nil, err
			}
		}
		places = append(places, place)
	}
	return places, nil
}

// byTurn orders waiting jobs as the scheduler takes them: by priority, then by age.
func byTurn(jobs []external.Job) {
	slices.SortStableFunc(jobs, func(a, b external.Job) int {
		waits := func(j external.Job) bool { return j.State == external.Queued || j.State == external.Held }
		if !waits(a) || !waits(b) {
			return 0
		}
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Submitted, b.Submitted), cmp.Compare(len(a.Local), len(b.Local)), cmp.Compare(a.Local, b.Local))
	})
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func seconds(s int64) grid.Tick { return grid.Tick(s) * grid.Second }

// unlimited is what the scheduler plans for a job without a limit.
const unlimited = 365 * grid.Day

func minutes(m *int64) grid.Tick {
	if m == nil {
		return unlimited
	}
	return min(grid.Tick(*m)*grid.Minute, 100*unlimited)
}

// said is a reason, "" where there is none.
func said(reason string) string {
	if reason == "None" {
		return ""
	}
	return reason
}
