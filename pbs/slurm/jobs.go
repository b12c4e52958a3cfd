package slurm

import (
	"bytes"
	"cmp"
	"encoding/json"
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
	ID           amount  `json:"job_id"`
	ArrayID      int64   `json:"array_job_id"`
	ArrayTask    amount  `json:"array_task_id"`
	ArrayMost    amount  `json:"array_max_tasks"`
	ArrayTasks   string  `json:"array_task_string"` // those that wait
	Account      string  `json:"account"`
	QOS          string  `json:"qos"`
	Name         *string `json:"name"`
	Comment      string  `json:"comment"`
	User         *string `json:"user_name"`
	Partition    *string `json:"partition"`
	State        *string `json:"job_state"`
	Reason       string  `json:"state_reason"`
	Exit         amount  `json:"exit_code"`
	Restarts     amount  `json:"restart_cnt"`
	Priority     amount  `json:"priority"`
	Limit        amount  `json:"time_limit"` // minutes; null is none
	Submitted    int64   `json:"submit_time"`
	Started      int64   `json:"start_time"`
	Ended        int64   `json:"end_time"`
	Nodes        *string `json:"nodes"`
	NodeCount    amount  `json:"node_count"`
	MostNodes    amount  `json:"max_nodes"`
	CPUs         amount  `json:"cpus"`
	Tasks        amount  `json:"tasks"`
	TasksPerNode amount  `json:"tasks_per_node"`
	CPUsPerTask  amount  `json:"cpus_per_task"`
	NodeMemory   amount  `json:"memory_per_node"`
	CPUMemory    amount  `json:"memory_per_cpu"`
	TRESPerNode  string  `json:"tres_per_node"`
	Features     string  `json:"features"`
	Shared       *string `json:"shared"`
	Reservation  string  `json:"resv_name"`
	// GresDetail is what it has on each of its nodes, in their order.
	GresDetail json.RawMessage `json:"gres_detail"`
	Resources  struct {
		Places json.RawMessage `json:"allocated_nodes"`
	} `json:"job_resources"`
}

// parseQueue reads squeue --json. Cores of places are physical ones: see Listing.
func parseQueue(text []byte) (jobs []external.Job, release string, err error) {
	jobs = make([]external.Job, 0, room(text, `"job_id"`, 130))
	all, odd := bytes.Count(text, []byte(`"job_id"`)), 0
	release, err = records(text, "jobs", maxJobs, func(r *jobRecord) error {
		if err := r.form(); err != nil {
			return err
		}
		job, err := r.job()
		if err != nil {
			odd++
			job, err = r.odd(err), external.Misread(odd, all, err)
		}
		jobs = append(jobs, job)
		return err
	})
	return jobs, release, err
}

// odd is a job that cannot be read: of no known state, on the nodes that it has as far as they can be read. Whose it is every record tells.
func (r *jobRecord) odd(why error) external.Job {
	job := external.Job{Local: r.local(), State: external.Odd, Limit: unlimited, Reason: fmt.Sprintf("not understood: %.200v", why),
		Name: (*r.Name)[:min(len(*r.Name), maxText)], Mark: r.Comment[:min(len(r.Comment), maxText)], User: (*r.User)[:min(len(*r.User), maxName)]}
	if r.Limit.n >= 0 && r.Limit.n <= 1<<40 {
		job.Limit = minutes(r.Limit)
	}
	if states[*r.State] == external.Done {
		return job
	}
	if places, err := r.places(); err == nil && len(places) > 0 && r.Started >= 0 && r.Started <= 1<<40 {
		job.Places, job.Started = places, seconds(r.Started)
	}
	return job
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
		Priority: r.Priority.n, Reservation: r.Reservation, Reason: said(r.Reason), Limit: minutes(r.Limit),
		Account: r.Account, QOS: r.QOS, More: max(0, tasks(r.ArrayTasks)-1), Throttle: r.ArrayMost.n,
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
		wait := r.Exit.n
		job.Finished = seconds(r.Ended)
		job.End = endOf(*r.State, r.Reason, int(wait>>8&255), int(wait&127))
		job.Usage.Wall = max(0, job.Finished-job.Started)
	}
	fresh := r.Restarts.n == 0 && *r.Nodes == ""
	job.NeverStarted = fresh && (*r.State == "PENDING" || *r.State == "CANCELLED" && r.Started == r.Ended)
	return job, nil
}

// local is how commands call the job: a task of an array by the array's.
func (r *jobRecord) local() grid.LocalID {
	if r.ArrayTask.there && r.ArrayID > 0 {
		return grid.LocalID(strconv.FormatInt(r.ArrayID, 10) + "_" + strconv.FormatInt(r.ArrayTask.n, 10))
	}
	return grid.LocalID(strconv.FormatInt(r.ID.n, 10))
}

// form says why a record is none of a job: it is of another version, and nothing is known then.
func (r *jobRecord) form() error {
	switch {
	case !r.ID.there, r.Name == nil, r.User == nil, r.Partition == nil, r.State == nil, !r.Exit.there,
		!r.Restarts.there, r.Nodes == nil, !r.NodeCount.there:
		return fmt.Errorf("a job without one of job_id, name, user_name, partition, job_state, exit_code, restart_cnt, nodes, node_count")
	case r.ID.n < 1, max(r.ID.n, r.ArrayID, r.ArrayTask.n) > 1<<32, min(r.ArrayID, r.ArrayTask.n) < 0:
		return fmt.Errorf("job_id %d, array_job_id %d, array_task_id %d", r.ID.n, r.ArrayID, r.ArrayTask.n)
	}
	return nil
}

// check bounds what it says.
func (r *jobRecord) check() error {
	for _, n := range []int64{r.Exit.n, r.Restarts.n, r.Priority.n, r.NodeCount.n,
		r.MostNodes.n, r.ArrayMost.n, r.CPUs.n, r.Tasks.n, r.TasksPerNode.n, r.CPUsPerTask.n} {
		if n < 0 || n > 1<<32 {
			return fmt.Errorf("job %d: the number %d", r.ID.n, n)
		}
	}
	for _, n := range []int64{r.Submitted, r.Started, r.Ended, r.Limit.n, r.NodeMemory.n, r.CPUMemory.n} {
		if n < 0 || n > 1<<40 {
			return fmt.Errorf("job %d: the number %d", r.ID.n, n)
		}
	}
	for _, s := range []string{*r.User, *r.Partition, r.Reservation, r.Account, r.QOS} {
		if len(s) > maxName {
			return fmt.Errorf("job %d: a name of %d characters", r.ID.n, len(s))
		}
	}
	if len(*r.Name) > maxText || len(r.Comment) > maxText || len(r.Reason) > maxText || len(r.Features) > maxText || len(r.ArrayTasks) > maxText {
		return fmt.Errorf("job %d: a text of more than %d characters", r.ID.n, maxText)
	}
	return nil
}

func (r *jobRecord) shape() shape {
	return shape{
		nodes: int(r.NodeCount.n), most: int(r.MostNodes.n),
		cpus: int(max(r.CPUs.n, r.Tasks.n*max(1, r.CPUsPerTask.n))), tasks: int(r.Tasks.n),
		perTask: int(r.CPUsPerTask.n), perNode: int(r.TasksPerNode.n),
		nodeMem: r.NodeMemory.n, cpuMem: r.CPUMemory.n,
		gres: r.TRESPerNode, features: r.Features, exclusive: r.Shared != nil && *r.Shared == "none",
	}
}

// places are the nodes of a job.
type places []external.Place

// UnmarshalJSON reads one after the other.
func (p *places) UnmarshalJSON(text []byte) error {
	list := make(places, 0, room(text, `"nodename"`, 50))
	dec := json.NewDecoder(bytes.NewReader(text))
	type part struct {
		Node   string `json:"nodename"`
		Cores  cores  `json:"sockets"`
		Memory int64  `json:"memory_allocated"` // MiB
	}
	err := members(dec, maxNodes, func(n *part) error {
		if n.Node == "" || len(n.Node) > maxName || !n.Cores.there || n.Memory < 0 || n.Memory > 1<<40 {
			return fmt.Errorf("the node %.40q lacks something", n.Node)
		}
		list = append(list, external.Place{Node: grid.NodeName(n.Node), Cores: n.Cores.n, Memory: n.Memory << 20})
		return nil
	})
	*p = list
	return err
}

func (r *jobRecord) places() ([]external.Place, error) {
	var list places
	if text := r.Resources.Places; len(text) > 0 {
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("job %d: allocated_nodes: %w", r.ID.n, err)
		}
	}
	details, err := r.details(len(list))
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Processes = max(1, list[i].Cores/int(max(1, r.CPUsPerTask.n)))
		if i < len(details) {
			if list[i].Resources, err = gres(details[i]); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// details are the generic resources on each of its nodes, in their order; none is none.
func (r *jobRecord) details(nodes int) (out []string, err error) {
	if len(r.GresDetail) <= len("[]") {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(r.GresDetail))
	err = members(dec, nodes, func(text *string) error {
		out = append(out, *text)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("job %d: gres_detail: %w", r.ID.n, err)
	}
	return out, nil
}

// byTurn orders waiting jobs as the scheduler takes them, by priority, then by age; all
// others come first, as they are.
func byTurn(jobs []external.Job) {
	waits := func(j external.Job) int {
		if j.State == external.Queued || j.State == external.Held {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(jobs, func(a, b external.Job) int {
		if order := cmp.Compare(waits(a), waits(b)); order != 0 || waits(a) == 0 {
			return order
		}
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Submitted, b.Submitted),
			cmp.Compare(len(a.Local), len(b.Local)), cmp.Compare(a.Local, b.Local))
	})
}

func seconds(s int64) grid.Tick { return grid.Tick(s) * grid.Second }

// unlimited is what the scheduler plans for a job without a limit.
const unlimited = 365 * grid.Day

func minutes(m amount) grid.Tick {
	if !m.there {
		return unlimited
	}
	return min(grid.Tick(m.n)*grid.Minute, 100*unlimited)
}

// said is a reason, "" where there is none.
func said(reason string) string {
	if reason == "None" {
		return ""
	}
	return reason
}
