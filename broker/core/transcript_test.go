package core

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

var update = flag.Bool("update", false, "write testdata anew")

// transcript is a history that a person can read, kept in testdata/NAME.txt: the
// question on top, then one line for each thing that happened, with the seconds since
// the beginning:
//
//	# what is asked
//	   1.003  a  -> b  Offer 1.1              a message that came, or (lost)
//	   1.005  b  a.1 prepared MOVING 0.0: ... what b saved of the job, and why
//	   1.020  b  STARTS ...                   in truth
//	   2.000  == what the test does
//
// Questions, answers and acknowledgements that say nothing new are left out.
type transcript struct {
	w     *world
	lines []string
}

// recordWorld begins a transcript.
func recordWorld(w *world, question string) *transcript {
	t := &transcript{w: w}
	for line := range strings.Lines(question) {
		t.lines = append(t.lines, "# "+strings.TrimSpace(line))
	}
	w.tell = func(at *site, text string) {
		if !strings.Contains(text, unsaid) {
			t.add(fmt.Sprintf("%s  %s", at.name, text))
		}
	}
	return t
}

func (t *transcript) add(text string) {
	line := fmt.Sprintf("%8.3f  %s", float64(t.w.now-1_000_000)/1000, text)
	if n := len(t.lines); n > 0 && t.lines[n-1] == line {
		return
	}
	t.lines = append(t.lines, line)
}

// does writes down what the test itself does, and runs it.
func (t *transcript) does(text string, act func()) {
	t.add("== " + text)
	act()
}

// check compares the transcript with the golden one.
func (t *transcript) check(tb testing.TB, name string) {
	tb.Helper()
	file := filepath.Join("testdata", name+".txt")
	got := strings.Join(t.lines, "\n") + "\n"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if got != string(want) {
		tb.Errorf("%s is now (go test ./broker -run %s -update writes it)\n%s", file, tb.Name(), got)
	}
}

// short is an identifier without the zeros of the tests: a.1.
func short(id grid.JobID) string {
	site, rest, _ := strings.Cut(string(id), ".")
	return site + "." + strings.TrimLeft(rest, "0")
}

// unsaid marks a message that a transcript leaves out.
const unsaid = "-\x00"

// spoken is a message in a few words.
func spoken(m wire.Message) string {
	about := func(e grid.Epoch, more string) string {
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", m.Kind(), e, more))
	}
	flag := func(on bool, word string) string {
		if on {
			return word
		}
		return ""
	}
	switch m := m.(type) {
	case wire.EstimateRequest, wire.EstimateReply, wire.MovedAck, wire.Closed, wire.Announce:
		return unsaid
	case wire.Seen:
		return unsaid
	case wire.Offer:
		return about(m.Handoff.Epoch, "")
	case wire.Accept:
		return about(m.Handoff.Epoch, "")
	case wire.Refuse:
		return about(m.Handoff.Epoch, "")
	case wire.Ready:
		return about(m.Handoff.Epoch, "")
	case wire.Abort:
		return about(m.Handoff.Epoch, "("+m.Why+")")
	case wire.Commit:
		return about(m.Handoff.Epoch, flag(m.Cancel, "cancelled"))
	case wire.Owned:
		return about(m.Handoff.Epoch, "")
	case wire.Inquire:
		return about(m.Handoff.Epoch, "")
	case wire.InquireReply:
		return about(m.Handoff.Epoch, [...]string{"", "open", "aborted", "committed", "unknown"}[m.Verdict])
	case wire.Declined:
		return about(m.Handoff.Epoch, "")
	case wire.Unknown:
		return about(m.Handoff.Epoch, "")
	case wire.Report:
		return about(m.Epoch, strings.TrimSpace(m.State.String()+" "+flag(m.End != 0, m.End.String())))
	case wire.ReportAck:
		return about(m.Epoch, strings.TrimSpace(flag(m.Closed, "closed")+" "+flag(m.Cancel, "cancelled")))
	case wire.Cancel:
		return about(m.Epoch, "")
	case wire.Superseded:
		return about(m.Of, fmt.Sprintf("by %s %s", m.Epoch, flag(m.Keep, "keep")))
	case wire.Recalled:
		return about(m.Epoch, "")
	case wire.Recounted:
		return fmt.Sprintf("Recounted %d", len(m.Claims))
	case wire.Request:
		return fmt.Sprintf("Request of %s: %s", m.User, wished(m))
	case wire.Response:
		return strings.TrimSpace("Response " + [...]string{"", "done", "unknown", "forbidden", "later", "invalid", "unavailable", "working"}[m.Outcome] + " " + m.Why)
	case wire.Error:
		return fmt.Sprintf("Error (%s)", m.Why)
	}
	return m.Kind().String()
}

// wished is what a request asks for.
func wished(m wire.Request) string {
	if m.Alter != nil && m.Alter.Held != nil {
		return map[bool]string{true: "hold", false: "release"}[*m.Alter.Held]
	}
	return fmt.Sprintf("wish %d", m.Wish)
}
