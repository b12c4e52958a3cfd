package slurm_test

import (
	"context"
	"slices"
	"testing"

	"gbroker/pbs/external"
	"gbroker/pbs/slurm/slurmtest"
)

// Jobs of a partition that is hidden from users hold nodes like any other's.
func TestHiddenPartition(t *testing.T) {
	t.Parallel()
	cluster := slurmtest.Start(t, slurmtest.Config{
		Nodes: []slurmtest.Nodes{{Count: 1, CPUs: 2}},
		Partitions: []string{
			"batch Nodes=ALL Default=YES DefaultTime=10 MaxTime=1-0 State=UP",
			"secret Nodes=ALL Hidden=YES DefaultTime=10 MaxTime=1-0 State=UP",
		},
	})
	cluster.Run(t, "sbatch", "--hold", "--partition=secret", "--output=/dev/null", "--wrap=true")
	listing, err := client(cluster).Listing(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(listing.Jobs, func(j external.Job) bool { return j.Queue == "secret" }) {
		t.Errorf("the job of the hidden partition is not listed: %+v", listing.Jobs)
	}
	if len(listing.Queues) != 2 {
		t.Errorf("the queues are %+v", listing.Queues)
	}
}
