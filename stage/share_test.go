package stage

import (
	"errors"
	"os"
	"strings"
	"testing"

	"gbroker/grid"
)

// A job gets files of its group's template by what they contain, under its own names and for nothing; done again
// it changes nothing, and what is not there is not found.
func TestShare(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	group := grid.NewGroupID("alpha", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	from, to := group.Template(), group.Job(7)
	if err := s.Share(to, from, grid.Manifest{{Path: "x", Size: 1, Mode: 0o600, Ranges: []grid.Hash{{1}}}}); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("without a template: %v", err)
	}
	for name, text := range map[string]string{"data/in.txt": "what all read", "run.sh": "#!/bin/sh\n"} {
		if _, err := s.Receive(t.Context(), from, name, int64(len(text)), 0o600, 0, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	have, err := s.Received(from)
	if err != nil || len(have) != 2 {
		t.Fatalf("received %v, %v", have, err)
	}
	mine := grid.Manifest{have[0], have[1]}
	mine[0].Path = "deep/er/mesh"
	for range 2 {
		if err := s.Share(to, from, mine); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(s.cfg.Root + "/" + string(to) + "/in.log"); err != nil { // a crash came before the last step
		t.Fatal(err)
	}
	if err := s.Share(to, from, mine); err != nil {
		t.Fatal(err)
	}
	if err := s.HasInputs(to, mine); err != nil {
		t.Error(err)
	}
	one, err := os.Stat(s.cfg.Root + "/" + string(from) + "/in/data/in.txt")
	other, err2 := os.Stat(s.cfg.Root + "/" + string(to) + "/in/deep/er/mesh")
	if err := errors.Join(err, err2); err != nil || !os.SameFile(one, other) {
		t.Errorf("they are not the same file: %v", err)
	}
	if err := s.Discard(to); err != nil {
		t.Fatal(err)
	}
	if err := s.HasInputs(from, have); err != nil {
		t.Errorf("the job's end took the template's files: %v", err)
	}
	for what, m := range map[string]grid.Manifest{
		"of other content": {{Path: "run.sh", Size: have[1].Size, Mode: 0o600, Ranges: have[0].Ranges}},
		"of another size":  {{Path: "run.sh", Size: 3, Mode: 0o600, Ranges: have[1].Ranges}},
	} {
		if err := s.Share(group.Job(8), from, m); !errors.Is(err, grid.ErrNotFound) && !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("one %s: %v", what, err)
		}
	}
	if err := s.Share(group.Job(9), from, grid.Manifest{{Path: "../x", Size: have[0].Size, Ranges: have[0].Ranges}}); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("one that leads out: %v", err)
	}
}

// Credentials that came with a sweep are those of each of its jobs, and of no other; they go with the template.
func TestCredentialsOfATemplate(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	group := grid.NewGroupID("alpha", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	text := "- {for: \"https://x.org/\", user: u, password: p}\n"
	if err := s.KeepSecrets(group.Template(), []byte(text)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.secretsText(group.Job(3)); err != nil || string(got) != text {
		t.Errorf("job 3 has %q, %v", got, err)
	}
	if got, err := s.secretsText(grid.NewGroupID("alpha", "01ARZ3NDEKTSV4RRFFQ69G5FAW").Job(3)); err != nil || got != nil {
		t.Errorf("a job of another group has %q, %v", got, err)
	}
	if got, err := s.secretsText(job); err != nil || got != nil {
		t.Errorf("a job alone has %q, %v", got, err)
	}
	own := "- {for: \"https://y.org/\", user: u, password: p}\n"
	if err := s.KeepSecrets(group.Job(4), []byte(own)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.secretsText(group.Job(4)); err != nil || string(got) != own {
		t.Errorf("one with its own has %q, %v", got, err)
	}
	if err := s.Discard(group.Template()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.secretsText(group.Job(3)); err != nil || got != nil {
		t.Errorf("after the end job 3 has %q, %v", got, err)
	}
}
