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
	never(`^(ls|cat|timeout) `),
	never(`^(qmgr|qselect|qsig|qrerun|qalter|qmove) ?`),
	never(`^qstat( -(a|s|n1|ans1|H|T|w|x|t|Q|B)| -x -t| -T -w)*( @?[\w.]+)?$`),
	never(`^qstat -x -t( [0-9]+\.pbs1| '[0-9]+\[\]\.pbs1')+$`),
	never(`^qstat -Q -f \w+$`),
	never(`^qstat (-x )?-f( [0-9.a-z]+)+$`),
	never(`^qstat -B -f$`),
	never(`^qstat .*-F dsv`),
	never(`^pbsnodes (-a|-av|-aSj|-aS|-l|-o \w+|-C .*)$`),
	never(`^pbs_rstat( -S| -B| -f)?( R\w*(\.pbs1)?)?$`),
	never(`^(qstat|qsub|pbs_rsub) --version$`),
	never(`^qstat .*[0-9]\.(otherhost|pbs1@pbs2)$`),
	never(`pbs2`),
	never(`^pbs_rstat (-f )?-F json`),
	// Called.
	{regexp.MustCompile(`^((PBS_\w+=\S+) )?qstat -B -f -F json$`), holdsServer},
	{regexp.MustCompile(`^qstat -Q -f -F json`), holdsQueues},
	{regexp.MustCompile(`^((PBS_\w+=\S+) )?qstat (-\w )*-F json ?`), holdsJobs},
	{regexp.MustCompile(`^pbsnodes .*-F json`), holdsNodes},
	{regexp.MustCompile(`^pbs_rstat -F`), holdsReservations},
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
		if err != nil {
			return err
		}
		var twin struct{ Server map[string]map[string]any }
		if err := json.Unmarshal(text, &twin); err != nil {
			return err
		}
		is := twin.Server["pbs1"]
		keeps, depth := 14*grid.Day, 1.0
		if is["job_history_duration"] == "24:00:00" {
			keeps = grid.Day
		}
		if n, has := is["backfill_depth"].(float64); has {
			depth = n
		}
		if string(sv.standard) != is["default_queue"] || float64(sv.depth) != depth || sv.keeps != keeps || h.version != "23.06.06" || sv.stopped != (is["scheduling"] == "False") {
			return fmt.Errorf("%+v, %+v", h, sv)
		}
		return nil
	})
}

func holdsQueues(_ *testing.T, _ words, r recording) error {
	return readable(r, func(text []byte) error {
		list, err := queues(text)
		if err != nil {
			return err
		}
		var twin struct{ Queue map[string]map[string]any }
		if err := json.Unmarshal(text, &twin); err != nil {
			return err
		}
		typed := 0
		for name, is := range twin.Queue {
			if is["queue_type"] != nil && !isReservationQueue(name) {
				typed++
			}
		}
		for _, q := range list {
			is := twin.Queue[string(q.Name)]
			if q.takes != (is["enabled"] == "True") || q.starts != (is["started"] == "True") || (q.route != nil) != (is["queue_type"] == "Route") || q.unread != nil {
				return fmt.Errorf("%+v is %v", q, is)
			}
		}
		if typed != len(list) {
			return fmt.Errorf("%d of %d queues", len(list), typed)
		}
		return nil
	})
}

func holdsNodes(_ *testing.T, w words, r recording) error {
	err := readable(r, func(text []byte) error {
		_, list, err := w.nodes(text)
		for _, n := range list {
			if whole := n.Name != "n04[0]"; n.unread != nil || whole != (n.Cores == 4 && n.Memory >= 16<<30) {
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

func holdsReservations(_ *testing.T, w words, r recording) error {
	return readable(r, func(text []byte) error {
		list, err := w.reservations(text)
		if n := strings.Count(string(text), "reserve_start = "); err == nil && n != len(list) {
			return fmt.Errorf("%d of %d", len(list), n)
		}
		for _, b := range list {
			if b.unread != nil {
				return b.unread
			}
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
	{"would exceed complex's per-user limit", grid.ErrUnavailable},
	{"Server could not connect to MOM", grid.ErrUnavailable},
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
	letter := text("job_state")
	switch {
	case j.unread != nil:
		return j.unread
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
	case letter == "S" && len(j.Places) > 0:
		return fmt.Errorf("it is suspended and holds %v", j.Places)
	case j.End != nil && has && (code == -20 || code == -4) && (!j.End.NodeFail || j.End.Cause != grid.Disappeared):
		return fmt.Errorf("its node was lost, and it ended as %+v", j.End)
	case j.State == external.Running && letter != "S" && text("exec_vnode") != "" && !j.array && len(j.Places) == 0:
		return fmt.Errorf("it runs nowhere: %v", twin)
	}
	return nil
}
