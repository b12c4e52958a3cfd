package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/pbs/slurm/slurmtest"
	"gbroker/test/cluster"
)

// overThree makes a broker over each of three clusters of Slurm, of 4, 6 and 6 cores, and the ledger of a job.
func overThree(t *testing.T) (clusters map[string]*slurmtest.Cluster, sites map[string]site, ledger string) {
	t.Helper()
	clusters, sites = take(t, "busy", "free", "wide"), map[string]site{}
	dir := place(t)
	var all []site
	for _, name := range []string{"busy", "free", "wide"} {
		sites[name] = overSlurm(t, clusters[name], dir, name, cluster.Options{})
		all = append(all, sites[name])
	}
	start(t, all...)
	introduce(t, all...)
	sees(t, sites["busy"], map[string]int{"busy": 4, "free": 6, "wide": 6})
	ledger = filepath.Join(dir, "ledger")
	must(t, os.WriteFile(ledger, nil, 0o666))
	return clusters, sites, ledger
}

// reservedAt waits until these clusters hold a reservation each.
func reservedAt(t *testing.T, clusters map[string]*slurmtest.Cluster, names ...string) {
	t.Helper()
	for _, name := range names {
		eventually(t, name+" is to hold a reservation", func() bool { return len(reservedIn(t, clusters[name])) > 0 })
	}
}

// nothingReserved tells that soon no cluster holds a reservation.
func nothingReserved(t *testing.T, clusters map[string]*slurmtest.Cluster) {
	t.Helper()
	for name, c := range clusters {
		eventually(t, "no reservation is to be left at "+name, func() bool { return len(reservedIn(t, c)) == 0 })
	}
}

// A job that needs all of three clusters begins at all of them at once.
func TestOneJobOverThreeClusters(t *testing.T) {
	t.Parallel()
	clusters, sites, ledger := overThree(t)
	home := sites["busy"]
	id := together(ledger, 16, 3).submit(t, home, filepath.Dir(ledger), "wide")
	reservedAt(t, clusters, "busy", "free", "wide")
	completes(t, home, id)
	t.Logf("the parts of 16 processes began %v apart", begunTogether(t, ledger, 16, "busy", "free", "wide"))
	nothingReserved(t, clusters)
}

// The controller of a cluster is killed when all three hold a reservation, as its site is to confirm, and comes back when
// its broker has noticed: the job begins everywhere at once, then or planned again, and nothing stays reserved.
func TestControllerDownDuringConfirm(t *testing.T) {
	long(t)
	t.Parallel()
	clusters, sites, ledger := overThree(t)
	home := sites["busy"]
	id := together(ledger, 16, 3).submit(t, home, filepath.Dir(ledger), "wide")
	reservedAt(t, clusters, "busy", "free", "wide")
	clusters["wide"].KillController()
	eventually(t, "the broker is to notice", func() bool {
		return strings.Contains(self(t, sites["wide"]).Alarm, "nothing is known of the batch system")
	})
	must(t, clusters["wide"].StartController())
	completes(t, home, id)
	t.Logf("the parts began %v apart", begunTogether(t, ledger, 16, "busy", "free", "wide"))
	nothingReserved(t, clusters)
}

// A node of a reservation dies before the job starts there: none of its parts begins, and it is planned again, over
// the clusters that are whole.
func TestNodeOfReservationDies(t *testing.T) {
	long(t)
	t.Parallel()
	clusters, sites, ledger := overThree(t)
	home := sites["busy"]
	id := together(ledger, 10, 2).submit(t, home, filepath.Dir(ledger), "wide")
	var hit string
	eventually(t, "two clusters are to hold a reservation", func() bool {
		held := 0
		for name, c := range clusters {
			if len(reservedIn(t, c)) == 0 {
				continue
			}
			if held++; name != "busy" {
				hit = name
			}
		}
		return held == 2
	})
	node, _, _ := strings.Cut(strings.SplitN(clusters[hit].Run(t, "scontrol", "-o", "show", "res"), " Nodes=node", 2)[1], " ")
	node = "node" + strings.Trim(node, "[]")[:2]
	must(t, clusters[hit].KillNode(node))
	clusters[hit].Run(t, "scontrol", "update", "nodename="+node, "state=down", "reason=dead")
	completes(t, home, id)
	list, _ := beginnings(t, ledger)
	t.Logf("%s of %s died: %v", node, hit, list)
	nothingReserved(t, clusters)
}
