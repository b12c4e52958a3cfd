package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/test/cluster"
)

// soak is a pool under kills: what was handed in, and what became of it.
type soak struct {
	*testing.T
	chance    *rand.Rand
	dir       string
	ledger    string // in which jobs note their starts: a place where they may write besides their sandboxes
	site      *cluster.Site
	desks     []*desk
	jobs      []soaked
	late      int // refused for their deadlines
	begun     time.Time
	incidents []incident
}

// soaked is a job of it.
type soaked struct {
	name, id   string
	rerunnable bool
	copied     bool          // it may run on several computers at once
	arrival    time.Duration // since the soak began
	runs       time.Duration
	deadline   time.Duration
}

// TestSoakPool: 20 computers with owners that come and go, 300 jobs with deadlines, kills of agents and of the daemon, which is broker and pool. What may not be
// started twice is not; a third may have copies, and of six computers their results are compared; what is COMPLETED has its output, what is LOST says why and was not rerunnable, and no process is left of an agent that was killed.
func TestSoakPool(t *testing.T) {
	span, err := time.ParseDuration(os.Getenv("GBROKER_SOAK_POOL"))
	if err != nil {
		t.Skip("GBROKER_SOAK_POOL is no span: make soak-pool sets it")
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("GBROKER_SEED"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("GBROKER_SEED=%d", seed)
	s := &soak{T: t, chance: rand.New(rand.NewPCG(seed, 0)), dir: place(t)}
	shared, err := os.MkdirTemp("/dev/shm", "soak")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(shared) })
	s.ledger = filepath.Join(shared, "ledger")
	s.site = desktops(t, s.dir, "desk00", "desk01", "desk02", "desk03", "desk04", "desk05")
	for i := range 20 {
		s.desks = append(s.desks, newDesk(t, s.site, s.dir, fmt.Sprintf("desk%02d", i), "--speed", fmt.Sprintf("%.2f", 0.5+s.chance.Float64())))
	}
	const jobs = 300
	s.begun = time.Now()
	for n := 0; n < jobs || time.Since(s.begun) < span; {
		if handed := time.Duration(n) * span / jobs; n < jobs && time.Since(s.begun) >= handed {
			s.submit(n)
			n++
			continue
		}
		s.trouble()
		time.Sleep(time.Duration(s.chance.Int64N(int64(span / 200)))) //house:allow sleep: trouble comes when it comes
	}
	s.settle()
	s.check()
}

func (s *soak) submit(n int) {
	j := soaked{name: fmt.Sprintf("job%03d", n), rerunnable: s.chance.IntN(3) > 0, copied: s.chance.IntN(3) == 0, arrival: time.Since(s.begun), runs: time.Duration(s.chance.Int64N(int64(5 * time.Second)))}
	left := time.Duration(30+s.chance.IntN(300)) * time.Second
	j.deadline = j.arrival + left
	w := work{walltime: 20, output: "out.txt", terms: within(left)}
	w.script = fmt.Sprintf("echo %s >> %s; sleep %.1f; echo %s", j.name, s.ledger, j.runs.Seconds(), j.name)
	if j.rerunnable {
		w.terms += "<gb:Rerunnable>true</gb:Rerunnable>"
		if s.chance.IntN(2) == 0 {
			w.env = append(w.env, [2]string{"GBROKER_CHECKPOINT", "state"})
			w.script = "[ -e state ] || echo begun > state; " + w.script
		}
	}
	if j.copied {
		w.env = append(w.env, [2]string{"GBROKER_TWICE", "1"})
	}
	r := s.site.Client(s.Context(), "submit", w.write(s.T, s.dir, j.name))
	switch {
	case r.Code == 0:
		j.id = strings.TrimSpace(r.Stdout)
		s.jobs = append(s.jobs, j)
	case strings.Contains(r.Stderr, "deadline"):
		s.late++
	default:
		s.Errorf("%s is not taken: %s", j.name, r.Stderr)
	}
}

// trouble is one thing that happens.
func (s *soak) trouble() {
	at := s.chance.IntN(len(s.desks))
	d := s.desks[at]
	switch x := s.chance.IntN(40); {
	case x == 0:
		s.site.Kill()
		must(s.T, s.site.Start(s.Context()))
	case x < 6:
		s.note(at, "ends")
		d.end(syscall.SIGKILL)
	case x < 16 && d.cmd == nil:
		s.note(at, "starts")
		d.start()
	case x < 26:
		s.owner(at, []string{"active", "free", "free", "battery"}[s.chance.IntN(4)])
	}
}

// owner lets the owner of a computer do something.
func (s *soak) owner(desk int, does string) {
	s.note(desk, does)
	must(s.T, os.WriteFile(s.desks[desk].owner(), []byte(does), 0o600))
}

func (s *soak) note(desk int, what string) {
	s.incidents = append(s.incidents, incident{time.Since(s.begun), desk, what})
}

// settle ends all trouble and waits for the end of all jobs.
func (s *soak) settle() {
	for i, d := range s.desks {
		s.owner(i, "free")
		if d.cmd == nil {
			s.note(i, "starts")
			d.start()
		}
	}
	for _, j := range s.jobs {
		inTime(s.T, 8*time.Minute, "job "+j.name+" ends", func() bool {
			st, ok := asked(s.T, s.site, j.id)
			return ok && st.Terminal()
		})
	}
}

// check holds what was told against what happened.
func (s *soak) check() {
	ledger, err := os.ReadFile(s.ledger)
	must(s.T, err)
	starts, ends, twice, copies := map[string]int{}, map[string]int{}, 0, 0
	for name := range strings.FieldsSeq(string(ledger)) {
		starts[name]++
	}
	for _, j := range s.jobs {
		st := status(s.T, s.site, j.id)
		ends[st.State]++
		switch {
		case starts[j.name] > 1 && j.copied:
			copies++
		case starts[j.name] > 1:
			twice++
		}
		switch {
		case !j.rerunnable && !j.copied && starts[j.name] > 1:
			s.Errorf("%s was started %d times, and is not rerunnable", j.name, starts[j.name])
		case st.State == grid.Completed.String() && (st.ExitCode == nil || *st.ExitCode != 0):
			s.Errorf("%s is COMPLETED with %v: %s\n%s", j.name, deref(st.ExitCode), st.Reason, s.site.Client(s.Context(), "history", j.id).Stdout)
		case st.State == grid.Completed.String():
			s.checkOutput(j)
		case st.State == grid.Lost.String() && (j.rerunnable || st.Reason == ""):
			s.Errorf("%s is LOST, rerunnable %v: %q", j.name, j.rerunnable, st.Reason)
		case st.State != grid.Lost.String() && st.State != grid.CancelledDeadline.String():
			s.Errorf("%s is %s: %s", j.name, st.State, st.Reason)
		}
	}
	for _, d := range s.desks {
		d.end(syscall.SIGTERM)
	}
	real := len(s.jobs) - ends[grid.Completed.String()]
	foretold := foretell(len(s.desks), s.jobs, s.incidents)
	if real > foretold+len(s.jobs)/10 {
		s.Errorf("%d jobs did not end in time; in the simulation of the same script it is %d", real, foretold)
	}
	s.Logf("%d jobs did not end in time, %d in the simulation of the same script", real, foretold)
	s.Logf("%d jobs taken, %d refused for their deadlines, %d started more than once beside %d that may have copies or a second result; ends %v", len(s.jobs), s.late, twice, copies, ends)
}

func (s *soak) checkOutput(j soaked) {
	to := filepath.Join(s.dir, j.name+".out")
	client(s.T, s.site, "output", j.id, to)
	if text, err := os.ReadFile(filepath.Join(to, "out.txt")); err != nil || strings.TrimSpace(string(text)) != j.name {
		s.Errorf("%s is COMPLETED, and its output is %q, %v", j.name, text, err)
	}
}
