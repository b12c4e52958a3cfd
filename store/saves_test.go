package store

import (
	"context"
	"fmt"
	"os"
	"testing"

	"gbroker/grid"
)

// decisionsOf are n decisions among so many sites.
func decisionsOf(n, sites int) []grid.Decision {
	list := make([]grid.Decision, n)
	for i := range list {
		list[i] = grid.Decision{At: grid.Tick(1795000000000 + i), Epoch: grid.Epoch{Term: 1}, Chosen: "site0"}
		for s := range sites {
			list[i].Candidates = append(list[i].Candidates, grid.Candidate{
				Site: grid.SiteName(fmt.Sprint("site", s)), Peer: grid.PeerID(fmt.Sprintf("12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6i%03d", s)),
				Size: 1 << 30, Bandwidth: 1.25e7, Measured: true, Delivery: 85_899, Wait: 3_600_000, Safe: 7_200_000, Run: 1_800_000, Total: 5_485_899, Chosen: s == 0,
			})
		}
	}
	return list
}

// written is what the write-ahead log has grown by, in bytes, since it was cut.
func written(t testing.TB, j *Journal) int64 {
	t.Helper()
	info, err := os.Stat(j.file + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// cutLog empties the write-ahead log, which then grows by all that is written.
func cutLog(t testing.TB, j *Journal) {
	t.Helper()
	if _, err := j.conn.ExecContext(context.Background(), `PRAGMA wal_autocheckpoint = 0; PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkSave writes a change of a job that was searched a place for sixty-four times, among
// twelve sites: what its history costs each later save.
func BenchmarkSave(b *testing.B) {
	for _, decisions := range []int{1, 64} {
		b.Run(fmt.Sprintf("decisions=%d", decisions), func(b *testing.B) {
			j := mustOpen(b, b.TempDir())
			c := save(1, "changed")
			c.Decisions = decisionsOf(decisions, 12)
			mustCommit(b, j, c)
			c.Decisions = nil
			cutLog(b, j)
			for b.Loop() {
				of(c).Report++
				mustCommit(b, j, c)
			}
			b.ReportMetric(float64(written(b, j))/float64(b.N), "B-written/save")
		})
	}
}
