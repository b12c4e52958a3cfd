package torque

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

// parsers are all that read what commands print.
var parsers = map[string]func([]byte) error{
	"qstat -x":       func(b []byte) error { _, err := parseJobs("", b); return err },
	"pbsnodes -x":    func(b []byte) error { _, err := parseNodes("", b); return err },
	"qstat -B":       func(b []byte) error { _, err := parseServer("", b); return err },
	"qstat -Q":       func(b []byte) error { _, err := parseQueues("", b); return err },
	"showq":          func(b []byte) error { _, err := parseQueue("", b); return err },
	"showres":        func(b []byte) error { _, err := parseSizes("", b); return err },
	"showres -n":     func(b []byte) error { _, err := parseHeld(1_795_216_595*grid.Second)("", b); return err },
	"mdiag -r":       func(b []byte) error { _, err := parseAccess("", b); return err },
	"showconfig":     func(b []byte) error { _, err := parseConfig("", b); return err },
	"setres":         func(b []byte) error { _, err := parseMade("", b); return err },
	"releaseres a.0": func(b []byte) error { _, err := parseReleased("a.0")("", b); return err },
}

// inputs are long ones: of recordings, and made of as many small things as can be.
func inputs(t *testing.T) map[string][]string {
	const long = 1 << 20
	fill := func(begin, middle, end string) string {
		return begin + strings.Repeat(middle, long/len(middle)) + end
	}
	inside := func(name, root string) (string, string) {
		text := string(read(t, "testdata", name).stdout)
		_, text, _ = strings.Cut(text, "<Data>")
		text, _, _ = strings.Cut(text, "</Data>")
		return "<Data>", text
	}
	job := func(rest string) string {
		return "<Job><Job_Id>1.p</Job_Id><Job_Name>a</Job_Name><Job_Owner>a@p</Job_Owner><job_state>R</job_state><queue>q</queue><ctime>1</ctime>" + rest + "</Job>"
	}
	begin, one := inside("02-running/37-multi-qstat-x", "Data")
	_, node := inside("01-idle/10-pbsnodes-x", "Data")
	jobs := []string{
		fill(begin, one, "</Data>"), fill("<Data>", job(""), "</Data>"), fill("<Data>", job("<exec_host>a/0+b/0+c/0+d/0</exec_host>"), "</Data>"),
		"<Data>" + job("<exec_host>"+fill("", "a/0+b/0+", "c/0")+"</exec_host>") + "</Data>",
		"<Data>" + job("<Resource_List><nodes>"+fill("", "1+1:ppn=2+", "1")+"</nodes></Resource_List>") + "</Data>",
		fill("<Data>", job("<Resource_List><nodes>1+1:ppn=2+1:ppn=3:a:b:c:d</nodes></Resource_List>"), "</Data>"),
		"<Data>" + job("<Variable_List>"+fill("", "A=&amp;,", "")+"</Variable_List><comment>"+fill("", "&lt;", "")+"</comment>") + "</Data>",
		fill("<Data>", "<Job></Job>", "</Data>"), fill("", "<Data></Data>", ""), fill("", "<a>", ""), fill("<Data><Job>", "<a></a>", "</Job></Data>"),
	}
	row := "7                     alice       Idle     8     1:00:00  Fri Nov 20 23:14:32\n"
	queue := func(rows string) string {
		n := strings.Count(rows, "\n")
		return fmt.Sprintf("ACTIVE JOBS---\nIDLE JOBS---\n%sBLOCKED JOBS---\nTotal Jobs: %d   Active Jobs: 0   Idle Jobs: %d   Blocked Jobs: 0\n", rows, n, n)
	}
	var distinct strings.Builder
	for i := 0; distinct.Len() < long; i++ {
		fmt.Fprintf(&distinct, "%d a Idle 0 0:0:0 Fri Nov 20 23:14:32\n", i)
	}
	size := "a.0 User - 0:0:0 0:0:0 0:0:0 1/1 Fri Nov 20 23:16:41\n"
	sizes := func(rows string) string {
		return fmt.Sprintf("Reservations\nReservationID\n%s%d reservations located\n", rows, strings.Count(rows, "\n"))
	}
	on := "n User a.0 N/A 1 0:0:6 0:0:9 Fri Nov 20 23:16:41\n"
	held := func(rows string) string {
		return fmt.Sprintf("reservations on x\nNodeName\n%s%d nodes reserved\n", rows, strings.Count(rows, "\n"))
	}
	empty := fill("", "\n", "")
	return map[string][]string{
		"qstat -x": jobs,
		"pbsnodes -x": {fill("<Data>", node, "</Data>"), fill("<Data>", "<Node><name>a</name><state>free</state></Node>", "</Data>"),
			"<Data><Node><name>a</name><state>free</state><properties>" + fill("", "a,", "a") + "</properties></Node></Data>"},
		"qstat -B":       {fill("Server: a\n    server_state = Idle\n", "    a = b\n", ""), empty},
		"qstat -Q":       {fill("", "Queue: a\n    enabled = True\n    started = True\n", ""), fill("", "Queue: a\n", ""), empty},
		"showq":          {queue(fill("", row, "")), queue(distinct.String()), empty, queue(empty)},
		"showres":        {sizes(fill("", size, "")), empty},
		"showres -n":     {held(fill("", on, "")), empty},
		"mdiag -r":       {fill("Diagnosing Reservations\n-----\n", "a.0 User DEF 1 2 3 4 5 6\n    ACL: USER==alice+ \n", ""), empty},
		"showconfig":     {fill("", string(read(t, "testdata", "01-idle/78-showconfig").stdout), ""), fill("", "# Maui version a b\n", ""), empty},
		"setres":         {fill("reservation 'a.0' created on 1 node (1 tasks)\n", "n:1\n", ""), empty},
		"releaseres a.0": {empty},
	}
}

const measuring = "GBROKER_TORQUE_MEASURES"

// Reading never takes more memory than eight times what is read. It is measured by a process of its own, where nothing
// else runs.
func TestSerialMemory(t *testing.T) {
	t.Parallel()
	if os.Getenv(measuring) == "" {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSerialMemory$", "-test.count=1")
		cmd.Env = append(os.Environ(), measuring+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for name, texts := range inputs(t) {
		for i, text := range texts {
			data := []byte(text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := parsers[name](data)
			runtime.ReadMemStats(&after)
			times := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(data))
			t.Logf("%s %d: %.1f (%.80v)", name, i, times, err)
			if times > 8 {
				t.Errorf("%s, input %d of %d bytes (%.60q): %.1f times of it, %.100v", name, i, len(data), text, times, err)
			}
		}
	}
}
