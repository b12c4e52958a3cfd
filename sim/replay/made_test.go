package replay

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the logs of our own making, and the answers of the naive scheduler, anew")

// allPolicies are those that the naive scheduler knows.
var allPolicies = []string{"fcfs", "firstfit", "firstfit:8", "easy", "easysjbf", "easy:1:sjf", "easy:4", "cons-rebuild", "cons-compress"}

// madeLogs are the logs in testdata that were made, by the seed they were made of.
var madeLogs = []struct {
	seed  uint64
	procs int32
	jobs  int
}{{seed: 1, procs: 24, jobs: 500}, {seed: 2, procs: 128, jobs: 500}}

// makeLog writes a log in which most of the machine is asked for most of the time: jobs
// come in bursts, ask for far more time than they run, many for powers of two, and some
// end as they begin.
func makeLog(seed uint64, procs int32, jobs int) string {
	r := rand.New(rand.NewPCG(seed, uint64(procs)))
	var out strings.Builder
	fmt.Fprintf(&out, "; Version: 2.2\n; MaxProcs: %d\n; Note: made by sim/replay/made_test.go from the seed %d\n", procs, seed)
	limits := []int64{60, 300, 900, 3600, 3600, 7200, 14400, 43200}
	var submit, asked int64
	for id := 1; id <= jobs; id++ {
		limit := limits[r.IntN(len(limits))]
		run := limit
		switch r.IntN(8) {
		case 0: // as long as it may
		case 1:
			run = r.Int64N(3)
		default:
			run = 1 + int64(float64(limit)*r.Float64()*r.Float64())
		}
		p := 1 + r.Int32N(procs)
		if r.IntN(4) > 0 {
			p = min(int32(1)<<r.IntN(7), procs)
		}
		fmt.Fprintf(&out, "%d %d -1 %d %d -1 -1 %d %d -1 1 %d 1 %d 1 -1 -1 -1\n", id, submit, run, p, p, limit, 1+r.IntN(9), 1+r.IntN(3))
		if asked += int64(p) * run; r.IntN(3) == 0 { // a burst ends: until about so much is done
			submit += r.Int64N(2*asked/int64(procs) + 2)
			asked = 0
		}
	}
	return out.String()
}

func readText(t testing.TB, text string) *Log {
	t.Helper()
	log, _, err := Read(strings.NewReader(text), whole)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// answer is what the naive scheduler makes of a log, as WriteStarts writes it.
func answer(t testing.TB, log *Log, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteStarts(&out, log, &Result{Starts: naiveOf(text, log).run()}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The logs of our own making have answers of the naive scheduler, under every policy. They
// are here in every clone, as the logs of real machines are not.
func TestMadeAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range madeLogs {
		name := filepath.Join("testdata", fmt.Sprintf("made%d", c.seed))
		text := makeLog(c.seed, c.procs, c.jobs)
		if *update {
			write(t, name+".swf", text)
		}
		if readAll(t, name+".swf") != text {
			t.Errorf("%s.swf is not what its seed makes", name)
		}
		log := readLog(t, name+".swf", whole)
		for _, policyText := range allPolicies {
			file := fmt.Sprintf("%s.%s.starts", name, strings.ReplaceAll(policyText, ":", "-"))
			if *update {
				write(t, file, answer(t, log, policyText))
			}
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				compare(t, log, policy(t, policyText), readAll(t, file))
			})
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// And of a seed from the clock, what the naive scheduler says of it now.
func TestFreshLogs(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	for i, procs := range []int32{1, 7, 64} {
		text := makeLog(seed+uint64(i), procs, 150)
		log := readText(t, text)
		for _, policyText := range allPolicies {
			t.Run(fmt.Sprintf("%d/%s", procs, policyText), func(t *testing.T) {
				t.Parallel()
				compare(t, log, policy(t, policyText), answer(t, log, policyText))
				if t.Failed() {
					t.Logf("makeLog(%d, %d, 150)", seed+uint64(i), procs)
				}
			})
		}
	}
}
