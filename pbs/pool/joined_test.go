package pool_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool"
	"gbroker/pbs/pool/agent"
	"gbroker/plan"
)

// joins makes a computer one of the pool, whose agent does not run.
func (s *site) joins(name string) error {
	s.Helper()
	code, err := pool.Invite(s.conf, time.Now().Add(time.Hour))
	if err != nil {
		s.Fatal(err)
	}
	return agent.Join(s.Context(), s.TempDir(), name, code.String())
}

// A code that is no good, one that was used, and a computer that has joined already are told as what the operator did wrong.
func TestJoinSaysWhoseFault(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	code, err := pool.Invite(s.conf, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := agent.Join(t.Context(), dir, "a", code.String()); err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		dir, code string
		kind      error
	}{
		"joined already": {dir, code.String(), grid.ErrInvalid},
		"used":           {t.TempDir(), code.String(), grid.ErrForbidden},
		"no code":        {t.TempDir(), "x", grid.ErrInvalid},
	} {
		if err := agent.Join(t.Context(), test.dir, "b", test.code); !errors.Is(err, test.kind) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// names are those of the list.
func (s *site) names() (list []string) {
	s.Helper()
	all, err := pool.List(s.conf)
	if err != nil {
		s.Fatal(err)
	}
	for _, l := range all {
		list = append(list, l.Name)
	}
	return list
}

// Who has joined is in the list, also before its agent has run.
func TestListOfWhoHasJoined(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "b", Cores: 1})
	for _, name := range []string{"c", "a"} {
		if err := s.joins(name); err != nil {
			t.Fatal(err)
		}
	}
	all, err := pool.List(s.conf)
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, name := range []string{"a", "b", "c"} {
		if l := all[i]; l.Name != name || l.Registered != (name == "b") {
			t.Errorf("%d: %+v", i, l)
		}
	}
}

// Who is no computer of the pool cannot be removed: the error names those that are, and the name is still to be had.
func TestRemoveNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "b", Cores: 1})
	if err := s.joins("c"); err != nil {
		t.Fatal(err)
	}
	err := pool.Revoke(s.conf.Spool, "desk9")
	if !errors.Is(err, grid.ErrNotFound) || !strings.Contains(err.Error(), "desk9") || !strings.Contains(err.Error(), "b, c") {
		t.Errorf("it is removed: %v", err)
	}
	if err := s.joins("desk9"); err != nil {
		t.Errorf("the name is burned: %v", err)
	}
	for _, name := range []string{"c", "b"} {
		if err := pool.Revoke(s.conf.Spool, name); err != nil {
			t.Error(err)
		}
	}
	if err := pool.Revoke(s.conf.Spool, "c"); !errors.Is(err, grid.ErrNotFound) || !strings.Contains(err.Error(), "was removed") {
		t.Errorf("it is removed twice: %v", err)
	}
	if left := s.names(); !slices.Equal(left, []string{"desk9"}) {
		t.Errorf("there are %v", left)
	}
	s.until("the pool forgets it", func() bool { _, err := os.Stat(filepath.Join(s.conf.Spool, "computers", "b.json")); return err != nil })
}

// Who has left by itself comes back under its name by a new code; its old key is good no more, and what the operator removed stays removed.
func TestWhoHasLeftComesBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	join := func(dir string) error {
		code, err := pool.Invite(s.conf, time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return agent.Join(t.Context(), dir, "desk", code.String())
	}
	first, second := t.TempDir(), t.TempDir()
	kept := t.TempDir()
	if err := join(first); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(kept, os.DirFS(first)); err != nil {
		t.Fatal(err)
	}
	if err := agent.Leave(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if left := s.names(); len(left) > 0 {
		t.Errorf("there are %v", left)
	}
	if err := join(second); err != nil {
		t.Fatalf("it does not come back: %v", err)
	}
	if err := agent.Leave(t.Context(), kept); err == nil || !slices.Equal(s.names(), []string{"desk"}) {
		t.Errorf("its old key speaks for it: %v; there are %v", err, s.names())
	}
	if err := agent.Leave(t.Context(), second); err != nil {
		t.Error(err)
	}
	if err := join(first); err != nil {
		t.Errorf("it does not come back to its old folder: %v", err)
	}
	if err := pool.Revoke(s.conf.Spool, "desk"); err != nil {
		t.Fatal(err)
	}
	if err := join(second); err == nil || !strings.Contains(err.Error(), "by its operator, for good: choose another name") {
		t.Errorf("what the operator removed: %v", err)
	}
}
