package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/api/apitest"
)

// How long a whole `gclient status` takes, from exec to exit.
func BenchmarkStatusProcess(b *testing.B) {
	exe := filepath.Join(b.TempDir(), "gclient")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	s, stop := apitest.Start(b, api.Config{Users: apitest.New(), Admin: apitest.New(), Hook: apitest.New()})
	defer stop()
	c, err := api.NewClient(api.ClientConfig{Address: s.Addresses()[0]})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	a, err := c.Submit(b.Context(), api.Submission{Key: "k", Document: `<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:p="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"><JobDescription><Application><p:POSIXApplication><p:Executable>/bin/true</p:Executable></p:POSIXApplication></Application></JobDescription></JobDefinition>`})
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	b.ResetTimer()
	for b.Loop() {
		begin := time.Now()
		if out, err := exec.CommandContext(b.Context(), exe, "--broker", c.Address(), "status", string(a.ID)).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50")
}
