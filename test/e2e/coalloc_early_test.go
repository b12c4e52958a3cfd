package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/test/cluster"
)

// What runs on two clusters ends long before its limit: a job over both that allows an early start, and whose reservations stand
// behind that limit, begins soon after at both at once.
func TestOneJobOverTwoClustersBeginsSooner(t *testing.T) {
	long(t)
	t.Parallel()
	clusters := take(t, "wide", "free")
	dir := place(t)
	a := overSlurm(t, clusters["wide"], dir, "alpha", cluster.Options{})
	b := overSlurm(t, clusters["free"], dir, "beta", cluster.Options{})
	start(t, a, b)
	introduce(t, a, b)
	sees(t, a, map[string]int{"alpha": 6, "beta": 6})
	first := work{cpus: 12, walltime: 600, terms: `<gb:Coallocation sites="2" processes="1"/>`, script: "sleep 60"}.submit(t, a, dir, "first")
	eventually(t, "the first is to run", func() bool { st, ok := asked(t, a, first); return ok && st.State == "RUNNING" })
	ledger := filepath.Join(dir, "ledger")
	wide := together(ledger, 12, 2)
	wide.terms = `<gb:Coallocation sites="2" processes="1" early="true"/>`
	id := wide.submit(t, a, dir, "second")
	var planned api.Time
	eventually(t, "its parts are to wait for their reservations", func() bool {
		of := told[api.Explanation](t, a, "explain", id).Allocation
		if of == nil || of.State != "GATHERING" {
			return false
		}
		planned = of.Start
		return true
	})
	completes(t, a, id)
	begun := told[api.Explanation](t, a, "explain", id).Allocation.Begun
	sooner := time.Duration(planned-begun) * time.Millisecond
	if sooner < 5*time.Minute {
		t.Errorf("it began %v before it was planned", sooner)
	}
	t.Log(fmt.Sprintf("it began %v before it was planned, and its parts %v apart", sooner, begunTogether(t, ledger, 12, "alpha", "beta")))
	nothingReserved(t, clusters)
}
