package control

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
)

// Whatever of its start an attempt has left, its token is not free any more.
func TestAnyTraceOfAStartCounts(t *testing.T) {
	t.Parallel()
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	for kind, leave := range map[string]func(dir string) error{
		"run":   func(dir string) error { return WriteRun(dir, at, Run{At: 77, Leader: self}) },
		"usage": func(dir string) error { return WriteUsage(dir, at, grid.Usage{CPU: 5}) },
		"end":   func(dir string) error { return WriteEnd(dir, at, End{At: 5}) },
		"kill":  func(dir string) error { return AskKill(dir, at) },
		"hosts": func(dir string) error { return os.WriteFile(HostFile(dir, at), []byte("n1\n"), 0o644) },
	} {
		for _, torn := range []bool{false, true} {
			dir := t.TempDir()
			if err := leave(dir); err != nil {
				t.Fatal(err)
			}
			if torn {
				if err := os.WriteFile(path(dir, "start", at), []byte("gbroker-ctl 1\nattem"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, holder := range []Holder{Broker, Supervisor} {
				taken, held, err := Take(dir, at, holder, self)
				if taken || held.Holder != Supervisor || !held.Inferred || held.At == 0 || err != nil {
					t.Errorf("%s, torn token %t: holder %d took it: %v, it is held %+v, %v", kind, torn, holder, taken, held, err)
				}
				if kind == "run" && held.At != 77 {
					t.Errorf("it ran since %d", held.At)
				}
			}
			other := at
			other.Attempt++
			if taken, _, err := Take(dir, other, Broker, self); !taken || err != nil {
				t.Errorf("%s: the token of another attempt: %v, %v", kind, taken, err)
			}
			list, err := Attempts(dir, at.Job)
			if err != nil || len(list) != 2 || !slices.Contains(list, at) {
				t.Errorf("%s: attempts %v, %v", kind, list, err)
			}
		}
	}
}

// A token that is damaged, with no other trace, may be anybody's: nobody gets it.
func TestADamagedTokenIsNobodys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(path(dir, "start", at), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, holder := range []Holder{Broker, Supervisor} {
		if taken, _, err := Take(dir, at, holder, Process{}); taken || !errors.Is(err, grid.ErrDamaged) {
			t.Errorf("%v, %v", taken, err)
		}
	}
	if list, err := Attempts(dir, at.Job); len(list) != 1 || err != nil {
		t.Errorf("attempts %v, %v", list, err)
	}
	for what, dir := range map[string]string{"gone": dir + "/gone", "a file": path(dir, "start", at)} {
		if _, _, err := ReadToken(dir, at); !errors.Is(err, grid.ErrDamaged) || !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("a directory that is %s: %v", what, err)
		}
	}
	newer := "gbroker-ctl 2\n.\n"
	if err := os.WriteFile(path(dir, "start", at), []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadToken(dir, at); err == nil || errors.Is(err, grid.ErrDamaged) || !strings.Contains(err.Error(), "version") {
		t.Errorf("a token of a newer version is not damaged: %v", err)
	}
}
