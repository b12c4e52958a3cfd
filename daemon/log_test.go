package daemon

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// What a job writes is read while it runs and after it, from a place on; a run that is another begins anew, and what
// does not come back is not there.
func TestTheLogOfAJob(t *testing.T) {
	t.Parallel()
	a := serveSite(t, "alpha", 1)
	id := a.submit("log", "printf a; until [ -e go ]; do sleep 0.05; done; printf bc; printf x >&amp;2", 1)
	a.until(id, grid.Running)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	first, err := a.ReadLog(ctx, id, api.LogQuery{Follow: true})
	for err == nil && len(first.Data) == 0 {
		first, err = a.ReadLog(ctx, id, api.LogQuery{Run: first.Run, Follow: true})
	}
	if err != nil || string(first.Data) != "a" || first.Offset != 0 || first.Run == "" || first.End || first.Site != "alpha" {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := a.ReadLog(ctx, id, api.LogQuery{Run: first.Run, Follow: true}); err != nil || string(again.Data) != "a" {
		t.Errorf("what there is is waited for: %+v, %v", again, err)
	}
	if more, err := a.ReadLog(ctx, id, api.LogQuery{Run: first.Run, Offset: 1}); err != nil || len(more.Data) > 0 || more.Offset != 1 || more.End {
		t.Errorf("behind all of it: %+v, %v", more, err)
	}
	if anew, err := a.ReadLog(ctx, id, api.LogQuery{Run: "9.9", Offset: 1}); err != nil || string(anew.Data) != "a" || anew.Offset != 0 {
		t.Errorf("of another run: %+v, %v", anew, err)
	}
	if short, err := a.ReadLog(ctx, id, api.LogQuery{Run: first.Run, Offset: 5}); err != nil || string(short.Data) != "a" || short.Offset != 0 {
		t.Errorf("of a file that has become shorter: %+v, %v", short, err)
	}
	work, _ := a.stager.Paths(id)
	if err := os.WriteFile(work+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rest, err := a.ReadLog(ctx, id, api.LogQuery{Run: first.Run, Offset: 1, Follow: true})
	if err != nil || string(rest.Data) != "bc" {
		t.Errorf("%+v, %v", rest, err)
	}
	a.until(id, grid.Completed)
	for q, want := range map[api.LogQuery]string{{}: "abc", {Error: true}: "x", {File: "out"}: "abc"} {
		if p, err := a.ReadLog(ctx, id, q); err != nil || string(p.Data) != want || !p.End {
			t.Errorf("%+v of an ended job: %+v, %v", q, p, err)
		}
	}
	if _, err := a.ReadLog(ctx, id, api.LogQuery{File: "other"}); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("a file that does not come back: %v", err)
	}
}
