package replay

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

// passByPass replays a log by plan.Pass, each pass from a snapshot of one node with all
// processors: what package plan does for a site, of which this is one.
func passByPass(log *Log, p plan.Policy) []int64 {
	starts := make([]int64, len(log.Jobs))
	s := plan.Snapshot{Policy: p, Nodes: []plan.Node{{Name: "n", Cores: int(log.Procs)}}}
	var running, waiting []int // of log.Jobs
	for came := 0; came < len(log.Jobs) || len(running)+len(waiting) > 0; {
		now := grid.Tick(1) << 60
		if came < len(log.Jobs) {
			now = grid.Tick(log.Jobs[came].Submit)
		}
		for _, i := range running {
			now = min(now, grid.Tick(starts[i]+log.Jobs[i].Run))
		}
		running = slices.DeleteFunc(running, func(i int) bool { return grid.Tick(starts[i]+log.Jobs[i].Run) <= now })
		s.At, s.Running = now, s.Running[:0]
		for _, i := range running {
			j := &log.Jobs[i]
			s.Running = append(s.Running, plan.Running{Start: grid.Tick(starts[i]), End: grid.Tick(starts[i] + j.Limit), Shares: []plan.Share{{Cores: int(j.Procs)}}})
		}
		for ; came < len(log.Jobs) && grid.Tick(log.Jobs[came].Submit) <= now; came++ {
			j := &log.Jobs[came]
			waiting = append(waiting, came)
			s.Waiting = append(s.Waiting, plan.Waiting{Limit: grid.Tick(j.Limit), Demand: grid.Demand{Chunks: []grid.Chunk{{Count: int(j.Procs), Processes: 1, Cores: 1}}}})
		}
		var gone []int
		for _, at := range plan.Pass(s) {
			starts[waiting[at.Index]] = int64(now)
			running = append(running, waiting[at.Index])
			for i := range at.Index {
				s.Waiting[i].Overtaken++
			}
			gone = append(gone, at.Index)
		}
		slices.Sort(gone)
		for _, i := range slices.Backward(gone) {
			waiting, s.Waiting = slices.Delete(waiting, i, i+1), slices.Delete(s.Waiting, i, i+1)
		}
	}
	return starts
}

// A site of one node gets the known answers too, from passes that know nothing of those
// before. Under cons-compress reservations are kept from pass to pass, which no snapshot holds.
func TestPassByPassGetsTheAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range madeLogs {
		name := filepath.Join("testdata", fmt.Sprintf("made%d", c.seed))
		log := readLog(t, name+".swf", whole)
		for _, text := range allPolicies {
			if text == "cons-compress" {
				continue
			}
			t.Run(fmt.Sprintf("%d/%s", c.seed, text), func(t *testing.T) {
				t.Parallel()
				var out bytes.Buffer
				if err := WriteStarts(&out, log, &Result{Starts: passByPass(log, policy(t, text))}); err != nil {
					t.Fatal(err)
				}
				if want := readAll(t, fmt.Sprintf("%s.%s.starts", name, strings.ReplaceAll(text, ":", "-"))); out.String() != want {
					t.Error("other starts than the known ones")
				}
			})
		}
	}
}

// Why package counted exists: how many times as long the passes of package plan take for the same log. Under cons-compress
// there are none; see BenchmarkPlanAgainstCounted in package counted.
func BenchmarkPassByPass(b *testing.B) {
	for _, c := range madeLogs {
		log := readLog(b, filepath.Join("testdata", fmt.Sprintf("made%d.swf", c.seed)), whole)
		for _, text := range allPolicies {
			if text == "cons-compress" {
				continue
			}
			b.Run(fmt.Sprintf("%d/%s", c.seed, text), func(b *testing.B) {
				p := policy(b, text)
				var counted, byNode float64
				for b.Loop() {
					began := processorTime(b)
					for range passRuns {
						if _, err := Run(b.Context(), log, p, nil); err != nil {
							b.Fatal(err)
						}
					}
					between := processorTime(b)
					passByPass(log, p)
					counted, byNode = counted+(between-began)/passRuns, byNode+processorTime(b)-between
				}
				b.ReportMetric(byNode/counted, "ratio")
			})
		}
	}
}

// passRuns is how often a log is replayed for one by package plan: one replay is too short to be measured.
const passRuns = 20
