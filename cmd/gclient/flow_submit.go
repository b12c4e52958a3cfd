package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/internal/cli"
)

// flowSubmission is what the flags of flow submit and flow resume say.
type flowSubmission struct {
	key    string
	wait   bool
	anyway bool
	output string
	json   bool
}

func (f *flowSubmission) flags(cmd *cobra.Command) {
	cli.KeyVar(cmd, &f.key, "key", "submit under this `KEY`: the same key again is the same workflow")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until it has ended")
	cmd.Flags().BoolVar(&f.anyway, "queue-anyway", false, "hand it in though no known site could ever run one of its tasks: one may come")
	cli.FolderVar(cmd, &f.output, "output", "wait, and fetch what the last tasks left into a folder of `DIR` each")
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
	w, err := openWorkflow(file)
	if err != nil {
		return err
	}
	defer w.folder.Close()
	sub := w.submission()
	if len(w.wrong) > 0 {
		return mistakes(cmd, w.wrong)
	}
	sub.QueueAnyway = f.anyway
	if sub.Key, sub.Resumes = f.key, resumes; sub.Key == "" {
		sub.Key = rand.Text()
	}
	a, err := c.SubmitFlow(cmd.Context(), sub)
	if err != nil {
		return notAccepted(cmd, "workflow", sub.Key, err)
	}
	status := a.FlowStatus
	if len(a.Wanted) > 0 {
		for _, x := range a.Wanted {
			if err := sendFlowFile(cmd, c, w.folder, a.ID, x); err != nil {
				return lacking(cmd, fmt.Sprintf("the workflow %s is accepted, but lacks files, and does not begin", a.ID), sub.Key, err)
			}
		}
		if status, err = c.StartFlow(cmd.Context(), a.ID); err != nil {
			return lacking(cmd, fmt.Sprintf("the workflow %s is accepted, and may not have begun", a.ID), sub.Key, err)
		}
	}
	return followFlow(cmd, c, status, f)
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
