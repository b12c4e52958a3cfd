package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func (p *program) flow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "flow",
		Short: "Run workflows: tasks with data between them",
		Long: `Run workflows. A workflow file names tasks (commands, scripts or JSDL jobs), and the files that they need and leave: a task
begins when all it needs is there. Files are in YAML, or in the JSON of WfCommons, versions 1.4 and 1.5. The form is in
docs/workflows.md.`,
	}
	cmd.AddCommand(p.flowPlan(), p.flowSubmit(), p.flowStatus(), p.flowGraph(), p.flowWait(), p.flowCancel(), p.flowResume(), p.flowRemove())
	return cmd
}

// planning is what the flags of flow plan say.
type planning struct {
	sites []string
	svg   string
	width int
	json  bool
}

func (p *program) flowPlan() *cobra.Command {
	var f planning
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Plan a workflow: where each task would run, and when",
		Long: `Plan a workflow over the sites that the broker knows, or over those that --sites names: makespan, lower bounds, and a Gantt
chart with a line for each task that a site runs at a time. The plan counts run times as the file says them (for a site of speed s
one part in s), cores, and the time to bring data by way of the home. The sites of the broker are asked when they could have
cores, so what others run and have queued there is in the plan; those of --sites are taken to be empty.

The lower bounds are the critical path, each task at its fastest and without transfers, and the work of all tasks over the
capacity of all sites. They count what tasks say of their run times, or the least that such tasks took, and nothing that is only
guessed.`,
		Example: `  gclient flow plan words.yaml
  gclient flow plan montage.json --sites home:4:1,big:64:0.8:20MB --svg plan.svg`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.runFlowPlan(cmd, args[0], &f) },
	}
	jsonFlag(cmd, &f.json)
	cmd.Flags().StringSliceVar(&f.sites, "sites", nil, "plan over these, as `NAME:CORES:SPEED[:RATE]` with bytes a second to the home, which is the first")
	cmd.Flags().StringVar(&f.svg, "svg", "", "draw the plan into this `FILE`")
	cli.CountVar(cmd, &f.width, "width", 100, 10, 10_000, "of the chart, in characters (`N`)")
	return cmd
}

func (p *program) runFlowPlan(cmd *cobra.Command, file string, f *planning) error {
	w, err := openWorkflow(file)
	if err != nil {
		return err
	}
	defer w.folder.Close()
	unsubmittable(cmd, w)
	places, err := p.places(cmd, f.sites, w.Workflow)
	if err != nil {
		return err
	}
	planned, err := w.Plan(places, nil, workflow.Thorough)
	if err != nil {
		return cli.Exit(cli.No, err)
	}
	if f.svg != "" {
		if err := drawInto(f.svg, planned); err != nil {
			return err
		}
	}
	if f.json {
		return cli.PrintJSON(cmd.OutOrStdout(), planned)
	}
	cmd.Printf("%d tasks, makespan %s; lower bounds: critical path %s, work over capacity %s\n", len(w.Tasks),
		planned.Makespan.Round(time.Millisecond), planned.Path.Round(time.Millisecond), planned.Work.Round(time.Millisecond))
	return planned.Text(cmd.OutOrStdout(), f.width)
}

func drawInto(file string, planned *workflow.Planned) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return planned.SVG(out)
}

// unsubmittable tells what flow submit would refuse: a plan is made all the same.
func unsubmittable(cmd *cobra.Command, w *flowFile) {
	if len(w.Tasks) > api.MaxFlowTasks {
		cmd.PrintErrf("gclient: warning: %d tasks can be planned; at most %d are run\n", len(w.Tasks), api.MaxFlowTasks)
		return
	}
	w.submission()
	for _, m := range w.wrong[:min(len(w.wrong), mostUnsubmittable)] {
		cmd.PrintErrf("gclient: warning: %s\n", m)
	}
	if more := len(w.wrong) - mostUnsubmittable; more > 0 {
		cmd.PrintErrf("gclient: warning: and %d more\n", more)
	}
	if len(w.wrong) > 0 {
		cmd.PrintErrf("gclient: warning: it can be planned; 'gclient flow submit' refuses it until that is mended\n")
	}
}

// mostUnsubmittable is how many reasons are told.
const mostUnsubmittable = 10

// places are the sites to plan over: those that are named, or those of the broker with what runs there.
func (p *program) places(cmd *cobra.Command, named []string, w *workflow.Workflow) (list []workflow.Place, err error) {
	if len(named) > 0 {
		for _, text := range named {
			place, err := placeOf(text)
			if err != nil {
				return nil, err
			}
			list = append(list, place)
		}
		return list, nil
	}
	c, err := p.client(cmd)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.FlowPlaces(cmd.Context(), api.FlowNeedsOf(w))
}

func placeOf(text string) (workflow.Place, error) {
	parts := strings.Split(text, ":")
	place := workflow.Place{Name: parts[0], Rate: 100e6}
	wrong := cli.BadUsage("--sites %.60q: write NAME:CORES:SPEED or NAME:CORES:SPEED:RATE, as big:64:0.8:20MB", text)
	if len(parts) < 3 || len(parts) > 4 || place.Name == "" {
		return place, wrong
	}
	var bad, worse error
	place.Cores, bad = strconv.Atoi(parts[1])
	place.Speed, worse = strconv.ParseFloat(parts[2], 64)
	if bad != nil || worse != nil || place.Cores < 1 || !(place.Speed > 0 && place.Speed < 1e6) {
		return place, wrong
	}
	if len(parts) == 4 {
		bytes, err := grid.ParseSize(parts[3])
		if err != nil || bytes < 1 {
			return place, wrong
		}
		place.Rate = float64(bytes)
	}
	return place, nil
}
