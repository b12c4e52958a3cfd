package openpbs

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"gbroker/grid"
	"gbroker/plan"
)

// queue is an execution queue.
type queue struct {
	plan.Queue
	priority int64
	takes    bool // jobs may be submitted to it
	starts   bool // its jobs are considered
}

// queues reads what qstat -Q -f -F json prints, without routing queues and reservations.
func queues(text []byte) ([]queue, error) {
	n, err := counted(text, "Queue", maxQueue)
	if err != nil {
		return nil, err
	}
	list := make([]queue, 0, n)
	var kind, enabled, started, priority, most value
	fields := map[string]*value{"queue_type": &kind, "enabled": &enabled, "started": &started, "Priority": &priority, "resources_max": &most}
	_, err = envelope(text, "Queue", func(name string, s *scanner) error {
		if err := members(s, fields); err != nil {
			return err
		}
		q := queue{Queue: plan.Queue{Name: grid.QueueName(name)}}
		var err1, err2, err3, err4 error
		q.takes, err1 = truth(enabled.text())
		q.starts, err2 = truth(started.text())
		if priority != nil {
			q.priority, err3 = strconv.ParseInt(priority.text(), 10, 32)
		}
		q.Limit, err4 = longest(most)
		switch {
		case !isWord(name):
			return errors.New("it is no name of a queue")
		case kind.is("Execution"):
			if !isReservationQueue(name) {
				list = append(list, q)
			}
		case !kind.is("Route"):
			return at("queue_type", fmt.Errorf("%.40q is neither Execution nor Route", kind.text()))
		}
		return cmp.Or(err1, err2, err3, err4)
	})
	return list, err
}

// longest is resources_max.walltime; 0 is none.
func longest(most value) (grid.Tick, error) {
	if most == nil {
		return 0, nil
	}
	var walltime value
	if err := members(&scanner{text: most}, map[string]*value{"walltime": &walltime}); err != nil || walltime == nil {
		return 0, err
	}
	return duration(walltime.text())
}

// server is what we need of the server.
type server struct {
	standard   grid.QueueName // of jobs that name no queue
	keeps      grid.Tick      // how long jobs that have ended are remembered; 0 is not
	depth      int            // backfill_depth
	scheduling bool
	walltime   grid.Tick // of jobs that name none; 0 is none
}

// servers reads what qstat -B -f -F json prints.
func servers(text []byte) (head, server, error) {
	var s server
	n := 0
	h, err := envelope(text, "Server", func(name string, in *scanner) error {
		if n++; n > 1 {
			return errors.New("a second server")
		}
		return s.read(in)
	})
	if err == nil && n == 0 {
		err = errors.New("no server")
	}
	return h, s, err
}

func (sv *server) read(in *scanner) error {
	var state, standard, history, keeps, depth, scheduling, defaults value
	err := members(in, map[string]*value{
		"server_state": &state, "default_queue": &standard, "job_history_enable": &history, "job_history_duration": &keeps,
		"backfill_depth": &depth, "scheduling": &scheduling, "resources_default": &defaults,
	})
	if err != nil {
		return err
	}
	if state == nil {
		return errors.New("server_state is missing")
	}
	sv.standard, sv.scheduling, sv.depth = grid.QueueName(standard.text()), scheduling.is("True"), 1
	var err1, err2, err3 error
	if history.is("True") {
		sv.keeps = 14 * grid.Day
		if keeps != nil {
			sv.keeps, err1 = duration(keeps.text())
		}
	}
	if depth != nil {
		var n int64
		n, err2 = clamped(depth.text(), 1<<20)
		sv.depth = int(n)
	}
	sv.walltime, err3 = longest(defaults)
	return cmp.Or(err1, err2, err3)
}
