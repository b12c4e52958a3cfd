package slurm_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gbroker/pbs/slurm/slurmtest"
)

// BenchmarkPoll is one listing of a cluster with 1,000 waiting jobs: controller-ms is the
// processor time that it costs slurmctld, which is divided by the interval of polls (10 s)
// to compare it with 1 % of a core.
//
//	make bench PACKAGES=./pbs/slurm BENCH=Poll COUNT=1
func BenchmarkPoll(b *testing.B) {
	const jobs = 1000
	cluster := slurmtest.Start(b, slurmtest.Config{})
	c := client(cluster)
	script := filepath.Join(b.TempDir(), "job.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nsleep 1\n"), 0o755); err != nil {
		b.Fatal(err)
	}
	for range jobs {
		cluster.Run(b, "sbatch", "--hold", "--time=10", "--output=/dev/null", script)
	}
	pid := controllerOf(b, cluster)
	before := processorTime(b, pid)
	for b.Loop() {
		l, err := c.Listing(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if len(l.Jobs) < jobs {
			b.Fatalf("%d jobs are listed", len(l.Jobs))
		}
	}
	each := (processorTime(b, pid) - before) / time.Duration(b.N)
	b.ReportMetric(float64(each.Microseconds())/1000, "controller-ms/op")
	b.ReportMetric(100*each.Seconds()/10, "%-of-a-core-each-10s")
}

// controllerOf is the process of the cluster's slurmctld.
func controllerOf(b *testing.B, c *slurmtest.Cluster) int {
	b.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range all {
		line, err := os.ReadFile(name)
		if words := strings.Split(string(line), "\x00"); err == nil && filepath.Base(words[0]) == "slurmctld" && strings.Contains(string(line), c.Conf) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			return pid
		}
	}
	b.Fatal("the controller is not found")
	return 0
}

// processorTime is what a process has used, user and system, its ended threads too: in
// steps of 10 ms, so that some hundred polls are needed.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // behind the name, which may hold anything
	fields := strings.Fields(rest)
	var ticks int64
	for _, f := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}
