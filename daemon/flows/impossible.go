package flows

import (
	"context"
	"fmt"

	"gbroker/api"
	"gbroker/grid"
)

// possible refuses a workflow with a task that no known site could ever run, in any of its configurations: it would be found when what comes before
// it has run. What the sites cannot be asked now is not refused.
func (k *Keeper) possible(ctx context.Context, who api.Identity, s *api.FlowSubmission, parts []api.FlowPart) error {
	if s.QueueAnyway || k.has(who, s.Key) {
		return nil
	}
	var jobs []grid.Job
	at := map[string]int{} // of a shape among them
	for i := range parts {
		for _, way := range parts[i].Ways {
			if _, asked := at[way.Shape()]; !asked {
				at[way.Shape()] = len(jobs)
				j := way.Job
				j.Inputs = nil
				jobs = append(jobs, j)
			}
		}
	}
	select {
	case k.probing <- struct{}{}:
		defer func() { <-k.probing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	never, err := k.config.Jobs.Never(ctx, who, jobs)
	if err != nil {
		k.config.Log.Debug("the sites were not asked whether they could run a workflow", "error", err)
		return nil
	}
	for i := range parts {
		var why error
		for _, way := range parts[i].Ways {
			if why = never[at[way.Shape()]]; why == nil {
				break
			}
		}
		if why != nil {
			return fmt.Errorf("%w: task %s: no site that is known here could ever run it: %w; correct the file, or submit it with --queue-anyway to wait for a site that can", grid.ErrInvalid, parts[i].Name, why)
		}
	}
	return nil
}

// has tells that a user has a workflow of this key.
func (k *Keeper) has(who api.Identity, key string) bool {
	for _, f := range k.all() {
		if f.spec.User == who.Name && f.spec.Parent == "" && f.spec.Submission.Key == key {
			return true
		}
	}
	return false
}
