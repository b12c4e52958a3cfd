package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gbroker/api/workflow"
	"gbroker/grid"
	"gbroker/jsdl"
)

// FlowWay is a configuration of a task, and the job that it then is.
type FlowWay struct {
	FlowConfiguration
	Job grid.Job
}

// readWays reads the configurations of a task. They differ in what they need, not in their files.
func (p *FlowPart) readWays(beside jsdl.Beside, walltime grid.Tick) error {
	if len(p.Others) >= workflow.MaxConfigurations {
		return fmt.Errorf("%w: it has %d configurations: at most %d", grid.ErrInvalid, 1+len(p.Others), workflow.MaxConfigurations)
	}
	p.Ways = []FlowWay{{FlowConfiguration{p.Configuration, p.Document, p.RuntimeS}, p.Job}}
	for _, c := range p.Others {
		j, uploads, err := jobOf(p.Name, []byte(c.Document), beside, p.FlowTask.Rerunnable, walltime)
		if err != nil {
			return fmt.Errorf("configuration %s: %w", c.Name, err)
		}
		if !slices.Equal(uploads, p.Uploads) || !slices.Equal(j.Outputs, p.Job.Outputs) || j.Rerunnable != p.Job.Rerunnable {
			return fmt.Errorf("%w: configuration %.80s has other files than %.80s, or another word on whether it may run again", grid.ErrInvalid, c.Name, p.Configuration)
		}
		p.Ways = append(p.Ways, FlowWay{c, j})
	}
	return nil
}

// checkWays bounds what a plan has to keep of the configurations of all tasks.
func checkWays(list []FlowPart) error {
	resources := map[string]bool{}
	for i := range list {
		var names []string
		for k := range list[i].Ways {
			way := &list[i].Ways[k]
			names = append(names, way.Name)
			for _, r := range way.Job.Demand.Resources() {
				resources[r.Name] = true
			}
		}
		if len(resources) > workflow.MaxResources {
			return fmt.Errorf("%w: with task %s, tasks need resources of %d names: at most %d in a workflow", grid.ErrInvalid, list[i].Name, len(resources), workflow.MaxResources)
		}
		if len(names) == 1 {
			continue
		}
		if err := workflow.CheckNames(names); err != nil {
			return fmt.Errorf("%w: task %s: %w", grid.ErrInvalid, list[i].Name, err)
		}
	}
	return nil
}

// Shape is a word for what it asks of a site: its demand, its queue, and the sites that its user wants.
func (w *FlowWay) Shape() string {
	text, err := json.Marshal([]any{w.Job.Demand, w.Job.Queue, w.Job.Sites.Only, w.Job.Sites.Not})
	if err != nil {
		return "" // these are plain values
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Said is how long it runs at speed 1, as it says; 0 is not said.
func (w *FlowWay) Said() time.Duration { return seconds(w.RuntimeS) }

// configuration is what a plan knows of it.
func (w *FlowWay) configuration() workflow.Configuration {
	c := workflow.Configuration{Shape: w.Shape(), Name: w.Name, Cores: w.Job.Demand.Cores(), Memory: w.Job.Demand.Memory(), Resources: w.Job.Demand.Resources(), Runtime: w.Said()}
	if !w.Job.WalltimeDefaulted {
		c.Walltime = seconds(w.Job.Walltime.Seconds())
	}
	return c
}
