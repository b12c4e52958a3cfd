package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The agent is small: it links neither libp2p nor SQLite, on any system that it is built for, and is complete there.
func TestWhatTheAgentLinks(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"linux", "windows", "darwin"} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{.Error}}", ".")
		cmd.Env = append(cmd.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		list, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", system, err)
		}
		if n := strings.Count(string(list), "\n"); n < 50 {
			t.Errorf("%s: %d packages", system, n)
		}
		for line := range strings.Lines(string(list)) {
			if strings.Contains(line, "libp2p") || strings.Contains(line, "sqlite") || !strings.HasSuffix(line, "<nil>\n") {
				t.Errorf("%s: the agent links %s", system, line)
			}
		}
	}
}

// It builds for systems on which it cannot be tried here.
func TestBuildsForOtherSystems(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds the standard library of two other systems")
	}
	for _, system := range []string{"windows", "darwin"} {
		cmd := exec.Command("go", "build", "-o", t.TempDir(), ".")
		cmd.Env = append(cmd.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", system, err, out)
		}
	}
}
