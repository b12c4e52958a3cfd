package openpbs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// plain is the words of a site that has renamed gpu only.
func plain(t testing.TB) words {
	t.Helper()
	w, err := newWords(map[string]string{"gpu": "ngpus"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// rule claims recordings by their command.
type rule struct {
	pattern *regexp.Regexp
	holds   func(t *testing.T, w words, r recording) error // nil: the driver never calls it
}

// rules in the order in which they are tried.
var rules = []rule{
	// Never called: text for people, other servers, configuration, forms that mislead.
	never(`^(ls|cat) `),
	never(`^(qmgr|qselect|qsig|qrerun|qalter|qmove) ?`),
	never(`^qstat( -(a|s|n1|ans1|H|T|w|x|t|Q|B)| -x -t| -T -w)*( @?[\w.]+)?$`),
	never(`^qstat (-x )?-f( [0-9.a-z]+)+$`),
	never(`^qstat -B -f$`),
	never(`^qstat .*-F dsv`),
	never(`^pbsnodes (-a|-aSj|-aS|-l|-o \w+|-C .*)$`),
	never(`^pbs_rstat( -S| -B)?( R\w*(\.pbs1)?)?$`),
	never(`^(qstat|qsub|pbs_rsub) --version$`),
	never(`^qstat .*[0-9]\.(otherhost|pbs1@pbs2)$`),
	never(`pbs2`),
	never(`^pbs_rstat (-f )?-F json`),
	// Called.
	{regexp.MustCompile(`^((PBS_\w+=\S+) )?qstat -B -f -F json$`), holdsServer},
	{regexp.MustCompile(`^qstat -Q -f -F json`), holdsQueues},
	{regexp.MustCompile(`^((PBS_\w+=\S+) )?qstat (-\w )*-F json ?`), holdsJobs},
	{regexp.MustCompile(`^pbsnodes .*-F json`), holdsNodes},
	{regexp.MustCompile(`^pbs_rstat -F`), holdsBookings},
	{regexp.MustCompile(`^(PBS_TZID=UTC )?pbs_rsub `), holdsDecision},
	{regexp.MustCompile(`^pbs_ralter `), holdsDecision},
	{regexp.MustCompile(`^(pbs_rdel|qdel|qhold|qrls) `), holdsAct},
	{regexp.MustCompile(`qsub( |$)|^bash (odd|envtest)\.sh`), holdsSubmission},
}

func never(pattern string) rule { return rule{pattern: regexp.MustCompile(pattern)} }

// Every recording of the real system is claimed by a rule, and is as the rule says.
func TestRecordings(t *testing.T) {
	t.Parallel()
	w := plain(t)
	list := recordings(t)
	called, files := 0, 0
	for _, r := range list {
		claimed := false
		for _, rule := range rules {
			if claimed = rule.pattern.MatchString(r.line); !claimed {
				continue
			}
			if rule.holds != nil {
				called++
				if err := rule.holds(t, w, r); err != nil {
					t.Errorf("%s/%s: %s: %v", r.folder, r.name, r.line, err)
				}
			}
			break
		}
		if !claimed {
			t.Errorf("%s/%s: nobody claims %q", r.folder, r.name, r.line)
		}
	}
	err := filepath.WalkDir(fixtures, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".exit") {
			files++
		}
		return err
	})
	if err != nil || files != len(list) || called < 250 {
		t.Errorf("%d recordings, %d of them of commands that are called, but %d files (%v)", len(list), called, files, err)
	}
	t.Logf("%d recordings, %d of commands that are called", len(list), called)
}

// readable judges an answer: exit code first.
func readable(r recording, read func(text []byte) error, fine ...int) error {
	err := understood(r.call(), r.Result, read, fine...)
	good := r.Exit == 0
	for _, f := range fine {
		good = good || r.Exit == f
	}
	var unread *command.OutputError
	switch {
	case good && err != nil:
		return err
	case !good && (!errors.Is(err, grid.ErrUnavailable) || errors.As(err, &unread)):
		return fmt.Errorf("exit code %d gives %v", r.Exit, err)
	}
	return nil
}

func holdsServer(_ *testing.T, _ words, r recording) error {
	return readable(r, func(text []byte) error {
		h, sv, err := servers(text)
		if err == nil && (sv.standard != "workq" || sv.depth != 10 || sv.keeps != grid.Day || h.version != "23.06.06" || !sv.scheduling) {
			return fmt.Errorf("%+v, %+v", h, sv)
		}
		return err
	})
}

func holdsQueues(_ *testing.T, _ words, r recording) error {
	return readable(r, func(text []byte) error {
		list, err := queues(text)
		names := ""
		for _, q := range list {
			names += string(q.Name) + " "
		}
		if want := bytes.Count(text, []byte(`"queue_type"`)) - bytes.Count(text, []byte(`"acl_users":	"alice@pbs1"`)); err == nil && want != len(list) {
			return fmt.Errorf("%s: %d in the text", names, want)
		}
		return err
	})
}

func holdsNodes(_ *testing.T, w words, r recording) error {
	err := readable(r, func(text []byte) error {
		_, list, err := w.nodes(text)
		for _, n := range list {
			if n.Cores != 4 || n.Memory < 16<<30 {
				return fmt.Errorf("%+v", n)
			}
		}
		return err
	})
	if bytes.Contains(r.Stdout, []byte("Unknown node")) { // exit code 0
		if err == nil {
			return errors.New("an unknown node is taken for one")
		}
		return nil
	}
	return err
}

func holdsBookings(_ *testing.T, w words, r recording) error {
	return readable(r, func(text []byte) error {
		list, err := w.bookings(text)
		if n := strings.Count(string(text), "reserve_start = "); err == nil && n != len(list) {
			return fmt.Errorf("%d of %d", len(list), n)
		}
		for _, b := range list {
			if length := fmt.Sprintf("reserve_duration = %d\n", (b.End-b.Start)/grid.Second); !strings.Contains(string(text), length) {
				return fmt.Errorf("%s is not %s", b.Native, length)
			}
		}
		return err
	})
}

// holdsDecision: the word decides, and without one the exit code.
func holdsDecision(_ *testing.T, _ words, r recording) error {
	if r.Exit != 0 {
		return holdsAct(nil, words{}, r)
	}
	id, err := decided(r.call(), r.Result)
	text := string(r.Stdout)
	switch {
	case strings.Contains(text, " CONFIRMED"):
		if err != nil || !strings.Contains(text, id) {
			return fmt.Errorf("%q, %w", id, err)
		}
	case strings.Contains(text, " DENIED"):
		if !errors.Is(err, grid.ErrInvalid) {
			return fmt.Errorf("denied, and %w", err)
		}
	case !errors.Is(err, grid.ErrUnavailable):
		return fmt.Errorf("%q is %q, %w", text, id, err)
	}
	return nil
}

// kinds of refusals by what the system said.
var kinds = []struct {
	said string
	kind error
}{
	{"Connection refused", grid.ErrUnavailable},
	{"cannot send environment", grid.ErrInvalid},
	{"would exceed queue generic's per-user limit", grid.ErrUnavailable},
	{"Queue is not enabled", grid.ErrUnavailable},
	{"Unknown Job Id", grid.ErrNotFound},
	{"Job has finished", grid.ErrNotFound},
	{"Unknown Reservation Id", grid.ErrNotFound},
	{"", grid.ErrInvalid},
}

func holdsAct(_ *testing.T, _ words, r recording) error {
	if r.Exit == 0 {
		if len(r.Stdout)+len(r.Stderr) > 0 {
			return fmt.Errorf("it said %q", r.Said())
		}
		return nil
	}
	err := trouble(r.call(), r.Result)
	for _, k := range kinds {
		if !strings.Contains(string(r.Stderr), k.said) {
			continue
		}
		if !errors.Is(err, k.kind) || !strings.Contains(err.Error(), r.Said()) {
			return fmt.Errorf("%q gives %w", r.Stderr, err)
		}
		break
	}
	return nil
}

func holdsSubmission(t *testing.T, w words, r recording) error {
	if r.Exit != 0 {
		return holdsAct(t, w, r)
	}
	if id := strings.TrimSuffix(string(r.Stdout), "\n"); !isJobID(id) {
		return fmt.Errorf("%q is no job", id)
	}
	return nil
}

// holdsJobs compares with what a general decoder makes of the same text.
func holdsJobs(_ *testing.T, w words, r recording) error {
	return readable(r, func(text []byte) error {
		h, list, err := w.jobs(text)
		if err != nil {
			return err
		}
		var twin struct {
			Timestamp int64
			Jobs      map[string]map[string]any
		}
		if err := json.Unmarshal(text, &twin); err != nil {
			return err
		}
		if len(twin.Jobs) != len(list) || int64(h.at) != twin.Timestamp*1000 {
			return fmt.Errorf("%d of %d jobs at %d", len(list), len(twin.Jobs), h.at)
		}
		for _, j := range list {
			if err := agrees(j, twin.Jobs[string(j.Local)]); err != nil {
				return fmt.Errorf("%s: %w", j.Local, err)
			}
		}
		return nil
	}, exitUnknownJob, exitFinished)
}

func agrees(j job, twin map[string]any) error {
	text := func(key string) string {
		if twin[key] == nil {
			return ""
		}
		return fmt.Sprint(twin[key])
	}
	code, has := twin["Exit_status"].(float64)
	switch {
	case j.Name != text("Job_Name"), j.User+"@pbs1" != text("Job_Owner"), j.State != states[text("job_state")]:
		return fmt.Errorf("%+v is not %v", j.Job, twin)
	case (j.Started != 0) != (text("stime") != ""), j.NeverStarted != (text("stime") == "" && text("run_count") == ""):
		return fmt.Errorf("started %d, never %v: %v", j.Started, j.NeverStarted, twin)
	case j.OurHold != (text("Hold_Types") == "u"), j.rerunnable != (text("Rerunable") == "True"):
		return fmt.Errorf("held %v, rerunnable %v: %v", j.OurHold, j.rerunnable, twin)
	case (j.End != nil) != (j.State == external.Done):
		return fmt.Errorf("it is %v and ended as %+v", j.State, j.End)
	case j.End != nil && has && code >= 0 && code < 256 && !j.array && (j.End.Cause != grid.ByItself || j.End.ExitCode != int(code)):
		return fmt.Errorf("%v ended as %+v", code, j.End)
	case j.State == external.Running && text("exec_vnode") != "" && !j.array && len(j.Places) == 0:
		return fmt.Errorf("it runs nowhere: %v", twin)
	}
	return nil
}
