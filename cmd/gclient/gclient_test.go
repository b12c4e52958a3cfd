package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gbroker/api"
	"gbroker/api/apitest"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"gclient": func() { os.Exit(cli.Main(newRoot())) },
	})
}

type serviceKey struct{}

// TestScripts runs testdata/*.txt as a user would, each against a broker of its
// own that runs nothing: the script says what becomes of a job.
//
//	exits N COMMAND...                 the command ends with N; stdout and stderr can be looked at
//	becomes ID STATE [code=N] [signal=N] [reason=TEXT]
//	leaves ID complete|sofar PATH=TEXT...
//	uploaded ID PATH TEXT
//	foresees [nobody|dear|priced]            what where answers from now on
//	interrupts                         the commands in the background get SIGINT
//	called                             something in the background has called the broker at $MUTE, which never answers
//	rests                              a call waits at the broker for a change
//	outage KIND|none                   every call fails with this kind
//	forgets                            what has changed is told to nobody any more, as after a restart
//
// The concurrent ones run here: their commands do several things at a time, so the race detector may find something.
func TestScripts(t *testing.T) {
	t.Parallel()
	play(t, true)
}

// TestLargeScripts runs the others: their commands do one thing after the other, and the detector would take twice the time for them.
func TestLargeScripts(t *testing.T) {
	t.Parallel()
	play(t, false)
}

// concurrent are the scripts of commands that follow, cancel many, are interrupted, or watch for keys.
var concurrent = []string{"input", "logs", "many", "output", "several", "top", "wait", "watch"}

// play runs the scripts that are among the concurrent ones, or are not.
func play(t *testing.T, among bool) {
	t.Helper()
	all, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	left := slices.Clone(concurrent)
	for _, file := range all {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if slices.Contains(concurrent, name) == among {
			files = append(files, file)
		}
		left = slices.DeleteFunc(left, func(l string) bool { return l == name })
	}
	if len(left) > 0 || len(files) == 0 {
		t.Fatalf("%d scripts, and none is called %q", len(files), left)
	}
	testscript.Run(t, testscript.Params{
		Files: files,
		Setup: setup,
		Condition: func(name string) (bool, error) { // [root]: whom no mode keeps from a file
			if name != "root" {
				return false, fmt.Errorf("there is no condition %s", name)
			}
			return os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "becomes": becomes, "leaves": leaves, "uploaded": uploaded, "outage": outage,
			"interrupts": interrupts, "called": called, "foresees": foresees, "forgets": forgets, "rests": rests,
		},
	})
}

func setup(env *testscript.Env) error {
	service := apitest.New()
	service.AddSite(api.SiteView{
		Site: grid.Site{Name: "there", Processes: 80, Speed: 2, Load: grid.Load{Cores: 80, Busy: 64, Waiting: 7}}, Peer: "12D3KooWThere", Version: "0.9", Send: true, State: grid.Doubtful,
		Link: grid.Link{RTT: 2, RTTFine: 0.0015, Rates: []grid.Rate{{Size: 1024, BytesPerSecond: 1e6, Measured: true}, {Size: 8 << 20, BytesPerSecond: 1e7}}},
	})
	token := filepath.Join(env.WorkDir, ".token")
	if err := os.WriteFile(token, []byte(strings.Repeat("0123456789abcdef", 4)+"\n"), 0o600); err != nil {
		return err
	}
	server, stop := apitest.Start(env.T(), api.Config{Users: service, Admin: service, Hook: service, TCPAddress: "127.0.0.1:0", TokenFile: token,
		Limits: api.Limits{Cancel: 50 * time.Millisecond}})
	env.Defer(func() { _ = stop() })
	env.Values[serviceKey{}] = service
	env.Setenv("GBROKER", server.Addresses()[0])
	env.Setenv("HTTP", server.Addresses()[1])
	env.Setenv("TOKEN", token)
	env.Setenv("TZ", "UTC")
	if err := beMute(env); err != nil {
		return err
	}
	env.Setenv("GORACE", "atexit_sleep_ms=0") // else each command takes a second more under -race
	env.Setenv("ID", "here.00000000000000000000000001")
	for i := 2; i < 10; i++ {
		env.Setenv(fmt.Sprint("ID", i), fmt.Sprintf("here.%026d", i))
	}
	return nil
}

func service(ts *testscript.TestScript) *apitest.Service {
	s, _ := ts.Value(serviceKey{}).(*apitest.Service)
	return s
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil {
		ts.Fatalf("usage: exits N COMMAND...")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// interrupts ends the commands in the background as Ctrl-C does.
func interrupts(ts *testscript.TestScript, _ bool, _ []string) {
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(syscall.SIGINT))
	}
}

func becomes(ts *testscript.TestScript, _ bool, args []string) {
	state, err := grid.ParseState(args[1])
	ts.Check(err)
	decided, allocated := false, ""
	ts.Check(service(ts).Change(grid.JobID(args[0]), func(r *grid.Record) {
		r.State = state
		for _, a := range args[2:] {
			name, value, _ := strings.Cut(a, "=")
			n, _ := strconv.Atoi(value)
			switch name {
			case "term":
				r.Epoch.Term = uint32(n)
			case "code":
				r.ExitCode, r.HasExit = n, true
			case "signal":
				r.ExitCode, r.HasExit, r.Signal = 128+n, true, n
			case "submitted":
				r.Submitted = grid.Tick(n)
			case "started":
				r.Started = grid.Tick(n)
			case "finished":
				r.Finished = grid.Tick(n)
			case "user":
				r.Job.User.Name = value
			case "local":
				r.Local = grid.LocalID(value)
			case "cpu":
				r.Usage.CPU = grid.Tick(n)
			case "memory":
				r.Usage.Memory = int64(n)
			case "nodes":
				r.Usage.Nodes = value
			case "reason":
				r.Reason = value
			case "decided":
				decided = true
			case "allocated":
				allocated, r.Job.Coallocation = value+",", &grid.Coallocation{Sites: 2, PerSite: 1}
			case "part":
				r.Job.Part = &grid.Part{Of: grid.JobID(value)}
			default:
				ts.Fatalf("becomes: %s?", name)
			}
		}
	}))
	if decided {
		ts.Check(service(ts).Decide(grid.JobID(args[0]), decisions()))
	}
	if allocated != "" {
		parts := strings.Split(allocated, ",")
		ts.Check(service(ts).SetAllocation(allocation(grid.JobID(args[0]), grid.JobID(parts[0]), grid.JobID(parts[1]))))
	}
}

// allocation is that of a job that gathers at two sites, of three that were asked.
func allocation(of, first, second grid.JobID) *grid.Allocation {
	const at = 1_700_000_000_000
	return &grid.Allocation{
		Of: of, State: grid.Gathering, Round: 2, Start: at, End: at + grid.Minute,
		Parts: []grid.AllocatedPart{
			{Round: 2, Site: "here", Processes: 6, Nodes: []grid.NodeName{"n1", "n2"}, Reservation: "abc", Heard: grid.Bound, Job: cmp.Or(first, of+".3"), Made: true, Arrived: true},
			{Round: 2, Rank: 1, Site: "there", Processes: 2, Nodes: []grid.NodeName{"m1"}, Reservation: "def", Heard: grid.Confirmed, Job: cmp.Or(second, of+".4"), Made: true},
			{Round: 1, Site: "small", Processes: 2, Reservation: "old", Heard: grid.Released, Job: of + ".1", Made: true, Fate: grid.Killed},
		},
		Choice: &grid.SlotChoice{At: at, Start: at + grid.Second, End: at + grid.Minute, Best: "there", BestEnd: at + grid.Hour, Sites: []grid.SiteSlots{
			{Site: "here", Slots: 5, Taken: []grid.NodeName{"n1", "n2"}, Processes: 6}, {Site: "there", Slots: 1, Taken: []grid.NodeName{"m1"}, Processes: 2},
			{Site: "small", Refusal: &grid.Refusal{Reason: "it makes no reservations"}},
		}},
	}
}

func decisions() []grid.Decision {
	return []grid.Decision{{
		At: 1_700_000_000_000, Epoch: grid.Epoch{Term: 1}, Chosen: "here",
		Candidates: []grid.Candidate{
			{Site: "here", Size: 2048, Wait: 1500, Safe: 2500, Run: 10_000, Total: 11_500, Chosen: true},
			{Site: "there", Size: 2048, Bandwidth: 1e6, Measured: true, Delivery: 2, Wait: 9000, Safe: 9000, Run: 5000, Total: 14_002},
			{Site: "small", Size: 2048, Bandwidth: 1e7, Refusal: &grid.Refusal{Reason: "too few processors", Asked: "16", Available: "8"}},
			{Site: "arm", Refusal: &grid.Refusal{Reason: "wrong architecture", Asked: "x86_64", Available: "arm"}},
			{Site: "mute", Refusal: &grid.Refusal{Reason: "no answer"}},
		},
	}, {At: 1_700_000_005_000, Epoch: grid.Epoch{Term: 1, Hop: 1}}}
}

func foresees(ts *testscript.TestScript, _ bool, args []string) {
	few := grid.Candidate{Site: "small", Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "too few processors", Asked: "16", Available: "8"}}
	d := grid.Decision{At: 1_700_000_000_000, Chosen: "there", Candidates: []grid.Candidate{
		{Site: "here", Wait: 1500, Safe: 2500, Run: 60_000, Total: 61_500}, few,
		{Site: "there", Size: 2048, Bandwidth: 1e6, Delivery: 2, Wait: 10_000, Safe: grid.Unsure, Run: 20_000, Total: 30_002, Chosen: true},
	}}
	if slices.Contains(args, "dear") {
		dear := func(rate float64) *grid.Refusal {
			return &grid.Refusal{Kind: grid.Temporary, Reason: "it costs more", Asked: "3", Available: fmt.Sprint(rate)}
		}
		d.Chosen, d.Candidates = "", []grid.Candidate{few, {Site: "here", Price: 20, Refusal: dear(20)}, {Site: "there", Price: 4.5, Refusal: dear(4.5)}, {Site: "mute", Refusal: &grid.Refusal{Kind: grid.Temporary, Reason: "no answer"}}}
	}
	if slices.Contains(args, "priced") {
		d.Candidates[2].Price = 4.5
	}
	var several *grid.SlotChoice
	if slices.Contains(args, "nobody") {
		few.Site = "here"
		d.Chosen, d.Candidates = "", []grid.Candidate{few, {Site: "mute", Refusal: &grid.Refusal{Kind: grid.Temporary, Reason: "busy", Again: 90_000}}}
	}
	switch {
	case slices.Contains(args, "together"):
		several = allocation("", "", "").Choice
	case slices.Contains(args, "apart"):
		several = &grid.SlotChoice{At: d.At, Why: "no slots within the horizon", Sites: []grid.SiteSlots{{Site: "here", Slots: 1}}}
	}
	service(ts).Foresee(api.Foreseen{Decision: d, Spreads: []grid.Spread{{}, {}, {Early: 5000, Late: 12_000, Of: 30}}, Several: several})
}

func leaves(ts *testscript.TestScript, _ bool, args []string) {
	content := make(map[string][]byte)
	var files grid.Manifest
	for _, a := range args[2:] {
		path, text, _ := strings.Cut(a, "=")
		content[path] = []byte(text)
		files = append(files, grid.File{Path: path, Size: int64(len(text)), Mode: 0o751})
	}
	ts.Check(service(ts).Leave(grid.JobID(args[0]), args[1] == "complete", files, content))
}

func uploaded(ts *testscript.TestScript, _ bool, args []string) {
	got, ok := service(ts).Uploads(grid.JobID(args[0]))[args[1]]
	if !ok || strings.TrimSpace(string(got)) != args[2] {
		ts.Fatalf("uploaded %q %q, want %q", args[1], got, args[2])
	}
}

func forgets(ts *testscript.TestScript, _ bool, _ []string) { service(ts).ForgetChanges() }

func rests(ts *testscript.TestScript, _ bool, _ []string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); service(ts).Resting() == 0; <-tick.C {
		if time.Now().After(end) {
			ts.Fatalf("no call waits")
		}
	}
}

func outage(ts *testscript.TestScript, _ bool, args []string) {
	service(ts).Fail(map[string]error{
		"none":        nil,
		"invalid":     fmt.Errorf("test: %w", grid.ErrInvalid),
		"not_found":   fmt.Errorf("test: %w", grid.ErrNotFound),
		"forbidden":   fmt.Errorf("test: %w", grid.ErrForbidden),
		"not_yet":     fmt.Errorf("test: %w", grid.ErrNotYet),
		"unavailable": fmt.Errorf("test: %w", grid.ErrUnavailable),
		"internal":    errors.New("test: disk on fire"),
	}[args[0]])
}

// A confirmed cancel says what happened, in words.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for state, want := range map[grid.State]string{
		grid.Killed:    "is cancelled: it will not run (again)",
		grid.Finished:  "is not running any more; its output is coming home",
		grid.StageOut:  "is not running any more; its output is coming home",
		grid.Completed: "had ended already: COMPLETED",
	} {
		if got := cancelled(&api.Status{State: state.String()}); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
	lost := api.Status{State: grid.Lost.String(), CancelRequested: true, Reason: "cancelled; its earlier run may go on"}
	if got := cancelled(&lost); got != "is LOST: cancelled; its earlier run may go on" {
		t.Errorf("LOST by the cancel: %q", got)
	}
}
