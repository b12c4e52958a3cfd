package main

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/daemon"
)

// Jobs of a mapped user run under the other account, and their output comes home.
func TestMappedAccounts(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root takes on other accounts without a rule of sudo: run the test as root")
	}
	if _, err := user.Lookup("daemon"); err != nil {
		t.Skipf("an account to run jobs under is needed: %v", err)
	}
	overAll(t, func(t *testing.T, file string) {
		cfg, err := daemon.LoadConfig(file)
		if err != nil {
			t.Fatal(err)
		}
		// MkdirTemp's folder is closed to others
		shared := filepath.Join(filepath.Dir(cfg.Dir()), "shared")
		for _, dir := range []string{filepath.Dir(shared), shared} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o711); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		mapped := strings.Replace(string(text), "\nbatch:\n", "\nsandboxes: "+shared+"/jobs\nbatch:\n  users: {otherwise: daemon}\n", 1)
		if err := os.WriteFile(file, []byte(mapped), 0o644); err != nil {
			t.Fatal(err)
		}
		c := serve(t, file)
		a, err := c.Submit(t.Context(), api.Submission{Key: "1", Document: strings.Replace(spoken, "it's $WORD", "$(id -un)", 1), Name: "job.jsdl"})
		if err != nil {
			t.Fatal(err)
		}
		s := wait(t, c, a.ID)
		if s.ExitCode == nil || *s.ExitCode != 3 {
			h, _ := c.History(t.Context(), a.ID)
			t.Fatalf("%+v\n%+v", s, h)
		}
		var out strings.Builder
		if _, err := c.Output(t.Context(), a.ID, "out", &out); err != nil || out.String() != "daemon\n" {
			t.Errorf("the job says %q, %v", out.String(), err)
		}
	})
}
