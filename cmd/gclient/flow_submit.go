package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/jsdl"
	"gbroker/jsdl/script"
)

// flowSubmission is what the flags of flow submit and flow resume say.
type flowSubmission struct {
	key    string
	wait   bool
	output string
	json   bool
}

func (f *flowSubmission) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.key, "key", "", "submit under this `KEY`: the same key again is the same workflow")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until it has ended")
	cmd.Flags().StringVar(&f.output, "output", "", "wait, and fetch what the last tasks left into a folder of `DIR` each")
	jsonFlag(cmd, &f.json)
}

func (p *program) flowSubmit() *cobra.Command {
	var f flowSubmission
	cmd := &cobra.Command{
		Use:   "submit FILE",
		Short: "Hand in a workflow",
		Long: `Hand in a workflow. The broker is its home: it hands each task in as a job when what the task needs is there, and
takes what earlier tasks left as its input. A rerunnable task that fails is tried again, as often as the file says; then what
needs it is cancelled, and the rest goes on. The identifier of the workflow is printed.`,
		Example: `  gclient flow submit words.yaml
  gclient flow submit words.yaml --output results`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			return handInFlow(cmd, c, args[0], "", &f)
		},
	}
	f.flags(cmd)
	return cmd
}

// handInFlow hands a workflow in, sends its files, and waits if it is to.
func handInFlow(cmd *cobra.Command, c *api.Client, file string, resumes api.FlowID, f *flowSubmission) error {
	w, err := readWorkflow(file)
	if err != nil {
		return err
	}
	folder, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return cli.Exit(cli.No, err)
	}
	defer folder.Close()
	sub, err := submissionOf(w, folder)
	if err != nil {
		return cli.Exit(cli.No, err)
	}
	if sub.Key, sub.Resumes = f.key, resumes; sub.Key == "" {
		sub.Key = rand.Text()
	}
	a, err := c.SubmitFlow(cmd.Context(), sub)
	if err != nil {
		return err
	}
	status := a.FlowStatus
	if len(a.Wanted) > 0 {
		for _, x := range a.Wanted {
			if err := sendFlowFile(cmd, c, folder, a.ID, x); err != nil {
				return fmt.Errorf("the workflow %s is accepted, but lacks files, and does not begin: %w; 'gclient flow submit --key %s %s' sends them again", a.ID, err, sub.Key, file)
			}
		}
		if status, err = c.StartFlow(cmd.Context(), a.ID); err != nil {
			return err
		}
	}
	return followFlow(cmd, c, status, f)
}

// submissionOf makes documents of the tasks, and finds the files beside the workflow.
func submissionOf(w *workflow.Workflow, folder *os.Root) (api.FlowSubmission, error) {
	sub := api.FlowSubmission{Name: w.Name, Retries: w.Retries}
	if e := w.Every; e != nil {
		sub.Periodic = &api.FlowPeriodic{Rate: e.Rate, PerS: e.Per.Seconds(), Count: e.Count, DeadlineS: e.Deadline.Seconds(), Folder: e.Folder, As: e.As, Reserve: e.Reserve}
	}
	made := map[string]bool{}
	for i := range w.Tasks {
		t := &w.Tasks[i]
		one := api.FlowTask{Name: t.Name, Rerunnable: t.Rerunnable, After: t.After, Sizes: map[string]int64{}}
		for k, way := range t.Ways() {
			text, err := documentOf(t, &way, folder)
			if err != nil {
				return sub, fmt.Errorf("task %s: %w", t.Name, err)
			}
			if k == 0 {
				one.Configuration, one.Document, one.RuntimeS = way.Name, string(text), way.Runtime.Seconds()
			} else {
				one.Others = append(one.Others, api.FlowConfiguration{Name: way.Name, Document: string(text), RuntimeS: way.Runtime.Seconds()})
			}
		}
		for _, d := range t.Outputs {
			if d.Size > 0 {
				one.Sizes[d.Name] = d.Size
			}
		}
		d, err := jsdl.Parse(t.Name, []byte(one.Document))
		if err != nil {
			return sub, err
		}
		for _, s := range d.Staging {
			if s.Target != "" {
				made[s.Target] = true
			}
		}
		sub.Tasks = append(sub.Tasks, one)
	}
	if sub.Periodic != nil && sub.Periodic.As != "" {
		made[sub.Periodic.As] = true
	}
	seen := map[string]bool{}
	for i := range sub.Tasks {
		if err := beside(&sub, i, made, seen, folder); err != nil {
			return sub, err
		}
	}
	return sub, nil
}

// beside finds the files that a task needs and no task makes.
func beside(sub *api.FlowSubmission, i int, made, seen map[string]bool, folder *os.Root) error {
	t := &sub.Tasks[i]
	d, err := jsdl.Parse(t.Name, []byte(t.Document))
	if err != nil {
		return err
	}
	stat := func(path string) (int64, uint32, error) {
		info, err := folder.Stat(filepath.FromSlash(path))
		switch {
		case made[path]:
			return 0, 0o755, nil
		case errors.Is(err, fs.ErrNotExist):
			return 0, 0, grid.ErrNotFound
		case err != nil:
			return 0, 0, err
		case !info.Mode().IsRegular():
			return 0, 0, fmt.Errorf("%s is no regular file", path)
		}
		return info.Size(), uint32(info.Mode().Perm()), nil
	}
	uploads, _, err := d.Resolve(stat)
	if err != nil {
		return fmt.Errorf("task %s: %w", t.Name, err)
	}
	for _, u := range uploads {
		if !made[u.From] && !seen[u.From] {
			seen[u.From] = true
			sub.Files = append(sub.Files, api.File{Path: u.From, Size: u.Size, Mode: u.Mode})
		}
	}
	return nil
}

// documentOf is a task in one of its configurations as JSDL: its own document, or that of its script or command with what it needs and leaves.
func documentOf(t *workflow.Task, way *workflow.Configuration, folder *os.Root) ([]byte, error) {
	if t.JSDL != "" {
		return folder.ReadFile(filepath.FromSlash(t.JSDL))
	}
	o := script.Options{Arguments: t.Arguments, Directives: directivesOf(way), Now: time.Now(), Environ: os.LookupEnv}
	var made *script.Script
	var err error
	switch {
	case t.Script != "":
		var text []byte
		if text, err = folder.ReadFile(filepath.FromSlash(t.Script)); err == nil {
			made, err = script.Parse(t.Script, text, o)
		}
	case len(t.Command) > 0:
		made, err = script.Command(t.Command, true, o)
	default:
		err = fmt.Errorf("%w: it names no program: it can be planned, not run", grid.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	d, err := jsdl.Parse(t.Name, made.Document())
	if err != nil {
		return nil, err
	}
	d.Job.Name, d.Job.Rerunnable = t.Name, t.Rerunnable
	if way.Name != "" {
		d.Job.Program.Environment = append(d.Job.Program.Environment, grid.Variable{Name: grid.ConfigurationVariable, Value: way.Name})
	}
	for _, x := range t.Inputs {
		d.Staging = append(d.Staging, jsdl.Staging{Name: x.Name, Path: x.Name, Source: x.Name, CreationFlag: grid.Overwrite})
	}
	for _, x := range t.Outputs {
		d.Staging = append(d.Staging, jsdl.Staging{Name: x.Name, Path: x.Name, Target: x.Name, CreationFlag: grid.Overwrite})
	}
	return jsdl.Print(&d.Job, d.Staging), nil
}

// directivesOf says what a configuration asks for in the words of sbatch.
func directivesOf(t *workflow.Configuration) (list []string) {
	if t.Cores > 1 {
		list = append(list, "--ntasks=1", fmt.Sprintf("--cpus-per-task=%d", t.Cores))
	}
	if t.Memory > 0 {
		list = append(list, fmt.Sprintf("--mem=%dK", (t.Memory+1023)/1024))
	}
	var resources []string
	for _, r := range t.Resources {
		resources = append(resources, fmt.Sprintf("%s:%d", r.Name, r.Amount))
	}
	if len(resources) > 0 {
		list = append(list, "--gres="+strings.Join(resources, ","))
	}
	if t.Walltime > 0 {
		s := int64((t.Walltime + time.Second - 1) / time.Second)
		list = append(list, fmt.Sprintf("--time=%d:%02d:%02d", s/3600, s/60%60, s%60))
	}
	return list
}

func sendFlowFile(cmd *cobra.Command, c *api.Client, folder *os.Root, id api.FlowID, x api.File) error {
	body, err := folder.Open(filepath.FromSlash(x.Path))
	if err != nil {
		return err
	}
	defer body.Close()
	return c.UploadFlow(cmd.Context(), id, x.Path, x.Size, body)
}
