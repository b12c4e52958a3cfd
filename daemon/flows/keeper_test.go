package flows

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// serial numbers the workflows of all keepers.
var serial atomic.Int64

var bob = api.Identity{Name: "bob"}

// keeper is one life of a Keeper in a folder; stop ends it as abruptly as one can within a process.
func keeper(t *testing.T, folder string, b *broker) (k *Keeper, stop func()) {
	t.Helper()
	return keeperOf(t, folder, b)
}

func keeperOf(t *testing.T, folder string, b Jobs) (k *Keeper, stop func()) {
	t.Helper()
	return keeperWith(t, folder, b, func(*Config) {})
}

// keeperWith is one with other settings.
func keeperWith(t *testing.T, folder string, b Jobs, other func(*Config)) (k *Keeper, stop func()) {
	t.Helper()
	c := Config{
		Folder: folder, Jobs: b, Site: "home", Walltime: grid.Minute, Now: func() grid.Tick { return grid.InstantOf(time.Now()) },
		NewID: func() (string, error) { return fmt.Sprintf("01ABCDEFGHJKMNPQRS%08d", serial.Add(1)), nil }, Log: slog.New(slog.DiscardHandler), Keep: grid.Day,
	}
	other(&c)
	k, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = k.Run(ctx) }()
	return k, func() { cancel(); <-done }
}

// made is a task of a submission.
func made(name, inputs, outputs string) api.FlowTask {
	var b strings.Builder
	fmt.Fprintf(&b, `<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:posix="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"><JobDescription><JobIdentification><JobName>%s</JobName></JobIdentification><Application><posix:POSIXApplication><posix:Executable>/bin/true</posix:Executable></posix:POSIXApplication></Application>`, name)
	for _, f := range strings.Fields(inputs) {
		fmt.Fprintf(&b, `<DataStaging><FileName>%s</FileName><CreationFlag>overwrite</CreationFlag><Source><URI>%s</URI></Source></DataStaging>`, f, f)
	}
	for _, f := range strings.Fields(outputs) {
		fmt.Fprintf(&b, `<DataStaging><FileName>%s</FileName><CreationFlag>overwrite</CreationFlag><Target><URI>%s</URI></Target></DataStaging>`, f, f)
	}
	return api.FlowTask{Name: name, Document: b.String() + `</JobDescription></JobDefinition>`, Rerunnable: true, RuntimeS: 2}
}

func diamond() api.FlowSubmission {
	return api.FlowSubmission{Key: "k", Name: "diamond", Retries: 1, Files: []api.File{{Path: "text", Size: 5, Mode: 0o644}},
		Tasks: []api.FlowTask{made("top", "text", "l r"), made("left", "l", "lo"), made("right", "r", "ro"), made("end", "lo ro", "result")}}
}

func begin(t *testing.T, k *Keeper, s api.FlowSubmission) api.FlowID {
	t.Helper()
	f, _, err := k.SubmitFlow(t.Context(), bob, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range s.Files {
		if err := k.UploadFlow(t.Context(), bob, f.ID, file.Path, strings.NewReader(strings.Repeat("x", int(file.Size)))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.StartFlow(t.Context(), bob, f.ID); err != nil {
		t.Fatal(err)
	}
	return f.ID
}

func await(t *testing.T, k *Keeper, id api.FlowID) api.FlowStatus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	s, err := k.WaitFlow(ctx, bob, id)
	if err != nil || s.State != ended {
		t.Fatalf("the workflow is %+v (%v)", s, err)
	}
	return s
}

// A keeper is ended at each tenth of a second of a workflow, and another goes on: each task begins once.
func TestKeeperIsEndedAnywhere(t *testing.T) { keeperIsEnded(t, 8) }

func TestLargeKeeperIsEndedAnywhere(t *testing.T) { keeperIsEnded(t, 1) }

// keeperIsEnded does so at each of so many tenths.
func keeperIsEnded(t *testing.T, step int) {
	t.Parallel()
	for moment := 0; moment < 64; moment += step {
		synctest.Test(t, func(t *testing.T) {
			folder, b := t.TempDir(), newBroker()
			k, stop := keeper(t, folder, b)
			id := begin(t, k, diamond())
			time.Sleep(time.Duration(moment) * 100 * time.Millisecond) //house:allow sleep: virtual time
			stop()
			k, stop = keeper(t, folder, b)
			s := await(t, k, id)
			stop()
			for _, name := range []string{"top", "left", "right", "end"} {
				if b.begun[name] != 1 {
					t.Errorf("ended after %d00 ms: %s was begun %d times", moment, name, b.begun[name])
				}
			}
			if s.States[api.FlowDone] != 4 {
				t.Errorf("ended after %d00 ms: the tasks are %v", moment, s.States)
			}
		})
	}
}

// The state on disk is older than what was done: the keys make it the same jobs.
func TestStateSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		folder, b := t.TempDir(), newBroker()
		k, stop := keeper(t, folder, b)
		f, _, err := k.SubmitFlow(t.Context(), bob, diamond())
		if err != nil {
			t.Fatal(err)
		}
		begin(t, k, diamond())
		file := filepath.Join(k.folder(f.ID), "state.json")
		first, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		await(t, k, f.ID)
		stop()
		if err := os.WriteFile(file, first, 0o600); err != nil {
			t.Fatal(err)
		}
		k, stop = keeper(t, folder, b)
		defer stop()
		if s := await(t, k, f.ID); s.States[api.FlowDone] != 4 || len(b.jobs) != 4 {
			t.Errorf("%v, %d jobs", s.States, len(b.jobs))
		}
	})
}

// Resumed, only that runs which failed, what was kept from running, and whatever has lost its output.
func TestResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		k, stop := keeper(t, t.TempDir(), b)
		defer stop()
		b.fail["left"] = true
		id := begin(t, k, diamond())
		if s := await(t, k, id); s.States[api.FlowDone] != 2 || s.States[api.FlowFailed] != 1 || s.States[api.FlowCancelled] != 1 || b.begun["left"] != 2 {
			t.Fatalf("%v, left was begun %d times", s.States, b.begun["left"])
		}
		b.mu.Lock()
		b.fail["left"] = false
		for name, text := range b.files {
			if strings.HasSuffix(name, "/ro") {
				b.files[name] = append(slices.Clone(text[1:]), '!') // as long as before
			}
		}
		b.mu.Unlock()
		if _, err := k.ResumeFlow(t.Context(), bob, id); err != nil {
			t.Fatal(err)
		}
		s := await(t, k, id)
		if s.States[api.FlowReused] != 1 || s.States[api.FlowDone] != 3 || b.begun["top"] != 1 || b.begun["right"] != 2 || b.begun["left"] != 3 || b.begun["end"] != 1 {
			t.Errorf("%v, begun %v", s.States, b.begun)
		}
		edited := diamond()
		edited.Key, edited.Resumes = "k2", id
		edited.Tasks[2] = made("right", "r text", "ro")
		if s := await(t, k, begin(t, k, edited)); s.States[api.FlowReused] != 2 || b.begun["right"] != 3 || b.begun["left"] != 3 {
			t.Errorf("after an edit: %v, begun %v", s.States, b.begun)
		}
		if _, err := k.Flow(t.Context(), api.Identity{Name: "eve"}, id); !errors.Is(err, grid.ErrForbidden) {
			t.Errorf("another user sees it: %v", err)
		}
	})
}

// What cannot be is refused, with the task by name.
func TestRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, stop := keeper(t, t.TempDir(), newBroker())
		defer stop()
		for _, c := range []struct {
			tasks []api.FlowTask
			want  string
		}{
			{nil, "0 tasks"},
			{[]api.FlowTask{made("a", "x", "y"), made("b", "y", "x")}, "task a needs itself"},
			{[]api.FlowTask{made("a", "", "x"), made("b", "", "x"), made("c", "x", "")}, "which several tasks leave"},
			{[]api.FlowTask{made("a", "none", "x")}, "none"},
			{[]api.FlowTask{made("a", "", "x"), made("a", "", "y")}, `"a" is empty, too long or that of two tasks`},
		} {
			if _, _, err := k.SubmitFlow(t.Context(), bob, api.FlowSubmission{Key: "k", Tasks: c.tasks}); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, not %q", err, c.want)
			}
		}
		f, _, err := k.SubmitFlow(t.Context(), bob, diamond())
		if err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{"text": "too long", "other": "xxxxx", "../text": "xxxxx"} {
			if err := k.UploadFlow(t.Context(), bob, f.ID, path, strings.NewReader(text)); !errors.Is(err, grid.ErrInvalid) {
				t.Errorf("%s with %q is taken: %v", path, text, err)
			}
		}
		if _, err := k.StartFlow(t.Context(), bob, f.ID); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("it begins without its files: %v", err)
		}
		if _, again, err := k.SubmitFlow(t.Context(), bob, diamond()); !again || err != nil {
			t.Errorf("the same key is another workflow (%v)", err)
		}
	})
}

// Of a workflow that is gone its home does not say that its home knows it; of one of elsewhere it says where it is known.
func TestAWorkflowThatIsNotHere(t *testing.T) {
	t.Parallel()
	k, stop := keeper(t, t.TempDir(), &broker{})
	defer stop()
	for id, want := range map[api.FlowID]string{
		"home.01ABCDEFGHJKMNPQRSTVWXYZ00.flow":  "is not known here, or was removed",
		"there.01ABCDEFGHJKMNPQRSTVWXYZ00.flow": "it is known at its home, the site there",
	} {
		if _, err := k.Flow(t.Context(), bob, id); !errors.Is(err, grid.ErrNotFound) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, not %q", id, err, want)
		}
	}
}

// Why a task failed names its status, or the signal that ended it, and not both.
func TestHowATaskEnded(t *testing.T) {
	t.Parallel()
	f := &flow{parts: []api.FlowPart{{}}}
	for want, r := range map[string]grid.Record{
		"job a.1 ended with status 3":   {Run: grid.Run{ExitCode: 3}},
		"job a.1 was ended by signal 9": {Run: grid.Run{ExitCode: 137, Signal: 9}},
	} {
		r.State, r.Job.ID = grid.Completed, "a.1"
		if err := f.judge(0, &r); err == nil || err.Error() != want {
			t.Errorf("%v, not %q", err, want)
		}
	}
}
