package main

import (
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
)

const spoken = `<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:p="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix">
 <JobDescription>
  <Application><p:POSIXApplication>
   <p:Executable>/bin/sh</p:Executable><p:Argument>-c</p:Argument><p:Argument>echo "it's $WORD"; exit 3</p:Argument><p:Output>out</p:Output>
   <p:Environment name="WORD">here</p:Environment>
  </p:POSIXApplication></Application>
 </JobDescription>
</JobDefinition>`

// serve runs the daemon of a site until the test ends, and gives a client of it.
func serve(t *testing.T, file string) *api.Client {
	t.Helper()
	cfg, err := daemon.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		_, errs, _ := gbroker(t, "run", "--config", file, "--listen", "/ip4/127.0.0.1/tcp/0", "--log-level", "error")
		ended <- errs
	}()
	t.Cleanup(func() { <-ended }) // the test's context has ended by then
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		if _, err := daemon.ReadReady(t.Context(), cfg); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	c, err := api.NewClient(api.ClientConfig{Address: "unix://" + cfg.Socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// wait follows a job to its end.
func wait(t *testing.T, c *api.Client, id grid.JobID) api.Status {
	t.Helper()
	s, err := c.Wait(t.Context(), id, "")
	for err == nil && !s.Terminal() {
		s, err = c.Wait(t.Context(), id, s.State)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A whole broker runs a user's job by the batch system: files, environment, exit status, output.
func TestBrokerOverBatchSystems(t *testing.T) {
	t.Parallel()
	overAll(t, func(t *testing.T, file string) {
		c := serve(t, file)
		a, err := c.Submit(t.Context(), api.Submission{Key: "1", Document: spoken, Name: "job.jsdl"})
		if err != nil {
			t.Fatal(err)
		}
		if s := wait(t, c, a.ID); s.ExitCode == nil || *s.ExitCode != 3 {
			t.Fatalf("%+v", s)
		}
		var out strings.Builder
		if _, err := c.Output(t.Context(), a.ID, "out", &out); err != nil || out.String() != "it's here\n" {
			t.Errorf("the output is %q, %v", out.String(), err)
		}
		sites, err := c.Sites(t.Context())
		if err != nil || sites[0].Processes < 2 || sites[0].Alarm != "" {
			t.Errorf("the site is %+v, %v", sites, err)
		}
		_, errs, code := gbroker(t, "notify", "--config", file, "--strict", "17")
		if code != 0 || strings.TrimSpace(errs) != "" {
			t.Errorf("notify ends with %d: %s", code, errs)
		}
	})
}

// A whole broker tells the next job that it waits for its user's limit.
func TestBrokerReckonsWithLimits(t *testing.T) {
	t.Parallel()
	path := fakebatch.Start(t, batch.Config{Face: "openpbs", MaxRun: 1}).Path()
	c := serve(t, made(t, daemon.OpenPBS, []string{"PATH=" + path}))
	submit := func(key, state string) api.Status {
		a, err := c.Submit(t.Context(), api.Submission{Key: key, Document: strings.Replace(spoken, "exit 3", "sleep 600", 1), Name: "job.jsdl"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Wait(t.Context(), a.ID, "")
		for err == nil && s.State != state {
			s, err = c.Wait(t.Context(), a.ID, s.State)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	submit("1", grid.Running.String())
	s := submit("2", grid.Assigned.String())
	if wait := s.StartEstimateAtSubmit - s.Submitted; grid.Tick(wait) < grid.Minute {
		t.Errorf("the second job of a user who may run one is told a wait of %v ms", wait)
	}
}
