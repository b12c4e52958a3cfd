package flows

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"gbroker/api"
	"gbroker/grid"
)

// A workflow with a task that no known site could ever run is refused when it comes, not when what is before that task has run.
func TestImpossibleTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		k, stop := keeper(t, t.TempDir(), b)
		defer stop()
		s := diamond()
		last := &s.Tasks[len(s.Tasks)-1]
		last.Document = strings.Replace(last.Document, "</Application>", "</Application>"+resource, 1)
		_, _, err := k.SubmitFlow(t.Context(), bob, s)
		if !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "task "+last.Name+": no site that is known here could ever run it: no such resource") || !strings.Contains(err.Error(), "--queue-anyway") {
			t.Error("the answer is", err)
		}
		if list, err := k.Flows(t.Context(), bob); len(list) > 0 || err != nil || len(b.jobs) > 0 {
			t.Errorf("there are %d workflows and %d jobs (%v)", len(list), len(b.jobs), err)
		}
		either := diamond()
		either.Key = "either"
		of := &either.Tasks[len(either.Tasks)-1]
		of.Configuration, of.Others = "cpu", []api.FlowConfiguration{{Name: "gpu", Document: last.Document}}
		if _, _, err := k.SubmitFlow(t.Context(), bob, either); err != nil {
			t.Error("one that can run without a GPU is refused:", err)
		}
		s.QueueAnyway = true
		f, again, err := k.SubmitFlow(t.Context(), bob, s)
		if err != nil || again {
			t.Fatal("it is not taken anyway:", err)
		}
		s.QueueAnyway = false
		if g, again, err := k.SubmitFlow(t.Context(), bob, s); err != nil || !again || g.ID != f.ID {
			t.Error("the same once more:", g.ID, again, err)
		}
	})
}
