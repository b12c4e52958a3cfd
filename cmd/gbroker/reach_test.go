package main

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
)

// toolAlone is the environment of a node that has no more than one of the tools by which jobs meet.
func toolAlone(t *testing.T, tool string) []string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{tool, "uname"} {
		at, err := exec.LookPath(name)
		if err == nil && name == "python3" { // which may be a script that looks for another
			var out []byte
			out, err = exec.CommandContext(t.Context(), at, "-c", "import sys; print(sys.executable)").Output()
			at = strings.TrimSpace(string(out))
		}
		if err != nil {
			t.Skipf("no %s on this machine: that jobs meet by it is not tested", name)
		}
		if err := os.Symlink(at, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"PATH=" + dir}
}

// listening is a job that listens for as many seconds, what it says from then on, and what it has said of where.
func listening(t *testing.T, tool, limit string) (*exec.Cmd, *bufio.Scanner, []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "meet.sh", "listen", "word", "20000", "29999", limit)
	cmd.Env = toolAlone(t, tool)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	at := strings.Fields(lines.Text())
	if len(at) != 4 || at[0] != "listens" {
		t.Fatalf("it says %q", at)
	}
	return cmd, lines, at
}

// strangers come to a port before who is awaited: one goes at once, some say what is wrong, one stays and is silent.
func strangers(t *testing.T, port string) {
	t.Helper()
	for _, says := range []string{"", "GET / HTTP/1.1\r\n\r\n", "localhost 1\n", "ward 1\n", "word 65536\n", "word 0\n", "word 1 2\n", "wor"} {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", net.JoinHostPort("localhost", port))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(says)); err != nil {
			t.Fatal(err)
		}
		if says != "wor" {
			c.Close()
			continue
		}
		t.Cleanup(func() { c.Close() })
	}
}

// Two jobs meet, with either tool at either end, and tell of each way, whoever else has come before.
func TestJobsMeet(t *testing.T) {
	t.Parallel()
	tools := []string{"perl", "python3"}
	for i, tool := range tools {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			listener, lines, at := listening(t, tool, "60")
			strangers(t, at[2])
			other := exec.CommandContext(t.Context(), "/bin/sh", "meet.sh", "meet", "word", "localhost", at[2], at[3])
			other.Env = toolAlone(t, tools[1-i])
			said, err := other.CombinedOutput()
			if want := "reached localhost " + at[2] + "\nreached localhost " + at[3] + "\n"; err != nil || string(said) != want {
				t.Errorf("it says %s, %v", said, err)
			}
			lines.Scan()
			if back := strings.Fields(lines.Text()); len(back) != 3 || back[0] != "reached" || back[1] != "127.0.0.1" {
				t.Errorf("back it says %q", back)
			}
			if err := listener.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What is told of what was tried, and of what is declared.
func TestReachIsJudged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		out      string
		declared bool
		verdict  string
		says     string
	}{
		{"reached n1 20001\nreached n1 4000\nreached n2 5000\n", true, daemon.Fine, "as batch.reach says"},
		{"reached n1 20001\nreached n1 4000\nreached n2 5000\n", false, daemon.Fine, "write reach: [beta]"},
		{"reached n1 20001\nfailed n1 4000 no route to host\nreached n2 5000\n", true, daemon.Mend, "take it out"},
		{"reached n1 20001\nreached n1 4000\n", false, daemon.Mend, "leave beta out"},
		{"a line\n", true, daemon.Untried, "perl or python3"},
	} {
		var told []daemon.Finding
		m := meeting{site: "beta", tell: func(f daemon.Finding) { told = append(told, f) }}
		if c.declared {
			m.cfg.Batch.External.Reach = []grid.SiteName{"beta"}
		}
		m.judge(m.trials("way", c.out))
		last := told[len(told)-1]
		if last.Verdict != c.verdict || !strings.Contains(last.Text, c.says) {
			t.Errorf("of %q it says %+v", c.out, last)
		}
		if failed := strings.Contains(c.out, "failed"); failed != (len(told) > 2 && told[1].Verdict == daemon.Mend) {
			t.Errorf("of %q it says %+v", c.out, told)
		}
	}
}

// A site that is declared here, and does not declare this one is told of.
func TestReachIsMutual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		here, there []grid.SiteName
		told        bool
	}{
		{[]grid.SiteName{"beta"}, []grid.SiteName{"gamma", "alpha"}, false},
		{[]grid.SiteName{"beta"}, []grid.SiteName{"alias"}, true},
		{[]grid.SiteName{"beta"}, nil, true},
		{nil, nil, false},
	} {
		var told []daemon.Finding
		m := meeting{site: "beta", tell: func(f daemon.Finding) { told = append(told, f) }}
		m.cfg.Site, m.cfg.Batch.External.Reach = "alpha", c.here
		m.compare([]api.Site{{Name: "gamma"}, {Name: "beta", Reach: c.there}})
		if (len(told) == 1 && told[0].Verdict == daemon.Mend) != c.told || len(told) > 1 {
			t.Errorf("%v here and %v there: %+v", c.here, c.there, told)
		}
	}
}

// Where nobody listens the failure is told with its reason, and nobody is awaited.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"perl", "python3"} {
		begun := time.Now()
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "meet.sh", "meet", "word", "localhost", "1", "2")
		cmd.Env = toolAlone(t, tool)
		said, err := cmd.CombinedOutput()
		if lines := strings.Split(strings.TrimSpace(string(said)), "\n"); err != nil || len(lines) != 2 || !strings.Contains(lines[0], "failed localhost 1 ") || !strings.Contains(string(said), "refused") {
			t.Errorf("it says %s, %v", said, err)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("it takes %v", took)
		}
	}
}

// A job to which nobody comes ends when its time is over, as a failure.
func TestNobodyComes(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"perl", "python3"} {
		listener, lines, _ := listening(t, tool, "1")
		begun := time.Now()
		if lines.Scan() {
			t.Errorf("it says %q", lines.Text())
		}
		if err := listener.Wait(); err == nil || time.Since(begun) > 20*time.Second {
			t.Errorf("after %v it ends: %v", time.Since(begun), err)
		}
	}
}
