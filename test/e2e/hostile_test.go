package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/test/cluster"
	"gbroker/wire"
)

// What a member that offers and never commits makes a site hold is bounded: in memory and in the journal.
func TestHostileMember(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "victim", cluster.Options{Nodes: 1, Cores: 2})
	s.Env = nil // its memory is looked at
	start(t, s)
	l := newLiar(t, dir, "hostile", func(*liar, grid.PeerID, wire.Message) {}, s)
	must(t, s.Sees(t.Context(), patience, "hostile"))
	r, err := s.Ready()
	must(t, err)
	to, own := grid.PeerID(r.Peer), l.overlay.Peer()
	rss := resident(t, s)
	const offers = 120
	argument := strings.Repeat("x", 128<<10)
	answered := func() int {
		return l.got(func(m wire.Message) bool {
			switch m.(type) {
			case wire.Accept, wire.Ready, wire.Refuse:
				return true
			}
			return false
		})
	}
	for i := range offers {
		job := aJob(grid.JobID(fmt.Sprintf("hostile.01M7XVNVT1HF2GHP4JW2%06d", i)), own)
		for range 14 { // 1.8 MB
			job.Program.Arguments = append(job.Program.Arguments, argument)
		}
		l.send(to, wire.Offer{Job: job, Handoff: wire.HandoffID{Job: job.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, To: to, Digest: wire.JobDigest(job)}})
		if i%8 == 7 { // more at a time grow too old on the way on a busy machine
			eventually(t, "an answer to each offer", func() bool { return answered() > i })
		}
	}
	refused := l.got(func(m wire.Message) bool { _, is := m.(wire.Refuse); return is })
	grown, journal := peak(t, s)-rss, journalSize(t, s)
	t.Logf("%d offers of 1.8 MB, %d refused: %d MiB of memory more at most, a journal of %d MiB", offers, refused, grown/mebi, journal/mebi)
	if refused < offers/2 || grown > 120*mebi || journal > 64*mebi {
		t.Error("that is too much")
	}
}

// resident is the memory that a daemon holds now, in bytes.
func resident(t *testing.T, s site) int64 { return ofStatus(t, s, "VmRSS:") }

func journalSize(t *testing.T, s site) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(s.Config()), "data", "journal.db*"))
	must(t, err)
	for _, f := range files {
		info, err := os.Stat(f)
		must(t, err)
		n += info.Size()
	}
	if n == 0 {
		t.Fatal("there is no journal")
	}
	return n
}
