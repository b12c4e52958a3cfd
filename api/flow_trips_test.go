package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/grid"
)

// flowsOf notes what is asked of it about workflows.
type flowsOf struct {
	asked []string
	state string
	again bool
	needs api.FlowNeeds
	fail  error
}

func (f *flowsOf) ask(what string) (api.FlowStatus, error) {
	f.asked = append(f.asked, what)
	return api.FlowStatus{ID: flowID, Name: "w", State: f.state}, f.fail
}

func (f *flowsOf) SubmitFlow(_ context.Context, _ api.Identity, s api.FlowSubmission) (api.FlowStatus, bool, error) {
	v, err := f.ask("submit " + s.Name + " " + s.Tasks[0].Name)
	return v, f.again, err
}
func (f *flowsOf) UploadFlow(_ context.Context, _ api.Identity, _ api.FlowID, path string, body io.Reader) error {
	b, err := io.ReadAll(body)
	_, failed := f.ask("upload " + path + " " + string(b))
	return errors.Join(err, failed)
}
func (f *flowsOf) StartFlow(context.Context, api.Identity, api.FlowID) (api.FlowStatus, error) {
	return f.ask("start")
}
func (f *flowsOf) Flow(context.Context, api.Identity, api.FlowID) (api.FlowStatus, error) {
	return f.ask("one")
}
func (f *flowsOf) Flows(context.Context, api.Identity) ([]api.FlowStatus, error) {
	v, err := f.ask("all")
	return []api.FlowStatus{v}, err
}
func (f *flowsOf) WaitFlow(context.Context, api.Identity, api.FlowID) (api.FlowStatus, error) {
	return f.ask("wait")
}
func (f *flowsOf) CancelFlow(context.Context, api.Identity, api.FlowID) (api.FlowStatus, error) {
	return f.ask("cancel")
}
func (f *flowsOf) ResumeFlow(context.Context, api.Identity, api.FlowID) (api.FlowStatus, error) {
	return f.ask("resume")
}
func (f *flowsOf) RemoveFlow(context.Context, api.Identity, api.FlowID) error {
	_, err := f.ask("remove")
	return err
}
func (f *flowsOf) PlacesFlow(_ context.Context, _ api.Identity, needs api.FlowNeeds) ([]workflow.Place, error) {
	f.needs = needs
	_, err := f.ask("places")
	return []workflow.Place{{Name: "here", Cores: 4}}, err
}

var flowID = api.NewFlowID("here", "01ARZ3NDEKTSV4RRFFQ69G5FAV")

// What is asked about a workflow reaches the broker as it was said, its answer and its refusal come back.
func TestWorkflowsFromTheClientAndBack(t *testing.T) {
	t.Parallel()
	f := &flowsOf{state: "coming"}
	_, _, c := serve(t, api.Config{Flows: f})
	ctx := t.Context()
	sub := api.FlowSubmission{Key: "key-of-a-flow", Name: "w", Tasks: []api.FlowTask{{Name: "a", Document: plain}}, Files: []api.File{{Path: "x", Size: 1, Mode: 0o644}}}
	made, err := c.SubmitFlow(ctx, sub)
	if err != nil || made.ID != flowID || made.Again || len(made.Wanted) != 1 || made.Wanted[0].Path != "x" {
		t.Errorf("made %+v, %v", made, err)
	}
	f.state, f.again = "running", true
	if made, err := c.SubmitFlow(ctx, sub); err != nil || !made.Again || len(made.Wanted) != 0 {
		t.Errorf("again %+v, %v", made, err)
	}
	for name, change := range map[string]func(s *api.FlowSubmission){
		"no key": func(s *api.FlowSubmission) { s.Key = "" }, "a path": func(s *api.FlowSubmission) { s.Files = []api.File{{Path: "../x"}} },
		"a size": func(s *api.FlowSubmission) { s.Files = []api.File{{Path: "x", Size: -1}} }, "a mode": func(s *api.FlowSubmission) { s.Files = []api.File{{Path: "x", Mode: 0o1000}} },
	} {
		s := sub
		if change(&s); true {
			if _, err := c.SubmitFlow(ctx, s); !errors.Is(err, grid.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	f.asked = nil
	status := func(s api.FlowStatus, err error) error {
		if err == nil && (s.ID != flowID || s.State != "running") {
			err = fmt.Errorf("told is %+v", s)
		}
		return err
	}
	calls := []struct {
		want string
		ask  func() error
	}{
		{"upload d/x y", func() error { return c.UploadFlow(ctx, flowID, "d/x", 1, strings.NewReader("y")) }},
		{"start", func() error { return status(c.StartFlow(ctx, flowID)) }},
		{"one", func() error { return status(c.Flow(ctx, flowID)) }},
		{"all", func() error { l, err := c.Flows(ctx); return status(append(l, api.FlowStatus{})[0], err) }},
		{"wait", func() error { return status(c.WaitFlow(ctx, flowID)) }},
		{"cancel", func() error { return status(c.CancelFlow(ctx, flowID)) }},
		{"resume", func() error { return status(c.ResumeFlow(ctx, flowID)) }},
		{"remove", func() error { return c.RemoveFlow(ctx, flowID) }},
		{"places", func() error {
			list, err := c.FlowPlaces(ctx, api.FlowNeeds{Cores: []int{2}, Tasks: []grid.Demand{{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 3, Memory: 5}}}}})
			if err == nil && (len(list) != 1 || list[0].Cores != 4 || !slices.Equal(f.needs.Cores, []int{2}) || len(f.needs.Tasks) != 1 || f.needs.Tasks[0].Chunks[0].Memory != 5) {
				err = fmt.Errorf("told is %+v of %+v", list, f.needs)
			}
			return err
		}},
	}
	var want []string
	for _, k := range calls {
		if want = append(want, k.want); k.ask() != nil {
			t.Errorf("%s: %v", k.want, k.ask())
		}
	}
	if !slices.Equal(f.asked, want) {
		t.Errorf("asked is %q, want %q", f.asked, want)
	}
	f.fail = fmt.Errorf("%w: it is another's", grid.ErrForbidden)
	for _, k := range calls {
		if err := k.ask(); !errors.Is(err, grid.ErrForbidden) {
			t.Errorf("%s that is refused: %v", k.want, err)
		}
	}
	for name, ask := range map[string]func(id api.FlowID) error{
		"one":    func(id api.FlowID) error { _, err := c.Flow(ctx, id); return err },
		"wait":   func(id api.FlowID) error { _, err := c.WaitFlow(ctx, id); return err },
		"remove": func(id api.FlowID) error { return c.RemoveFlow(ctx, id) },
		"upload": func(id api.FlowID) error { return c.UploadFlow(ctx, id, "x", 1, strings.NewReader("y")) },
	} {
		if err := ask("nonsense"); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s of a name that is none: %v", name, err)
		}
	}
}

// Bounds of what is asked about places, each with one beyond.
func TestWhatIsAskedAboutPlaces(t *testing.T) {
	t.Parallel()
	f := &flowsOf{}
	_, s, _ := serve(t, api.Config{Flows: f})
	for query, fine := range map[string]bool{
		"": true, "cores=1": true, fmt.Sprint("cores=", grid.MaxProcesses): true, "cores=0": false, fmt.Sprint("cores=", grid.MaxProcesses+1): false, "cores=x": false,
		strings.Repeat("cores=1&", 32): true, strings.Repeat("cores=1&", 33): false,
		`task={"cores":1}`: true, `task={"cores":0}`: false, `task={"cores":1,"memory":-1}`: false, fmt.Sprintf(`task={"cores":1,"memory":%d}`, grid.MaxMemory): true,
		fmt.Sprintf(`task={"cores":1,"memory":%d}`, grid.MaxMemory+1): false, "task=x": false, strings.Repeat(`task={"cores":1}&`, 32): true, strings.Repeat(`task={"cores":1}&`, 33): false,
	} {
		status, fault := raw(t, s.Addresses()[0], nil, "GET", "/v1/flows/places?"+strings.ReplaceAll(query, `"`, "%22"), "")
		if (status == 200) != fine {
			t.Errorf("%.60s: %d, %+v", query, status, fault)
		}
	}
}

// Tasks of a workflow need what makes their files, or what they come after; what has no order, two makers or no name is refused.
func TestWhatTasksNeedOfEachOther(t *testing.T) {
	t.Parallel()
	task := func(name, from, to string, after ...string) api.FlowTask {
		staging := ""
		if from != "" {
			staging += "<DataStaging><FileName>in</FileName><CreationFlag>overwrite</CreationFlag><Source><URI>" + from + "</URI></Source></DataStaging>"
		}
		if to != "" {
			staging += "<DataStaging><FileName>out</FileName><CreationFlag>overwrite</CreationFlag><Target><URI>" + to + "</URI></Target></DataStaging>"
		}
		return api.FlowTask{Name: name, Document: fmt.Sprintf(document, staging), After: after}
	}
	flow := func(tasks ...api.FlowTask) api.FlowSubmission {
		return api.FlowSubmission{Tasks: tasks, Files: []api.File{{Path: "given", Size: 3}}}
	}
	s := flow(task("a", "given", "x"), task("b", "x", "y"), task("c", "", "", "b", "a"), task("d", "y", "", "b"))
	parts, err := s.Parts(grid.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int{nil, {0}, {0, 1}, {1}} {
		if !slices.Equal(parts[i].Needs, want) {
			t.Errorf("task %s needs %v, want %v", parts[i].Name, parts[i].Needs, want)
		}
	}
	if parts[1].Maker["x"] != 0 || len(parts[0].Maker) > 0 {
		t.Errorf("makers are %v, %v", parts[1].Maker, parts[0].Maker)
	}
	w := api.Workflow("w", parts, func(task int, file string) int64 { return int64(10*task + len(file)) })
	if len(w.Tasks) != 4 || w.Tasks[0].Inputs[0].Size != 3 || w.Tasks[1].Outputs[2].Size != 11 || !slices.Equal(w.Tasks[2].After, []string{"b", "a"}) {
		t.Errorf("planned is %+v", w.Tasks)
	}
	many := make([]api.FlowTask, api.MaxFlowTasks+1)
	for says, bad := range map[string]api.FlowSubmission{
		"0 tasks":             flow(),
		"1001 tasks":          {Tasks: many},
		"retries":             {Tasks: []api.FlowTask{task("a", "", "")}, Retries: -1},
		"at most 100 retries": {Tasks: []api.FlowTask{task("a", "", "")}, Retries: 101},
		"that of two tasks":   flow(task("a", "", ""), task("a", "", "")),
		"is empty, too long":  flow(task("", "", "")),
		"several tasks leave": flow(task("a", "", "x"), task("b", "", "x"), task("c", "x", "")),
		"no other task":       flow(task("a", "", "", "a")),
		`after "z"`:           flow(task("a", "", "", "z")),
		"needs itself":        flow(task("a", "y", "x"), task("b", "x", "y")),
		"periodic":            {Tasks: []api.FlowTask{task("a", "", "")}, Periodic: &api.FlowPeriodic{Rate: -1}},
		"from no other":       {Tasks: []api.FlowTask{task("a", "", "")}, Periodic: &api.FlowPeriodic{Rate: 1, PerS: 60, DeadlineS: 60}, Resumes: flowID},
		"a name of its own":   {Tasks: []api.FlowTask{task("a", "", "f")}, Periodic: &api.FlowPeriodic{Folder: "in", As: "f", DeadlineS: 60}},
	} {
		if _, err := bad.Parts(grid.Hour); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}
