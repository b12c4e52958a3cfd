package openpbs

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// queue is an execution queue, or a routing queue with where it sends its jobs.
type queue struct {
	plan.Queue
	priority int64
	takes    bool // jobs may be submitted to it
	starts   bool // its jobs are considered, or sent on
	route    []grid.QueueName
	limits   []limit
	unread   error // why it cannot be read: it takes and starts nothing
}

// queues reads what qstat -Q -f -F json prints, without the queues of reservations. What was
// never set is absent: enabled and started are False then, and a queue without a type is none.
func queues(text []byte) ([]queue, error) {
	n, err := counted(text, "Queue", maxQueue)
	if err != nil {
		return nil, err
	}
	list := make([]queue, 0, n)
	r := newQueueReader()
	odd := 0
	_, err = envelope(text, "Queue", func(name string, s *scanner) error {
		var q queue
		unread, err := s.attempt(func() (err error) {
			q, err = r.read(name, s)
			return err
		})
		if unread != nil {
			q.takes, q.starts, q.unread = false, false, unread
			odd++
			err = cmp.Or(err, external.Misread(odd, n, unread))
		}
		q.Name = grid.QueueName(name)
		if !isReservationQueue(name) && (r.kind != nil || unread != nil) {
			list = append(list, q)
		}
		return err
	})
	return list, err
}

// queueReader takes the attributes of one queue after another.
type queueReader struct {
	kind, enabled, started, priority, most, route value
	bounds                                        bounds
	fields                                        map[string]*value
}

func newQueueReader() *queueReader {
	r := &queueReader{}
	r.fields = r.bounds.fields(map[string]*value{
		"queue_type": &r.kind, "enabled": &r.enabled, "started": &r.started, "Priority": &r.priority,
		"resources_max": &r.most, "route_destinations": &r.route,
	})
	return r
}

func (r *queueReader) read(name string, s *scanner) (q queue, err error) {
	if err := members(s, r.fields); err != nil {
		return q, err
	}
	var err1, err2, err3, err4, err5 error
	q.limits, err5 = r.bounds.read()
	q.takes, err1 = set(r.enabled)
	q.starts, err2 = set(r.started)
	if r.priority != nil {
		q.priority, err3 = strconv.ParseInt(r.priority.text(), 10, 32)
	}
	q.Limit, err4 = longest(r.most)
	switch {
	case !isWord(name):
		return q, errors.New("it is no name of a queue")
	case r.kind.is("Route"):
		for to := range strings.SplitSeq(r.route.text(), ",") {
			if to = strings.TrimSpace(to); len(q.route) < maxRoute {
				q.route = append(q.route, grid.QueueName(to))
			}
		}
	case r.kind != nil && !r.kind.is("Execution"):
		return q, at("queue_type", fmt.Errorf("%.40q is neither Execution nor Route", r.kind.text()))
	}
	return q, cmp.Or(err1, err2, err3, err4, err5)
}

// maxRoute bounds the destinations of one routing queue.
const maxRoute = 256

// set reads a boolean that is absent until it is set.
func set(v value) (bool, error) {
	if v == nil {
		return false, nil
	}
	return truth(v.text())
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
	standard grid.QueueName // of jobs that name no queue
	keeps    grid.Tick      // how long jobs that have ended are remembered; 0 is not
	depth    int            // backfill_depth
	stopped  bool           // scheduling is False: nothing is started
	walltime grid.Tick      // of jobs that name none; 0 is none
	limits   []limit
	unread   error // why not all limits can be read
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
	var b bounds
	err := members(in, b.fields(map[string]*value{
		"server_state": &state, "default_queue": &standard, "job_history_enable": &history, "job_history_duration": &keeps,
		"backfill_depth": &depth, "scheduling": &scheduling, "resources_default": &defaults,
	}))
	if err != nil {
		return err
	}
	if state == nil {
		return errors.New("server_state is missing")
	}
	sv.limits, sv.unread = b.read()
	sv.standard, sv.stopped, sv.depth = grid.QueueName(standard.text()), scheduling.is("False"), 1
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
