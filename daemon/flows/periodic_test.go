package flows

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
)

// again is the diamond so many times, every so many seconds.
func again(count int, perS float64) api.FlowSubmission {
	s := diamond()
	s.Periodic = &api.FlowPeriodic{Rate: 1, PerS: perS, Count: count, DeadlineS: 30}
	return s
}

// A periodic workflow runs as often as it says, each instance begins at its time, overlapping those before, and each task of it once; what
// the instances were made of is removed.
func TestPeriodic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		folder, b := t.TempDir(), newBroker()
		k, stop := keeper(t, folder, b)
		defer stop()
		began := time.Now()
		s := await(t, k, begin(t, k, again(6, 5)))
		if p := s.Periods; p.Done != 6 || p.Failed+p.Missed+p.Late+p.Open != 0 || p.AgeP50S < 6 || p.AgeMostS > 6.5 || b.begun["end"] != 6 || b.begun["top"] != 6 {
			t.Errorf("the periods are %+v, begun %v", p, b.begun)
		}
		if took := time.Since(began); took < 31*time.Second || took > 32*time.Second {
			t.Errorf("it took %v, not five periods and one run", took)
		}
		if list, err := os.ReadDir(folder); err != nil || len(list) != 1 {
			t.Errorf("%d folders are left (%v)", len(list), err)
		}
		if list, err := k.Flows(t.Context(), bob); err != nil || len(list) != 1 {
			t.Errorf("%d workflows are listed (%v)", len(list), err)
		}
	})
}

// A keeper is ended anywhere and comes back after a while: each period is an instance or missed, and no task runs twice in one.
func TestPeriodicThroughKills(t *testing.T) { periodicThroughKills(t, *histories/2+1) }

func TestLargePeriodicThroughKills(t *testing.T) { periodicThroughKills(t, many/2) }

func periodicThroughKills(t *testing.T, histories int) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	for n := range uint64(histories) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, n))
			folder, b := t.TempDir(), newBroker()
			k, stop := keeper(t, folder, b)
			id := begin(t, k, again(8, 5))
			for range 3 {
				time.Sleep(time.Duration(r.IntN(9000)) * time.Millisecond) //house:allow sleep: virtual time
				stop()
				time.Sleep(time.Duration(r.IntN(9000)) * time.Millisecond) //house:allow sleep: virtual time
				k, stop = keeper(t, folder, b)
			}
			defer stop()
			p := await(t, k, id).Periods
			if p.Done+p.Failed+p.Missed != 8 || p.Failed != 0 || p.Open != 0 || p.Missed > 6 {
				t.Errorf("seed %d, %d: the periods are %+v", seed, n, p)
			}
			for _, name := range []string{"top", "left", "right", "end"} {
				if b.begun[name] != p.Done {
					t.Errorf("seed %d, %d: %s was begun %d times in %d instances", seed, n, name, b.begun[name], p.Done)
				}
			}
		})
	}
}

// What the sites cannot sustain is refused, and says what is short; what is too often, too.
func TestPeriodicRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		k, stop := keeper(t, t.TempDir(), b)
		defer stop()
		s := await(t, k, begin(t, k, again(0, 1)))
		if why := s.Tasks[0].Reason; !strings.Contains(why, "cannot be sustained") || !strings.Contains(why, "cores") || len(b.jobs) != 0 {
			t.Errorf("8 core-seconds a second on two cores: %q, %d jobs", why, len(b.jobs))
		}
		often := again(1, 0.01)
		often.Key = "often"
		if _, _, err := k.SubmitFlow(t.Context(), bob, often); err == nil {
			t.Error("a hundred times a second is taken")
		}
	})
}

// A site tells only that it has as much of a resource as was asked about: what needs more, and may be there, is not refused.
func TestPeriodicOfMoreThanIsAskedAbout(t *testing.T) {
	t.Parallel()
	for gpus, state := range map[int64]string{64: running, 12: ended} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			b.cores, b.gpus, b.waits, b.runs = 64, gpus, map[string]time.Duration{"home": 0}, 50*time.Second
			k, stop := keeper(t, t.TempDir(), b)
			defer stop()
			s := again(0, 60)
			s.Tasks = nil
			for i := range 30 {
				task := made(fmt.Sprintf("t%d", i), "text", fmt.Sprintf("o%d", i))
				task.Document, task.RuntimeS = strings.Replace(task.Document, "</Application>", "</Application>"+resource, 1), 50
				s.Tasks = append(s.Tasks, task)
			}
			id := begin(t, k, s)
			time.Sleep(10 * time.Second) //house:allow sleep: virtual time
			f, err := k.Flow(t.Context(), bob, id)
			if err != nil || f.State != state || (state == ended) != strings.Contains(f.Tasks[0].Reason, "gpu") {
				t.Errorf("%d GPUs for 25 that are needed: %s, %q (%v)", gpus, f.State, f.Tasks[0].Reason, err)
			}
		})
	}
}

// A periodic workflow without a count runs until it is cancelled, with what is under way; failures and deadlines missed are counted.
func TestPeriodicCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		k, stop := keeper(t, t.TempDir(), b)
		defer stop()
		endless := again(0, 5)
		endless.Periodic.DeadlineS, endless.Retries = 5, 0
		id := begin(t, k, endless)
		time.Sleep(12 * time.Second) //house:allow sleep: virtual time
		b.mu.Lock()
		b.fail["left"] = true
		b.mu.Unlock()
		time.Sleep(15 * time.Second) //house:allow sleep: virtual time
		if _, err := k.CancelFlow(t.Context(), bob, id); err != nil {
			t.Fatal(err)
		}
		p := await(t, k, id).Periods
		if p.Done < 1 || p.Failed < 3 || p.Late != p.Done || p.Done+p.Failed != 6 || p.Missed != 0 {
			t.Errorf("the periods are %+v", p)
		}
		jobs := len(b.jobs)
		time.Sleep(time.Minute) //house:allow sleep: virtual time
		if len(b.jobs) != jobs {
			t.Error("it goes on")
		}
	})
}
