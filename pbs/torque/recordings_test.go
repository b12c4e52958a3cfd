package torque

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// a claim is how recordings of commands are read, and what must be true of all of them.
type claim struct {
	pattern string
	check   func(r recording) error
}

// when the recordings were made.
var then = grid.Tick(1795216000) * grid.Second

func parses[T any](parse func(call string, text []byte) (T, error), sane func(T) error) func(recording) error {
	return func(r recording) error {
		if r.exit != 0 {
			return kindOf(r)
		}
		v, err := parse(r.command, r.stdout)
		if err != nil {
			return err
		}
		return sane(v)
	}
}

func kindOf(r recording) error {
	if err := refused(commandOf(r), r.result()); !errors.Is(err, grid.ErrUnavailable) && !errors.Is(err, grid.ErrInvalid) {
		return fmt.Errorf("it ended with %d, which means nothing: %w", r.exit, err)
	}
	return nil
}

func saneJobs(list shown) error {
	for _, j := range list.jobs {
		switch {
		case j.User == "" || j.Name == "" || j.Queue == "" || j.Submitted < then-grid.Day || len(j.Demand.Chunks) == 0 || j.Limit <= 0:
			return fmt.Errorf("a job with holes: %+v", j)
		case strings.Contains(string(j.Local), "[]"): // an array, of which only the parts run
		case (j.State == external.Running) != (len(j.Places) > 0):
			return fmt.Errorf("job %s runs nowhere, or does not run where it is: %+v", j.Local, j)
		case (j.State == external.Done) != (j.End != nil):
			return fmt.Errorf("job %s is done without an end: %+v", j.Local, j)
		case j.NeverStarted && j.Started > 0 || !j.NeverStarted && j.Started == 0 && j.State != external.Held: // sent to a node, whose files to stage in are missing
			return fmt.Errorf("job %s both never started and did: %+v", j.Local, j)
		}
	}
	return nil
}

// claims cover every recording; the first that fits counts.
var claims = []claim{
	{`^qstat -x( -t)?( '?[0-9]+(\[[0-9]+\])?(\.pbs1)?'?)*$`, checkJobs},
	{`^pbsnodes -x( node\d+)?$`, parses(parseNodes, saneNodes)},
	{`^qstat -B -f -1$`, parses(parseServer, func(s server) error {
		return saneIf(s.name == "pbs1" && s.version == "6.1.3" && s.keep == 300*grid.Second && s.queue == "batch", s)
	})},
	{`^qstat -(B|Q)( -f)?( @pbs1)?$`, func(r recording) error { // as the above, where there is no server
		err := unanswered(commandOf(r), r.result())
		return saneIf(r.exit == 0 || errors.Is(err, grid.ErrUnavailable) && !strings.Contains(err.Error(), "a reason unknown"), err)
	}},
	{`^qstat -Q -f -1$`, parses(parseQueues, func(q []queue) error { return saneIf(len(q) == 3, q) })},
	{`^showq( -u \w+| --format=xml)?$`, mauiParses(parseQueue, func(map[string]place) error { return nil })},
	{`^showq -b$`, mauiParses(parseBlocked, func(why map[string]string) error {
		for id, text := range why {
			if strings.Trim(id, "0123456789") != "" || text == "" || strings.HasPrefix(text, "alice") {
				return fmt.Errorf("%s is blocked by %q", id, text)
			}
		}
		return nil
	})},
	{`^showres( -g| -s| -r| --format=xml| [a-z0-9.]+)?$`, mauiParses(parseSizes, saneSizes)},
	{`^showres -n( -g| [a-z0-9.]+)*$`, heldThen},
	{`^mdiag -r( -v| --format=xml| [a-z0-9.]+)?$`, mauiParses(parseAccess, func(all map[string]access) error {
		for name, who := range all {
			alice, bob := who.user == "alice", who.user == "bob" && strings.HasPrefix(name, "ovl")
			account := strings.HasPrefix(who.account, "grid7") && (who.user == "" || name == "both.0")
			if account == (who.account == "") || !alice && !bob && !account && (who != access{} || name != "maint.0" && name != "grid.77.0") {
				return fmt.Errorf("%s is %+v's", name, who)
			}
		}
		return nil
	})},
	{`^showconfig$`, mauiParses(parseConfig, func(c mauiConfig) error {
		return saneIf(c.policy.Reservations == 10 || c.policy.Reservations == 1 && c.node == "EXACTNODE", c)
	})},
	{`^setres `, mauiParses(parseMade, func(m made) error { return saneIf(m.native != "" && len(m.nodes) > 0, m) })},
	{`^releaseres [a-z0-9.]+$`, checkReleased},
	{`(^| )qsub( |$)`, checkSubmitted},
	{`^(qdel|qhold|qrls)( |$)`, checkActed},
}

// notAsked are commands that this package never runs.
var notAsked = regexp.MustCompile(`^(qstat( -[anfrqiBQt1]+)*( '?[0-9a-z.]+(\[\d*\])?(\.pbs1)?(@nosuchhost)?'?)*` +
	`|qstat -(Q|B) -(f|x)( nosuch)?|qstat --version|pbsnodes (-a|-l|-o|-c|node).*|qselect.*|qmgr -c .*|momctl .*|tracejob \d+|showbf.*|showstart .*|checkjob .*|checknode .*|mdiag.*|diagnose.*|showstats.*` +
	`|showstate|showhold|showq (-r|-i|-Z|--version)|showconfig( -v)?( \| grep .*)?|showres -v|releaseres( a.0 b.0)?|qalter .*|qsig .*|qrerun .*|qrun .*|runjob .*|releasehold .*|canceljob .*|ls .*|cat .*)$`)

func TestEveryRecordingIsRead(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(recordings); err != nil {
		t.Skip("the recordings of real systems are not here: ", err)
	}
	list := all(t, recordings)
	if len(list) < 900 {
		t.Errorf("%d recordings", len(list))
	}
	patterns := make([]*regexp.Regexp, len(claims))
	for i, c := range claims {
		patterns[i] = regexp.MustCompile(c.pattern)
	}
	counts := make([]int, len(claims))
recordings:
	for _, r := range list {
		for i, p := range patterns {
			if p.MatchString(r.command) {
				counts[i]++
				if err := claims[i].check(r); err != nil {
					t.Errorf("%s: %s: %v", r.name, r.command, err)
				}
				continue recordings
			}
		}
		if !notAsked.MatchString(r.command) {
			t.Errorf("%s: nobody reads %q", r.name, r.command)
		}
	}
	for i, n := range counts {
		if n == 0 {
			t.Errorf("no recording of %s", claims[i].pattern)
		}
	}
	t.Logf("%d recordings, read by rule: %v", len(list), counts)
}
