package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// get asks a broker's socket for a path.
func get(t *testing.T, socket, path string) (int, string) {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://gbroker"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// What an administrator sees of a daemon that has run one job, in words, as JSON and as
// metrics; and each step of the job is one line of the log.
func TestStatusOfDaemon(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "site") // short: a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	dir := filepath.Join(folder, "a")
	if out, errs, code := gbroker(t, "init", "--dir", dir, "--site", "a", "--nodes", "1", "--cores", "4"); code != 0 {
		t.Fatal(out, errs)
	}
	file := filepath.Join(dir, "gbroker.yaml")
	if _, errs, code := gbroker(t, "status", "--config", file); code != cli.Failed || !strings.Contains(errs, "does not run") {
		t.Errorf("without a daemon it ends with %d: %s", code, errs)
	}
	c := serve(t, file)
	cfg, err := daemon.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Submit(t.Context(), api.Submission{Key: "1", Name: "j.jsdl", Document: spoken})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, c, a.ID)
	text, errs, code := gbroker(t, "status", "--config", file)
	if code != 0 {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	for _, want := range []string{"a, serving", "of 4 cores busy, 0 jobs waiting", "1 COMPLETED", "version ", "MiB free"} {
		if !strings.Contains(strings.ReplaceAll(text, "GiB free", "MiB free"), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	var o api.Overview
	if text, _, _ := gbroker(t, "status", "--json", "--config", file); json.Unmarshal([]byte(text), &o) != nil || o.PID == 0 || o.Jobs["COMPLETED"] != 1 || o.Batch == nil {
		t.Errorf("as JSON: %s", text)
	}
	// A file that has become wrong does not hide how the daemon is.
	right, err := os.ReadFile(cfg.Neighbours)
	if err == nil {
		err = os.WriteFile(cfg.Neighbours, []byte("members: [{nam: b}]\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, errs, code = gbroker(t, "status", "--config", file)
	for end := time.Now().Add(20 * time.Second); code == 0 && time.Now().Before(end); text, errs, code = gbroker(t, "status", "--config", file) {
		time.Sleep(50 * time.Millisecond) //house:allow sleep: until the daemon has looked at the file
	}
	if code != cli.No || !strings.Contains(text, "1 COMPLETED") || !strings.Contains(text, "ALARM: the neighbours in "+cfg.Neighbours+" are refused, and the old ones stay") ||
		!strings.Contains(errs, `neighbours.yaml:1:12: unknown field "nam": did you mean "name"?`) || !strings.Contains(errs, "goes on with what it has read before") {
		t.Errorf("with a wrong file it ends with %d: %s\n%s", code, text, errs)
	}
	if err := os.Remove(cfg.Neighbours); err != nil {
		t.Fatal(err)
	}
	if text, errs, _ = gbroker(t, "status", "--config", file); !strings.Contains(text, "1 COMPLETED") || !strings.Contains(errs, "goes on with what it has read before") {
		t.Errorf("without the file: %s\n%s", text, errs)
	}
	if err := os.WriteFile(cfg.Neighbours, right, 0o644); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) { //house:allow sleep: until the daemon has looked at the file
		if _, _, code = gbroker(t, "status", "--config", file); code == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the alarm stays when the file is right again")
		}
	}
	status, metrics := get(t, cfg.Socket, "/metrics")
	for _, want := range []string{
		"\ngbroker_jobs_accepted_total 1\n", "\ngbroker_jobs_ended_total{state=\"COMPLETED\"} 1\n", "\ngbroker_jobs{state=\"COMPLETED\"} 1\n",
		"\ngbroker_job_wait_seconds_count 1\n", "\ngbroker_decisions_total{cause=\"first\"} 1\n", "\ngbroker_batch_cores 4\n", "\ngbroker_alarms 0\n",
		"\ngbroker_batch_polls_total{result=\"answered\"} ",
	} {
		if status != http.StatusOK || !strings.Contains(metrics, want) {
			t.Errorf("%d: %q is not in\n%s", status, want, metrics)
		}
	}
	manual, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(metrics, "\n") {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "# HELP "), " "); ok && strings.HasPrefix(line, "# HELP gbroker_") && !strings.Contains(string(manual), "`"+name) {
			t.Errorf("%s is not in docs/operating.md", name)
		}
	}
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ok\n"} {
		if status, text := get(t, cfg.Socket, path); status != http.StatusOK || text != want {
			t.Errorf("%s: %d %q", path, status, text)
		}
	}
}

// A neighbour that is not alive is told of in the words of `gclient sites`.
func TestStatusOfContact(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := printOverview(&b, &api.Overview{Members: []api.MemberAtGlance{{Name: "b", State: "dead", Contact: grid.Refused.String()}, {Name: "c", State: "dead"}}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "b          refused: does it list you?") || !strings.Contains(b.String(), "c          dead") {
		t.Errorf("it is shown as\n%s", &b)
	}
}
