package openpbs

import (
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/command"
)

// Exit codes: OpenPBS's error number modulo 256.
const (
	exitFinished     = 35  // the job has ended
	exitUnknownJob   = 153 // there is no such job
	exitRoot         = 175 // the server runs no jobs of root
	exitBadState     = 168 // the job is not in a state for this
	exitUnknownQueue = 170
	exitUnknownResv  = 236
	exitBadReserver  = 247 // the server takes no reservation of this user
)

// refusals are the exit codes by which the system says no, and would again.
var refusals = map[int]string{
	1:                "",
	2:                "",
	5:                "",
	79:               "",
	154:              "",
	155:              "",
	159:              "the account may not do this: see acl_users, managers and operators of the server",
	160:              "",
	166:              "",
	167:              "",
	exitBadState:     "the job is not in a state for this",
	exitUnknownQueue: "name a queue that exists and takes jobs",
	exitRoot:         "OpenPBS takes no jobs of root: submit as another account (accounts in gbroker.yaml), or set acl_roots at the server",
	187:              "name resources as OpenPBS does (resources in gbroker.yaml)",
	188:              "the job is beyond what the queue or the server allows",
	238:              "",
	exitBadReserver:  "OpenPBS takes no reservations of root, and none for another user: name an account of its own (operator in gbroker.yaml)",
}

// trouble is the error of a command that ended with another exit code than 0. What is not
// known to be a refusal leaves all unknown: connection lost (162, 255), a limit on the number
// of jobs (38), a queue that is disabled or not yet open (173), whatever is new.
func trouble(c command.Call, r command.Result) error {
	kind, way := grid.ErrUnavailable, ""
	if hint, refused := refusals[r.Exit]; refused && !unreached(r) {
		kind, way = grid.ErrInvalid, hint
	}
	if r.Exit == exitUnknownJob || r.Exit == exitFinished || r.Exit == exitUnknownResv {
		kind = grid.ErrNotFound
	}
	if way != "" {
		way = " (" + way + ")"
	}
	return fmt.Errorf("%w: %s ended with %d: %s%s", kind, c, r.Exit, r.Said(), way)
}

// understood reads what a command printed that only tells something. The exit code comes
// first: with another one than 0 and those that are fine, whatever was printed says nothing.
func understood(c command.Call, r command.Result, read func(text []byte) error, fine ...int) error {
	if r.Exit != 0 && !slices.Contains(fine, r.Exit) {
		return fmt.Errorf("%w: %s ended with %d: %s", grid.ErrUnavailable, c, r.Exit, r.Said())
	}
	err := read(r.Stdout)
	if err == nil {
		return nil
	}
	place := ""
	if p, is := err.(*placed); is {
		place, err = p.place, p.err
	}
	return command.Unreadable(c.String(), place, r.Stdout, err)
}

// unreached tells that the server was not heard, which some commands say with exit code 1.
func unreached(r command.Result) bool {
	return strings.Contains(string(r.Stderr), "onnect")
}
