package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gbroker/grid"
)

// Kind is how a local scheduler decides who starts.
//
//	FCFS          strictly in the order of the queue
//	FirstFit      in each pass everything that fits now starts, in the order of the
//	              queue; with Overtakes = N a job that was overtaken N times (once for
//	              each job behind it that started) is a barrier until it starts
//	EASY          jobs are taken in order: one that fits for its whole limit starts, else
//	              it gets the next of K reservations, else it waits
//	EASYSJBF      EASY with one reservation, but behind the head the shortest come first
//	ConsRebuild   every waiting job has a reservation; all are made anew in each pass
//	ConsCompress  every waiting job has a reservation and keeps it; where something
//	              ended, each in the order of the queue may move to an earlier place, once
type Kind uint8

// The kinds of policies.
const (
	FCFS Kind = iota
	FirstFit
	EASY
	EASYSJBF
	ConsRebuild
	ConsCompress
)

// Order is how a queue is sorted; equal jobs stay in the order of their arrival.
type Order uint8

// The orders of a queue.
const (
	ByArrival Order = iota
	ShortestFirst
	LongestFirst
	SmallestFirst
	LargestFirst
	ByPriority // the highest first
)

// Policy is a local scheduler's policy, as data.
type Policy struct {
	Kind         Kind
	Order        Order
	Reservations int // of EASY; 0 is 1
	Overtakes    int // of FirstFit; 0 is any number
}

// Policies lists what ParsePolicy reads.
const Policies = "fcfs, firstfit[:N], easy[:K[:ORDER]], easysjbf, cons-rebuild, cons-compress"

// Orders lists the orders that ParsePolicy reads.
const Orders = "fcfs, sjf, ljf, smallest, largest"

var (
	kindNames  = []string{"fcfs", "firstfit", "easy", "easysjbf", "cons-rebuild", "cons-compress"}
	orderNames = strings.Split(Orders, ", ")
)

// most bounds K and N: beyond it they mean nothing.
const most = 1 << 30

// ParsePolicy reads one of Policies.
func ParsePolicy(text string) (Policy, error) {
	words := strings.Split(text, ":")
	p := Policy{Kind: Kind(index(kindNames, words[0]))}
	args := words[1:]
	var err error
	switch {
	case p.Kind == FirstFit && len(args) == 1:
		p.Overtakes, err = count(args[0])
	case p.Kind == EASY && len(args) <= 2:
		p.Reservations = 1
		if len(args) > 0 {
			p.Reservations, err = count(args[0])
		}
		if len(args) == 2 {
			if p.Order = Order(index(orderNames, args[1])); int(p.Order) == len(orderNames) {
				err = errors.Join(err, fmt.Errorf("there is no order %q; there are %s", args[1], Orders))
			}
		}
	case int(p.Kind) == len(kindNames) || len(args) > 0:
		err = fmt.Errorf("there are %s", Policies)
	}
	if err != nil {
		return Policy{}, fmt.Errorf("policy %q: %w", text, err)
	}
	return p, nil
}

// index is the place of a name, or len(names).
func index(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return len(names)
}

func count(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%q is not a number from 1 to %d", text, most)
	}
	return n, nil
}

// String is the policy as ParsePolicy reads it.
func (p Policy) String() string {
	if int(p.Kind) >= len(kindNames) {
		return "no policy"
	}
	text := kindNames[p.Kind]
	switch {
	case p.Kind == FirstFit && p.Overtakes > 0:
		text += ":" + strconv.Itoa(p.Overtakes)
	case p.Kind == EASY && p.Order != ByArrival && int(p.Order) < len(orderNames):
		text += fmt.Sprintf(":%d:%s", p.reservations(), orderNames[p.Order])
	case p.Kind == EASY && p.reservations() > 1:
		text += ":" + strconv.Itoa(p.Reservations)
	}
	return text
}

func (p Policy) reservations() int { return max(p.Reservations, 1) }

// NeedsLimits tells whether the policy looks at the limits of jobs.
func (p Policy) NeedsLimits() bool {
	return p.Kind > FirstFit || p.Order == ShortestFirst || p.Order == LongestFirst
}

// Overtaken tells that a job that waits may be overtaken by any number of those that come
// later, so that no bound holds for its start.
func (p Policy) Overtaken() bool { return p.Kind == FirstFit && p.Overtakes == 0 }

// Rank sorts a queue, ascending.
func (p Policy) Rank(cores int64, limit grid.Tick, priority int64) int64 {
	switch p.Order {
	case ShortestFirst:
		return int64(limit)
	case LongestFirst:
		return -int64(limit)
	case SmallestFirst:
		return cores
	case LargestFirst:
		return -cores
	case ByPriority:
		return -priority
	}
	return 0
}

// From so many waiting jobs on a likely plan makes fewer reservations than its policy.
const (
	longWait    = 50
	longestWait = 2000
)

// foreseen is the policy of a likely plan of so many waiting jobs. Whenever a job ends
// early a conservative policy makes all reservations anew, most of which come to nothing:
// the first ten say nearly as well who is kept from backfilling.
func (p Policy) foreseen(waiting int) Policy {
	switch {
	case !p.conservative() || waiting < longWait:
	case waiting < longestWait:
		return Policy{Kind: EASY, Order: p.Order, Reservations: 10}
	default:
		return Policy{Kind: EASY, Order: p.Order, Reservations: 1}
	}
	return p
}
