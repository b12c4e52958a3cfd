package openpbs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// submission is the command that hands an order over: the script by standard input, and no
// variable but the mark, whose characters -v takes as they are.
func (w words) submission(o external.Order) (command.Call, error) {
	call := command.Call{Name: "qsub", Stdin: logged(o.Script, o.Log), As: o.As}
	chunks, place, err := w.selection(o.Demand)
	if err != nil {
		return call, err
	}
	if err := checkOrder(o); err != nil {
		return call, fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	call.Args = []string{
		"-N", o.Tag,
		"-l", "select=" + chunks, "-l", "place=" + place, "-l", "walltime=" + walltime(o.Limit),
		"-r", yes(o.Rerunnable),
		"-j", "oe", "-o", "localhost:/dev/null", // no host before it would be this one, and the file be copied here
		"-v", markName + "=" + o.Mark,
		"-S", "/bin/sh",
	}
	switch {
	case o.Reservation != "":
		queue, _, _ := strings.Cut(o.Reservation, ".")
		call.Args = append(call.Args, "-q", queue)
	case o.Queue != "":
		call.Args = append(call.Args, "-q", string(o.Queue))
	}
	if o.Account != "" {
		call.Args = append(call.Args, "-A", o.Account)
	}
	if o.Held {
		call.Args = append(call.Args, "-h")
	}
	return call, nil
}

// logged is a script that itself writes what it says into the log. OpenPBS would copy the log
// there when the job has ended: a folder that is gone by then makes it try again for half a
// minute, in which the job keeps its cores. Where the node does not see the folder, nothing is
// written.
func logged(script []byte, log string) []byte {
	if log == "/dev/null" {
		return script
	}
	file := "'" + strings.ReplaceAll(log, "'", `'\''`) + "'"
	line := fmt.Sprintf("{ true >>%s; } 2>/dev/null && exec >>%s 2>&1\n", file, file)
	head, rest := []byte(nil), script
	if i := bytes.IndexByte(script, '\n'); bytes.HasPrefix(script, []byte("#!")) && i >= 0 {
		head, rest = script[:i+1], script[i+1:]
	}
	return slices.Concat(head, []byte(line), rest)
}

// checkOrder says what OpenPBS would misread.
func checkOrder(o external.Order) error {
	switch {
	case !isWord(o.Tag) || len(o.Tag) > 230:
		return fmt.Errorf("the name %.80q: letters, digits and . _ -, at most 230", o.Tag)
	case o.Limit <= 0:
		return fmt.Errorf("no walltime: OpenPBS would take the job as five years long, and nothing could be planned behind it")
	case o.Limit > grid.MaxWalltime*2:
		return fmt.Errorf("a walltime of %v", o.Limit.Duration())
	case len(o.Script) == 0:
		return fmt.Errorf("no script")
	case !strings.HasPrefix(o.Log, "/") || strings.ContainsAny(o.Log, ":,\n"):
		return fmt.Errorf("the log file %.200q: an absolute path without colons, commas and line breaks", o.Log)
	case o.Reservation != "" && !isReservationID(o.Reservation):
		return fmt.Errorf("%.80q is no reservation, such as R42.server", o.Reservation)
	case o.Queue != "" && !isWord(string(o.Queue)):
		return fmt.Errorf("%.80q is no queue", o.Queue)
	}
	return checkMark(o.Mark)
}

// yes is a boolean as -r takes it.
func yes(b bool) string {
	if b {
		return "y"
	}
	return "n"
}
