package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"gbroker/api/workflow"
	"gbroker/grid"
)

// FlowService is what the API needs for workflows. Every method checks that a workflow is who's, or that who is an
// administrator.
type FlowService interface {
	// SubmitFlow takes a workflow; it is durable when it returns, and begins once its files are here.
	SubmitFlow(ctx context.Context, who Identity, s FlowSubmission) (f FlowStatus, again bool, err error)
	// UploadFlow takes one of its files, whole.
	UploadFlow(ctx context.Context, who Identity, id FlowID, path string, body io.Reader) error
	// StartFlow begins it: all of its files were sent.
	StartFlow(ctx context.Context, who Identity, id FlowID) (FlowStatus, error)
	// Flow tells how it is; Flows are all that the user may see, without their tasks.
	Flow(ctx context.Context, who Identity, id FlowID) (FlowStatus, error)
	Flows(ctx context.Context, who Identity) ([]FlowStatus, error)
	// WaitFlow returns when it has ended, or ctx is done.
	WaitFlow(ctx context.Context, who Identity, id FlowID) (FlowStatus, error)
	// CancelFlow ends it: what runs is cancelled, and nothing more begins.
	CancelFlow(ctx context.Context, who Identity, id FlowID) (FlowStatus, error)
	// ResumeFlow runs what of an ended one has no valid output.
	ResumeFlow(ctx context.Context, who Identity, id FlowID) (FlowStatus, error)
	// RemoveFlow forgets one that has ended, or has not begun; its jobs stay.
	RemoveFlow(ctx context.Context, who Identity, id FlowID) error
	// PlacesFlow are the sites as a plan sees them, asked when what tasks need could be had.
	PlacesFlow(ctx context.Context, who Identity, needs FlowNeeds) ([]workflow.Place, error)
}

// flows serves workflows.
type flows struct {
	*Server
	service FlowService
}

func (s flows) table() table {
	return table{
		"POST /v1/flows":                     s.submit,
		"GET /v1/flows":                      s.list,
		"GET /v1/flows/places":               s.places,
		"GET /v1/flows/{id}":                 s.on(s.service.Flow),
		"DELETE /v1/flows/{id}":              s.remove,
		"GET /v1/flows/{id}/wait":            s.wait,
		"PUT /v1/flows/{id}/files/{path...}": s.upload,
		"POST /v1/flows/{id}/start":          s.on(s.service.StartFlow),
		"POST /v1/flows/{id}/cancel":         s.on(s.service.CancelFlow),
		"POST /v1/flows/{id}/resume":         s.on(s.service.ResumeFlow),
	}
}

func (s flows) submit(r *request) error {
	var sub FlowSubmission
	if err := s.decode(r, MaxSubmission, func(d *json.Decoder) error { return readFlow(d, &sub) }); err != nil {
		return err
	}
	if err := checkKey(sub.Key); err != nil {
		return err
	}
	for _, f := range sub.Files {
		if err := checkPath(f.Path); err != nil {
			return err
		}
		if f.Size < 0 || f.Size > grid.MaxSandbox || f.Mode > 0o777 {
			return fmt.Errorf("%w: the file %q has %d bytes and mode %o", grid.ErrInvalid, f.Path, f.Size, f.Mode)
		}
	}
	status, again, err := s.service.SubmitFlow(r.Context(), r.who, sub)
	if err != nil {
		return err
	}
	code := http.StatusCreated
	if again {
		code = http.StatusOK
	}
	wanted := sub.Files
	if status.State != "coming" || wanted == nil {
		wanted = []File{}
	}
	s.answer(r.w, code, FlowAccepted{status, again, wanted})
	return nil
}

func (s flows) id(r *request) (FlowID, error) { return ParseFlowID(r.PathValue("id")) }

func (s flows) on(do func(context.Context, Identity, FlowID) (FlowStatus, error)) func(*request) error {
	return func(r *request) error {
		id, err := s.id(r)
		if err != nil {
			return err
		}
		status, err := do(r.Context(), r.who, id)
		if err != nil {
			return err
		}
		s.answer(r.w, http.StatusOK, status)
		return nil
	}
}

func (s flows) remove(r *request) error {
	id, err := s.id(r)
	if err != nil {
		return err
	}
	if err := s.service.RemoveFlow(r.Context(), r.who, id); err != nil {
		return err
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s flows) wait(r *request) error {
	id, err := s.id(r)
	if err != nil {
		return err
	}
	var status FlowStatus
	err = s.patiently(r, s.limits.LongPoll, func(ctx context.Context) (err error) {
		status, err = s.service.WaitFlow(ctx, r.who, id)
		return err
	})
	if err != nil {
		return err
	}
	s.answer(r.w, http.StatusOK, status)
	return nil
}

func (s flows) list(r *request) error {
	list, err := s.service.Flows(r.Context(), r.who)
	if err != nil {
		return err
	}
	s.answer(r.w, http.StatusOK, append([]FlowStatus{}, list...))
	return nil
}

// FlowNeeds is what tasks need.
type FlowNeeds struct {
	Cores    []int         // each number once
	Tasks    []grid.Demand // of those that need more than cores
	Walltime grid.Tick     // 0 is the default
	// Shapes are jobs like those of the tasks, by their shapes.
	Shapes map[string]grid.Job
}

// FlowNeedsOf is what the tasks of a workflow need.
func FlowNeedsOf(w *workflow.Workflow) FlowNeeds {
	n, seen := FlowNeeds{}, map[string]bool{}
	for i := range w.Tasks {
		for _, way := range w.Tasks[i].Ways() {
			n.Cores = append(n.Cores, max(way.Cores, 1))
			need := flowNeed{Cores: max(way.Cores, 1), Memory: way.Memory, Resources: way.Resources}
			if text := fmt.Sprint(need); (need.Memory > 0 || len(need.Resources) > 0) && !seen[text] {
				seen[text] = true
				n.Tasks = append(n.Tasks, need.demand())
			}
		}
	}
	slices.Sort(n.Cores)
	n.Cores = slices.Compact(n.Cores)
	n.Tasks = fewer(n.Tasks)
	return n
}

// fewer has no more demands than are asked about, evenly from the least memory to the most.
func fewer(tasks []grid.Demand) (few []grid.Demand) {
	if len(tasks) <= maxAsked {
		return tasks
	}
	slices.SortFunc(tasks, func(a, b grid.Demand) int { return cmp.Compare(a.Memory(), b.Memory()) })
	for k := range maxAsked {
		few = append(few, tasks[k*(len(tasks)-1)/(maxAsked-1)])
	}
	return few
}

// flowNeed is what one task needs, as it is asked about.
type flowNeed struct {
	Cores     int             `json:"cores"`
	Memory    int64           `json:"memory,omitempty"`
	Resources []grid.Resource `json:"resources,omitempty"`
}

func (n *flowNeed) demand() grid.Demand {
	return grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: n.Cores, Memory: n.Memory, Resources: n.Resources}}}
}

// read takes one from a question.
func (n *flowNeed) read(text string) error {
	if err := json.Unmarshal([]byte(text), n); err != nil {
		return err
	}
	if n.Cores < 1 || n.Cores > grid.MaxProcesses || n.Memory < 0 || n.Memory > grid.MaxMemory {
		return fmt.Errorf("%d cores and %d bytes", n.Cores, n.Memory)
	}
	return grid.CheckResources(n.Resources)
}

// maxAsked bounds the numbers of cores of one question, and the tasks.
const maxAsked = 32

func (s flows) places(r *request) error {
	var needs FlowNeeds
	for _, text := range r.URL.Query()["cores"] {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > grid.MaxProcesses || len(needs.Cores) == maxAsked {
			return fmt.Errorf("%w: cores=%.20q: %d numbers at most, from 1 to %d", grid.ErrInvalid, text, maxAsked, grid.MaxProcesses)
		}
		needs.Cores = append(needs.Cores, n)
	}
	for _, text := range r.URL.Query()["task"] {
		var one flowNeed
		if err := one.read(text); err != nil || len(needs.Tasks) == maxAsked {
			return fmt.Errorf("%w: task=%.80q: %d at most, each with cores, memory and resources (%v)", grid.ErrInvalid, text, maxAsked, err)
		}
		needs.Tasks = append(needs.Tasks, one.demand())
	}
	list, err := s.service.PlacesFlow(r.Context(), r.who, needs)
	if err != nil {
		return err
	}
	s.answer(r.w, http.StatusOK, append([]workflow.Place{}, list...))
	return nil
}

func (s flows) upload(r *request) error {
	id, err := s.id(r)
	if err != nil {
		return err
	}
	path, err := r.path()
	if err != nil {
		return err
	}
	body := &movingReader{Reader: r.Body, moving: moving{set: r.rc.SetReadDeadline, d: s.limits.Stall}}
	if err := s.service.UploadFlow(r.Context(), r.who, id, path, body); err != nil {
		return err
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

// SubmitFlow hands in a workflow.
func (c *Client) SubmitFlow(ctx context.Context, s FlowSubmission) (FlowAccepted, error) {
	if s.Files == nil {
		s.Files = []File{}
	}
	return resend[FlowAccepted](ctx, c, "/v1/flows", s)
}

// UploadFlow sends one of its files.
func (c *Client) UploadFlow(ctx context.Context, id FlowID, path string, size int64, body io.Reader) error {
	return c.put(ctx, flowPath(id)+"/files/"+escaped(path), 0, size, body)
}

// StartFlow tells that all of its files were sent.
func (c *Client) StartFlow(ctx context.Context, id FlowID) (FlowStatus, error) {
	return do[FlowStatus](ctx, c, http.MethodPost, flowPath(id)+"/start")
}

// Flow tells how a workflow is.
func (c *Client) Flow(ctx context.Context, id FlowID) (FlowStatus, error) {
	return do[FlowStatus](ctx, c, http.MethodGet, flowPath(id))
}

// Flows are the user's.
func (c *Client) Flows(ctx context.Context) ([]FlowStatus, error) {
	return do[[]FlowStatus](ctx, c, http.MethodGet, "/v1/flows")
}

// WaitFlow returns once the workflow has ended, or after the broker's long poll.
func (c *Client) WaitFlow(ctx context.Context, id FlowID) (FlowStatus, error) {
	var s FlowStatus
	err := c.do(ctx, http.MethodGet, flowPath(id)+"/wait", nil, &s, c.config.Answer+defaultLimits().LongPoll)
	return s, err
}

// CancelFlow ends a workflow.
func (c *Client) CancelFlow(ctx context.Context, id FlowID) (FlowStatus, error) {
	return do[FlowStatus](ctx, c, http.MethodPost, flowPath(id)+"/cancel")
}

// ResumeFlow runs what of an ended workflow has no valid output.
func (c *Client) ResumeFlow(ctx context.Context, id FlowID) (FlowStatus, error) {
	return do[FlowStatus](ctx, c, http.MethodPost, flowPath(id)+"/resume")
}

// RemoveFlow forgets an ended workflow; its jobs stay.
func (c *Client) RemoveFlow(ctx context.Context, id FlowID) error {
	return c.do(ctx, http.MethodDelete, flowPath(id), nil, nil, c.config.Answer)
}

// FlowPlaces are the sites as the broker plans workflows over them.
func (c *Client) FlowPlaces(ctx context.Context, needs FlowNeeds) ([]workflow.Place, error) {
	query := url.Values{}
	for _, n := range needs.Cores[:min(len(needs.Cores), maxAsked)] {
		query.Add("cores", strconv.Itoa(n))
	}
	for _, d := range needs.Tasks[:min(len(needs.Tasks), maxAsked)] {
		one := flowNeed{d.Cores(), d.Memory(), d.Resources()}
		text, err := json.Marshal(&one)
		if err != nil {
			return nil, fmt.Errorf("asking about %+v: %w", one, err)
		}
		query.Add("task", string(text))
	}
	return do[[]workflow.Place](ctx, c, http.MethodGet, "/v1/flows/places?"+query.Encode())
}

func flowPath(id FlowID) string { return "/v1/flows/" + string(id) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
