package slurm

import (
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/command"
)

// unreached are the words of commands that found no controller, or one that could not answer.
var unreached = []string{
	"Unable to contact slurm controller", "Socket timed out", "Zero Bytes were transmitted or received",
	"Connection refused", "in standby mode", "Unable to process configuration file", "Message receive failure",
}

func silent(said string) bool { return mentions(said, unreached) }

// never are refusals that would be the same again. All others, also those of a version that
// is not known, say nothing about the next time.
var never = []string{
	"invalid partition specified", "Invalid partition name specified",
	"Requested node configuration is not available", "Memory specification can not be satisfied",
	"Memory required by task is not available", "CPU count per node can not be satisfied",
	"CPU count specification invalid", "Node count specification invalid", "More processors requested than permitted",
	"Invalid feature specification", "Invalid generic resource (gres) specification", "Invalid Trackable RESource",
	"Invalid node name specified", "Invalid account or account/partition combination specified",
	"Invalid qos specification", "Requested time limit is invalid", "Requested reservation is invalid",
	"Access denied to requested reservation", "User's group not permitted to use this partition",
	"Invalid user id", "Access/permission denied", "Invalid --", "unrecognized option", "invalid option",
	"Pathname of a file, directory or other parameter too long", "Batch script contains",
	"Requested reservation overlaps with another reservation", "Requested nodes are busy", "Invalid time specified",
	"Duplicate reservation name", "Reservation already started", "An end time or duration must be given",
	"Either Users/Groups and/or Accounts must be specified", "Invalid node count",
}

func mentions(said string, words []string) bool {
	for _, word := range words {
		if strings.Contains(said, word) {
			return true
		}
	}
	return false
}

// refused is the error of a command that has failed, in its own words.
func refused(call command.Call, got command.Result) error {
	kind := grid.ErrUnavailable
	said := got.Said()
	if !silent(said) && mentions(said, never) {
		kind = grid.ErrInvalid
	}
	if said == "" {
		said = "it says nothing"
	}
	return fmt.Errorf("%w: %s ended with %d: %.500s", kind, spoken(call), got.Exit, said)
}

// spoken is a command as it was called, for people.
func spoken(call command.Call) string {
	text := call.Name + " " + strings.Join(call.Args, " ")
	return text[:min(len(text), 300)]
}
