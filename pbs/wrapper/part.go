package wrapper

import (
	"errors"
	"strconv"

	"gbroker/grid"
	"gbroker/pbs/control"
)

func (s Spec) checkPart() error {
	if s.Control == "" {
		return errors.New("a part of a co-allocated job waits for a file, and its nodes do not see its control directory")
	}
	return s.Ports.Check()
}

// part sets what the barrier needs to know.
func (s Spec) part(set func(name, value string), number func(name string, n int64)) {
	for _, unset := range []string{"alone", "rendezvous", "head", "one_world", "via"} {
		set(unset, "")
	}
	if s.Part == nil {
		set("part_of", "")
		return
	}
	set("part_of", string(s.Part.Of))
	set("part_site", string(s.Part.Site()))
	number("part_rank", int64(s.Part.Rank))
	if s.Reached {
		set("reach", "yes")
	} else {
		set("reach", "")
	}
	number("part_until", int64(control.Patience(s.Part, s.Part.Start)))
	number("part_longest", int64(control.Longest(s.Part)/grid.Second))
	number("part_within", int64((s.Part.Within+grid.Second-1)/grid.Second))
	set("part_words", s.Part.Within.Duration().String())
	number("port_first", int64(s.Ports.First))
	number("port_count", int64(s.Ports.Last-s.Ports.First+1))
	set("all_hosts", s.Control+"/sites."+s.ID.Epoch.String()+"."+strconv.FormatUint(uint64(s.ID.Attempt), 10))
}

// found are the variables of the program that are known only on the node, and those of the
// shell that have their values.
func (s Spec) found() map[string]string {
	vars := map[string]string{"GBROKER_HOSTFILE": "hosts"}
	if s.Part != nil {
		vars["GBROKER_SITES_HOSTFILE"], vars["GBROKER_RENDEZVOUS"] = "all_hosts", "rendezvous"
	}
	return vars
}
