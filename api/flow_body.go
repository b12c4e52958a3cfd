package api

import (
	"encoding/json"
	"fmt"

	"gbroker/api/workflow"
	"gbroker/grid"
)

// readFlow reads the submission of a workflow field by field: its lists are counted while they come.
func readFlow(d *json.Decoder, sub *FlowSubmission) error {
	return fields(d, map[string]any{
		"key": &sub.Key, "name": &sub.Name, "retries": &sub.Retries, "queue_anyway": &sub.QueueAnyway, "resumes": &sub.Resumes, "periodic": &sub.Periodic,
		"tasks": func() (err error) {
			sub.Tasks, err = readList(d, MaxFlowTasks, tooMany("the workflow", MaxFlowTasks, "tasks"), readFlowTask)
			return err
		},
		"files": func() (err error) {
			sub.Files, err = readList(d, grid.MaxFiles, tooMany("the workflow", grid.MaxFiles, "files"), decodeInto[File])
			return err
		},
	})
}

func readFlowTask(d *json.Decoder, t *FlowTask) error {
	return fields(d, map[string]any{
		"name": &t.Name, "document": &t.Document, "rerunnable": &t.Rerunnable, "runtime_s": &t.RuntimeS, "configuration": &t.Configuration,
		"after": func() (err error) {
			t.After, err = readList(d, MaxFlowTasks, tooMany("a task", MaxFlowTasks, "tasks before it"), decodeInto[string])
			return err
		},
		"others": func() (err error) {
			t.Others, err = readList(d, workflow.MaxConfigurations, tooMany("a task", workflow.MaxConfigurations, "configurations"), decodeInto[FlowConfiguration])
			return err
		},
		"sizes": func() (err error) { t.Sizes, err = readSizes(d); return err },
	})
}

// readSizes are the sizes of what a task leaves, by its name.
func readSizes(d *json.Decoder) (map[string]int64, error) {
	t, err := d.Token()
	if t == nil || err != nil { // null is none
		return nil, err
	}
	if t != json.Delim('{') {
		return nil, fmt.Errorf("sizes do not begin with {")
	}
	sizes := map[string]int64{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		if len(sizes) == grid.MaxFiles {
			return nil, tooMany("a task", grid.MaxFiles, "sizes")
		}
		var size int64
		if err := d.Decode(&size); err != nil {
			return nil, err
		}
		sizes[name.(string)] = size
	}
	_, err = d.Token()
	return sizes, err
}

func tooMany(what string, most int, of string) error {
	return fmt.Errorf("%s has more than %d %s: %w", what, most, of, grid.ErrInvalid)
}
