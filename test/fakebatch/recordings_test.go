package fakebatch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gbroker/test/fakebatch/batch"
)

// The recordings of testdata are commands of real systems with what they answered, in the
// order in which they were given, a scenario each:
//
//	first 3                   the number of the first job (head of the file, as all to the blank line)
//	schedulers root,broker    who may make Maui reservations
//	managers dave             of the server; operators carol likewise
//	nodes node01 node02:fast  of four processors; a property after the colon. Else those of the face
//	nodect 1000               resources_available.nodect; exact, multireq: of maui.cfg
//	private                   jobs are shown to their owners alone (query_other_jobs = False)
//	base 202611202309.46      the instant by which the dates of the commands are moved to now
//	job alice qsub ...        a command before, whose answer does not matter
//	add closed small          queues that the recorded system had besides
//	making fresh              one that is just being made
//
//	== 03-queued/11-qstat     the recording
//	alice: qstat              who called what
//	exit 0
//	1>line of stdout          1- says that the last has no end of line
//	2>line of stderr
//
// Identifiers and forms must be the same to the byte; instants, sizes and process numbers differ.

type recording struct {
	name, user, command string
	exit                int
	out, err            string
}

type scenario struct {
	config  batch.Config
	base    time.Time
	before  [][2]string
	records []recording
}

// load reads a scenario.
func load(t *testing.T, face, path string) scenario {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(string(text), "\n== ")
	sc := scenario{config: batch.Config{Face: face, NoRoot: true, Grace: time.Second, Schedulers: []string{"root"}}}
	for _, line := range strings.Split(strings.TrimSpace(head), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "first":
			sc.config.First, err = strconv.Atoi(rest)
		case "schedulers":
			sc.config.Schedulers = strings.Split(rest, ",")
		case "base":
			sc.base, err = time.Parse("200601021504.05", rest)
		case "managers":
			sc.config.Managers = strings.Split(rest, ",")
		case "operators":
			sc.config.Operators = strings.Split(rest, ",")
		case "nodect":
			sc.config.NodeCount, err = strconv.Atoi(rest)
		case "exact":
			sc.config.ExactNodes = true
		case "multireq":
			sc.config.MultiReq = true
		case "private":
			sc.config.Private = true
		case "nodes":
			for _, n := range strings.Fields(rest) {
				name, properties, _ := strings.Cut(n, ":")
				sc.config.Nodes = append(sc.config.Nodes, batch.Node{Name: name, Cores: 4, Memory: "16gb", Properties: strings.Fields(properties)})
			}
		case "job":
			user, command, _ := strings.Cut(rest, " ")
			sc.before = append(sc.before, [2]string{user, command})
		case "add":
			sc.config.Queues = []batch.Queue{{Name: "closed", Disabled: true}, {Name: "small", MaxWall: time.Hour}}
		case "making":
			sc.config.Queues = []batch.Queue{{Name: "fresh", Fresh: true}}
		case "routing":
			sc.config.Queues = []batch.Queue{{Name: "small", MaxWall: 10 * time.Minute}, {Name: "route", Route: []string{"small", "workq"}}}
		case "":
		default:
			err = fmt.Errorf("unknown line %q", line)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	for _, block := range strings.Split(body, "\n== ") {
		sc.records = append(sc.records, parse(t, path, strings.Split(strings.TrimRight(block, "\n"), "\n")))
	}
	return sc
}

func parse(t *testing.T, path string, lines []string) recording {
	t.Helper()
	r := recording{name: lines[0]}
	var ok bool
	if r.user, r.command, ok = strings.Cut(lines[1], ": "); !ok {
		t.Fatalf("%s: %s: nobody called it", path, r.name)
	}
	var err error
	if r.exit, err = strconv.Atoi(strings.TrimPrefix(lines[2], "exit ")); err != nil {
		t.Fatalf("%s: %s: %v", path, r.name, err)
	}
	for _, l := range lines[3:] {
		switch l[:2] {
		case "1>":
			r.out += l[2:] + "\n"
		case "2>":
			r.err += l[2:] + "\n"
		case "1-":
			r.out = strings.TrimSuffix(r.out, "\n")
		case "2-":
			r.err = strings.TrimSuffix(r.err, "\n")
		default:
			t.Fatalf("%s: %s: %q is of neither stream", path, r.name, l)
		}
	}
	return r
}

// scripts that the recorded commands submit.
var scripts = map[string]string{
	"sleep.sh": "#!/bin/sh\n#PBS -N sleeper\nsleep 600\n",
	"mpi.sh":   "#!/bin/sh\n#PBS -N mpi\n#PBS -l nodes=2:ppn=2,walltime=00:20:00\n#PBS -j oe\nsleep 600\n",
	"job.sh":   "#!/bin/sh\n#PBS -N simjob\n#PBS -l select=1:ncpus=2:mem=1gb\n#PBS -l walltime=00:10:00\n#PBS -j oe\nsleep 600\n",
	"ok.sh":    "echo hello\n",
}

// TestRecordings: what the real commands answered, the fake batch system answers too.
func TestRecordings(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(paths) < 15 {
		t.Fatalf("%d scenarios: %v", len(paths), err)
	}
	for _, path := range paths {
		face := filepath.Base(filepath.Dir(path))
		t.Run(face+"/"+strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			replay(t, face, load(t, face, path))
		})
	}
}

func replay(t *testing.T, face string, sc scenario) {
	s := Start(t, sc.config)
	home := filepath.Join(s.Dir, "home")
	if err := os.Mkdir(home, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range sc.before {
		if r := s.shell(t, home, b[0], b[1]); r.exit != 0 {
			t.Fatalf("%s ended with %d: %s", b[1], r.exit, r.err)
		}
	}
	for _, r := range sc.records {
		s.settle(t)
		switch {
		case strings.Contains(r.name, "maui-down"):
			s.Set(batch.Faults{NoScheduler: true})
		case strings.Contains(r.name, "server-down"), strings.HasPrefix(r.name, "20-server-down"):
			s.Down()
		}
		got := s.shell(t, home, r.user, moved(sc.base, r.command))
		if got.exit != r.exit {
			t.Errorf("%s: %s ended with %d, not %d\n%s", r.name, r.command, got.exit, r.exit, got.err)
		}
		differ(t, r.name+": "+r.command+": stdout", s.plain(got.out), s.plain(r.out))
		differ(t, r.name+": "+r.command+": stderr", s.plain(got.err), s.plain(r.err))
	}
}

// dated finds the instants in commands.
var dated = regexp.MustCompile(`\b20\d{10}\.\d\d\b`)

// moved shifts the instants of a command as the base is shifted to now.
func moved(base time.Time, command string) string {
	shift := time.Since(base)
	return dated.ReplaceAllStringFunc(command, func(v string) string {
		at, err := time.Parse("200601021504.05", v)
		if err != nil || base.IsZero() {
			return v
		}
		return at.Add(shift).UTC().Format("200601021504.05")
	})
}

// shell runs a line as the recordings were made.
func (s *Server) shell(t *testing.T, home, user, line string) recording {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(line, "/home/alice", home))
	cmd.Dir = home
	path := "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin"
	if filepath.Base(s.Bin) == "openpbs" {
		path = "/opt/pbs/bin:/usr/bin:/bin"
	}
	cmd.Env = []string{"PATH=" + s.Bin + ":" + path, "HOME=" + home, "SHELL=/bin/bash", "TZ=UTC", "LANG=C.UTF-8", "FAKEBATCH_USER=" + user, "PWD=" + home}
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("%s: %v", line, err)
	}
	return recording{exit: cmd.ProcessState.ExitCode(), out: out.String(), err: bad.String()}
}

// settle waits until no job is about to start or to end, and until what runs has been looked at.
func (s *Server) settle(t *testing.T) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	end := time.Now().Add(patience)
	for {
		busy := false
		for _, j := range s.Jobs() {
			queued := j.State == batch.Queued && time.Since(j.Created) < 1100*time.Millisecond
			fresh := j.Runs() && (time.Since(j.Started) < 1100*time.Millisecond || len(j.Script) < 100 && !strings.Contains(string(j.Script), "sleep 60"))
			busy = busy || queued || fresh || j.Runs() && j.By != ""
		}
		if !busy {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the jobs do not settle: %+v", s.Jobs())
		}
		<-again.C
	}
}

// rule replaces what differs from one run to the next.
type rule struct {
	re *regexp.Regexp
	by string
}

func rules(pairs ...string) []rule {
	var out []rule
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, rule{regexp.MustCompile(pairs[i]), pairs[i+1]})
	}
	return out
}

var differing = rules(
	// instants and lengths
	`"timestamp":\t""`, "\"timestamp\":\tEPOCH", // as it is in one second of 256
	`\b1\d{9}\b`, "EPOCH",
	`(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d (at )?\d\d:\d\d(:\d\d)?`, "DATE$3",
	`DATE(:\d\d)? 20\d\d`, "DATE YEAR", `DATE:\d\d`, "DATE",
	` +(Today|Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d\d:\d\d *`, " DAY ",
	`total_runtime( = |>)[\d.]+`, "total_runtime${1}0",
	`<Remaining>\d+`, "<Remaining>0", `Walltime.Remaining = \d+`, "Walltime.Remaining = 0",
	// what was used, and by which process
	`<resources_used>.*?</resources_used>`, "",
	`(?m)^    resources_used\..*\n`, "", `(?m)^\t*"resources_used":\t\{\n(\t+".*\n)*\t+\},\n`, "",
	`(session_id(>| = ))\d+`, "${1}0", `(?m)^\t*"(session_id|jobdir)":.*\n`, "", `(?m)^    (session_id|jobdir) = .*\n`, "",
	`(substate(":\t| = ))4[12]`, "${1}4x",
	`(?m)^(\d+\.pbs1 +\S+ +\S+ +\S+) +\d+( +\d+ +\d+ +)`, "$1 SESSION$2",
	// Maui counts those that its last iteration saw
	`Active Reserved Processors: \d+`, "Active Reserved Processors: N",
	// nodes
	`nsessions=\d+,`, "", `nusers=\d+,`, "", `sessions=[\d ]+,`, "", `=[^=,<\n]*(,[a-z]+=)`, "=$1", `=[^=,<\n]*(,[a-z]+=)`, "=$1", `(mom_[a-z]+_port( = |>))\d+`, "${1}0",
	`rectime=[^,]*`, "rectime=", `(totmem|physmem)=\d+`, "$1=0", `loadave=[\d.]+`, "loadave=0", `"pcpus":\t\d`, `"pcpus":	0`, `(?m)^\t+"last_used_time":.*\n`, "", `(?m),\n(\t+\},?)$`, "\n$1",
	`(?m)^\t+"(mem|mpiprocs)":\t("0mb"|0),\n`, "", `("exec_host":\t"n01/)\d`, "${1}0",
	// the server's address
	`pbs1\(\d+\.\d+\.\d+\.\d+\)`, "pbs1(ADDRESS)",
	// counters
	`net_counter = .*`, "net_counter", `PID: \d+`, "PID",
)

// lengths are durations; of one that is set to the right of its column only the column stays.
var lengths = regexp.MustCompile(` *-?\b(\d+:)?\d+:\d\d:\d\d\b`)

// plain is a text without what differs.
func (s *Server) plain(text string) string {
	text = strings.ReplaceAll(text, filepath.Join(s.Dir, "home"), "/home/alice")
	text = strings.ReplaceAll(text, s.Bin+":", "")
	text = dated.ReplaceAllString(text, "INSTANT")
	if strings.HasPrefix(text, "Job Id:") {
		text = strings.ReplaceAll(text, "\n\t", "") // where lines are broken depends on PATH
	}
	for _, r := range differing {
		text = r.re.ReplaceAllString(text, r.by)
	}
	return lengths.ReplaceAllStringFunc(text, func(v string) string { return fmt.Sprintf("<%d>", len(v)) })
}

// differ fails with the first line that is not the same.
func differ(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			for same := 0; len(a) > 200 && len(b) > 200 && same < 100; same++ { // of a long line what differs
				if n := min(len(a), len(b)) / 2; a[:n] == b[:n] {
					a, b = a[n:], b[n:]
				}
			}
			t.Errorf("%s\nline %d is  %q\nand was    %q", what, i+1, a, b)
			return
		}
	}
}
