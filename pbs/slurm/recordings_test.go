package slurm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// recording is a command that was run on a real Slurm 22.05.
type recording struct {
	name    string // FOLDER/NN-tag
	command string
	result  command.Result
}

// The recordings: a few are kept here, all lie beside the repository.
const (
	kept = "testdata"
	all  = "../../../shared/fixtures/slurm"
)

var recorded = regexp.MustCompile("^- `([0-9]+-[^`]+)` \\[[a-z]+, [a-z]+\\] rc=([0-9]+): `(.*)`$")

// recordings reads those of all folders of root; each README lists the commands.
func recordings(t testing.TB, root string) []recording {
	t.Helper()
	readmes, err := filepath.Glob(filepath.Join(root, "*", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []recording
	for _, path := range readmes {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(string(text), "\n") {
			if m := recorded.FindStringSubmatch(l); m != nil {
				out = append(out, load(t, filepath.Join(filepath.Dir(path), m[1]), m[3], m[2]))
			}
		}
	}
	return out
}

func load(t testing.TB, path, call, exit string) recording {
	t.Helper()
	stdout, err1 := os.ReadFile(path + ".stdout")
	stderr, err2 := os.ReadFile(path + ".stderr")
	code, err3 := strconv.Atoi(exit)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
	call = regexp.MustCompile("^timeout [0-9]+ ").ReplaceAllString(call, "")
	return recording{name, call, command.Result{Stdout: stdout, Stderr: stderr, Exit: code}}
}

// folded is what scontrol has printed, as -o prints it.
func folded(r recording) []byte {
	text := r.result.Stdout
	if strings.Contains(r.command, " -o ") {
		return text
	}
	blocks := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	for i, b := range blocks {
		blocks[i] = strings.Join(strings.Fields(b), " ")
	}
	return []byte(strings.Join(blocks, "\n"))
}

// claims say by which parser, and with which sense, the recordings of a command are read.
// Each of the first group is a command of this driver, or one that differs by its form alone.
var claims = []struct {
	command string
	check   func(r recording) error
}{
	{`^squeue( --json| -t all| -j \d+| -M all)+$`, onlyJSON(checkQueue)},
	{`^sinfo( -M all)? --json$`, checkNodes},
	{`^scontrol( -o| -d)? show job( \d+(_\d+)?)?( -o)?$`, checkJob},
	{`^scontrol show job banana$`, fails("Invalid job id specified")},
	{`^scontrol( -o)? show partition$`, checkPartitions},
	{`^scontrol( -o)? show reservation( [a-z0-9]+)?$`, checkReservations},
	{`^scontrol show config$`, checkConfig},
	{`^sbatch .*--test-only`, neverCalled},
	{`^sbatch .*(-M |--clusters=)`, neverCalled},
	{`^sbatch `, checkSubmitted},
	{`^scontrol ping$`, checkPing},
	{`^scontrol (create|update|delete) `, checkOperated},
	{`^scontrol (hold|release) \d+$`, checkOperated},
	{`^scancel( -v)? (-u alice|\d+(_\d+)?|2_\[7-8\])$`, checkOperated},

	// What this driver never calls.
	{`^squeue( |$)`, neverCalled}, // as text
	{`^sinfo( |$)`, neverCalled},  // as text
	{`^scontrol show (job \d+ --json|reservation --json)$`, neverCalled},
	{`^scontrol( -o| -M beta)? show (node|step|hostnames|partition nosuch|federation)`, neverCalled},
	{`^(sacct|sacctmgr|sreport|sdiag|sprio|srun|slurmd)( |$)`, neverCalled},
	{`^(cat|tail) `, neverCalled}, // files
	{`^(qstat|pbsnodes|qsub|qhold|qrls|qalter|qdel|qrerun|sh)( |$)`, neverCalled}, // the wrappers of TORQUE
}

func neverCalled(recording) error { return nil }

// onlyJSON tells JSON from text.
func onlyJSON(check func(recording) error) func(recording) error {
	return func(r recording) error {
		if !strings.Contains(r.command, "--json") {
			return neverCalled(r)
		}
		return check(r)
	}
}

func fails(with string) func(recording) error {
	return func(r recording) error {
		if r.result.Exit == 0 || !strings.Contains(r.result.Said(), with) {
			return fmt.Errorf("it ended with %d: %s", r.result.Exit, r.result.Said())
		}
		return nil
	}
}

func checkQueue(r recording) error {
	jobs, release, err := parseQueue(r.result.Stdout)
	if strings.HasPrefix(r.name, "controller-down/") {
		if err == nil {
			return errors.New("a controller that is down has said something")
		}
		return nil
	}
	if err == nil && release != "22.05.8" {
		err = fmt.Errorf("the release %q", release)
	}
	for _, j := range jobs {
		if err == nil {
			err = sane(j)
		}
	}
	return err
}

// sane is what is true of each job, however it was read.
func sane(j external.Job) error {
	begun := j.State == external.Running || j.State == external.Done && !j.NeverStarted
	ended := j.State == external.Done
	switch {
	case j.User != "alice" || j.Queue != "batch" || j.Name == "" || j.Submitted < 1795000000*grid.Second:
	case j.Limit < grid.Minute || len(j.Demand.Chunks) == 0 || j.Demand.Cores() < 1:
	case ended != (j.End != nil) || ended != (j.Finished > 0) || begun != (j.Started > 0) && !ended:
	case j.State == external.Odd || j.NeverStarted && len(j.Places) > 0 || j.State == external.Running && len(j.Places) == 0:
	case ended && (j.Finished < j.Started || j.Usage.Wall < 0):
	default:
		return nil
	}
	return fmt.Errorf("a job with holes, or of two minds: %+v, end %+v", j, j.End)
}

func checkNodes(r recording) error {
	nodes, err := parseNodes(r.result.Stdout)
	if err == nil && len(nodes) != 4 {
		err = fmt.Errorf("%d nodes", len(nodes))
	}
	for i, n := range nodes {
		if n.Name != grid.NodeName(fmt.Sprintf("node%02d", i+1)) || n.Memory != 2000<<20 || n.System != "LINUX" || n.Architecture != "x86_64" || n.Cores < 1 {
			return fmt.Errorf("%+v", n)
		}
	}
	return err
}

func checkJob(r recording) error {
	if r.result.Exit != 0 {
		said := string(r.result.Stderr)
		if strings.Contains(said, "Invalid job id specified") || silent(said) {
			return nil
		}
		return errors.New(said)
	}
	text := folded(r)
	if string(text) == "No jobs in the system" {
		return nil
	}
	jobs, err := parseJob(text)
	if err == nil && len(jobs) == 0 {
		err = errors.New("no job")
	}
	for _, j := range jobs {
		if err == nil {
			err = sane(j.Job)
		}
	}
	return err
}

func checkPartitions(r recording) error {
	partitions, err := parsePartitions(folded(r))
	if err == nil && (len(partitions) != 1 || partitions[0] != partition{name: "batch", nodes: "node[01-04]", limit: grid.Day, usual: 10 * grid.Minute, first: true, users: true, state: "UP"}) {
		err = fmt.Errorf("%+v", partitions)
	}
	return err
}

func checkReservations(r recording) error {
	if r.result.Exit != 0 {
		return fails("not found")(recording{r.name, r.command, command.Result{Stderr: []byte(string(r.result.Stdout) + r.result.Said()), Exit: r.result.Exit}})
	}
	list, err := parseReservations(folded(r), "r")
	for _, b := range list {
		if err == nil && (len(b.Nodes) == 0 || len(b.Nodes) > 4 || len(b.Cores) != len(b.Nodes) || b.User == "" || (b.ID != "") != strings.HasPrefix(b.Native, "r")) {
			err = fmt.Errorf("%+v", b)
		}
	}
	return err
}

func checkConfig(r recording) error {
	s, err := parseConfig(r.result.Stdout)
	if err == nil && (s.version != "22.05.8" || s.policy.String() != "cons-rebuild" || s.countsMemory || s.minJobAge != 300*grid.Second || s.at != 1795216850*grid.Second) {
		err = fmt.Errorf("%+v", s)
	}
	return err
}

// checkSubmitted: an identifier or a refusal, and each refusal of the kind that it is.
func checkSubmitted(r recording) error {
	if r.result.Exit == 0 {
		if !strings.Contains(r.command, "--parsable") {
			return nil
		}
		_, err := submitted(r.result.Stdout)
		return err
	}
	for file, kind := range map[string]error{
		"errors/10-no-script": grid.ErrUnavailable, "errors/11-not-a-script": grid.ErrUnavailable, // of a file, which is never called
		"lifecycle/21-sbatch-wait": grid.ErrUnavailable, // -W, which is never called
	} {
		if r.name == file {
			return ofKind(r, kind)
		}
	}
	if strings.HasPrefix(r.name, "controller-down/") {
		return ofKind(r, grid.ErrUnavailable)
	}
	return ofKind(r, grid.ErrInvalid)
}

func ofKind(r recording, kind error) error {
	words := strings.Fields(r.command)
	if err := refused(command.Call{Name: words[0], Args: words[1:]}, r.result); !errors.Is(err, kind) {
		return fmt.Errorf("it should be %q: %w", kind, err)
	}
	return nil
}

func checkPing(r recording) error {
	up := strings.HasSuffix(strings.TrimSpace(string(r.result.Stdout)), "is UP")
	if up != (r.result.Exit == 0) {
		return fmt.Errorf("it ended with %d: %s", r.result.Exit, r.result.Stdout)
	}
	return nil
}

func checkOperated(r recording) error {
	said := string(r.result.Stderr)
	switch {
	case strings.HasPrefix(r.name, "controller-down/"):
		return ofKind(r, grid.ErrUnavailable)
	case r.result.Exit == 0, strings.Contains(said, "in use"):
		return nil
	}
	return ofKind(r, grid.ErrInvalid)
}

func TestEveryRecordingIsClaimed(t *testing.T) {
	t.Parallel()
	for root, least := range map[string]int{kept: 25, all: 300} {
		if _, err := os.Stat(root); err != nil && root == all {
			t.Logf("%s is not here: only the recordings of %s are read", all, kept)
			continue
		}
		list := recordings(t, root)
		if len(list) < least {
			t.Errorf("%s has %d recordings: at least %d were made", root, len(list), least)
		}
		if files, _ := filepath.Glob(filepath.Join(root, "*", "*.stdout")); len(files) != len(list) {
			t.Errorf("%s has %d recordings, of which the READMEs name %d", root, len(files), len(list))
		}
		for _, r := range list {
			if err := claimed(r); err != nil {
				t.Errorf("%s, %q: %v", r.name, r.command, err)
			}
		}
	}
}

func claimed(r recording) error {
	for _, c := range claims {
		if regexp.MustCompile(c.command).MatchString(r.command) {
			return c.check(r)
		}
	}
	return errors.New("no claim")
}
