package torque

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
)

// server is what qstat -B tells of the server.
type server struct {
	name    string
	version string
	queue   grid.QueueName // of jobs that name none
	keep    grid.Tick      // for how long jobs that have ended are shown
	limit   grid.Tick      // the longest walltime; 0 is any
	idle    bool           // it starts nothing, unless a scheduler does that asks nobody
	pieces  int64          // resources_available.nodect: takes jobs of so many nodes though there are fewer
}

// queue is what qstat -Q tells of one queue.
type queue struct {
	name     grid.QueueName
	limit    grid.Tick
	property string // that its nodes have; "" is all nodes
	enabled  bool   // it takes jobs
	started  bool   // its jobs start
}

const maxQueues = 10_000

// sections reads the text of qstat -f -1: "KIND: NAME" and lines "    KEY = VALUE" after it, then an
// empty line. The keys are an open set.
func sections(call, kind string, text []byte, begin func(name string) error, attribute func(key, value string) error) error {
	inside, n := false, 0
	for rest := text; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		n++
		name, is := bytes.CutPrefix(line, []byte(kind+": "))
		var err error
		switch key, value, pair := bytes.Cut(line, []byte(" = ")); {
		case len(line) == 0:
			inside = false
		case is:
			inside, err = true, begin(string(name))
		case inside && pair && bytes.HasPrefix(key, []byte("    ")) && len(value) <= maxText:
			err = attribute(string(key[4:]), strings.TrimSpace(string(value)))
		default:
			err = fmt.Errorf("neither %q nor KEY = VALUE", kind+": NAME")
		}
		if err != nil {
			return unreadable(call, "line "+strconv.Itoa(n), text, err)
		}
	}
	return nil
}

// parseServer reads what qstat -B -f -1 prints.
func parseServer(call string, text []byte) (server, error) {
	var s server
	active := false
	err := sections(call, "Server", text, func(name string) error {
		if s.name != "" {
			return fmt.Errorf("a second server, %.40s", name)
		}
		s.name = name
		return checkWord(name)
	}, func(key, value string) (err error) {
		switch key {
		case "server_state":
			active = true
			err = serverState(value)
		case "scheduling":
			s.idle = value == "False"
		case "pbs_version":
			s.version = value
		case "default_queue":
			s.queue, err = grid.QueueName(value), checkWord(value)
		case "keep_completed":
			var n int64
			n, err = number(value, 0, int64(maxSpan/grid.Second))
			s.keep = grid.Tick(n) * grid.Second
		case "resources_max.walltime":
			s.limit, err = span(value)
		case "resources_available.nodect":
			s.pieces, err = number(value, 0, 1<<31)
		}
		return err
	})
	if err == nil && !active {
		err = unreadable(call, "its end", text, fmt.Errorf("there is no server with a server_state"))
	}
	return s, err
}

func serverState(word string) error {
	switch word {
	case "Active", "Idle", "Scheduling", "Hot Start", "Hot_Start", "Terminating", "Terminating, Delayed":
		return nil
	}
	return fmt.Errorf("the server state %.40q is not known", word)
}

// parseQueues reads what qstat -Q -f -1 prints. One that was just created tells neither type nor whether it is enabled and started: it is not.
func parseQueues(call string, text []byte) ([]queue, error) {
	var list []queue
	err := sections(call, "Queue", text, func(name string) error {
		if len(list) == maxQueues {
			return fmt.Errorf("more than %d queues", maxQueues)
		}
		list = append(list, queue{name: grid.QueueName(name)})
		return checkWord(name)
	}, func(key, value string) (err error) {
		q := &list[len(list)-1]
		switch key {
		case "queue_type":
			if value != "Execution" && value != "Route" {
				err = fmt.Errorf("the queue type %.40q is not known", value)
			}
		case "enabled":
			q.enabled, err = truth(value)
		case "started":
			q.started, err = truth(value)
		case "resources_max.walltime":
			q.limit, err = span(value)
		case "resources_default.neednodes", "features_required":
			q.property, err = value, checkWord(value)
		}
		return err
	})
	return list, err
}

// offered are the queues over the nodes.
func offered(list []queue, s server, nodes []plan.Node) []plan.Queue {
	var out []plan.Queue
	for _, q := range list {
		limit := q.limit
		if limit == 0 || s.limit > 0 && s.limit < limit {
			limit = s.limit
		}
		o := plan.Queue{Name: q.name, Limit: limit, Closed: !q.enabled, Stopped: !q.started}
		switch {
		case o.Closed:
			o.Why = "it is not enabled"
		case o.Stopped:
			o.Why = "it is not started"
		}
		if q.property != "" {
			o.Nodes = []int{}
			for i, n := range nodes {
				if has(n.Properties, q.property) {
					o.Nodes = append(o.Nodes, i)
				}
			}
		}
		out = append(out, o)
	}
	return out
}

func has(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}
