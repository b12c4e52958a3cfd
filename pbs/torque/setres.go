package torque

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// made is what setres says that it made.
type made struct {
	native string
	nodes  []grid.NodeName
}

// parseMade reads what setres prints: "reservation 'X' created on N nodes (M tasks)", then NODE:TASKS
// for each of them.
func parseMade(call string, text []byte) (made, error) {
	var m made
	told := int64(0)
	err := lines(call, text, func(line string) error {
		rest, is := strings.CutPrefix(line, "reservation '")
		switch {
		case line == "" || line == "reservation created":
			return nil
		case is && m.native == "":
			name, rest, _ := strings.Cut(rest, "' created on ")
			count, rest, _ := strings.Cut(rest, " node")
			var err error
			told, err = number(count, 0, maxNodes)
			if !strings.HasSuffix(rest, " tasks)") && !strings.HasSuffix(rest, " task)") {
				err = errors.Join(err, errors.New("it does not end in a number of tasks"))
			}
			m.native = name
			return errors.Join(err, checkWord(name))
		case m.native != "" && int64(len(m.nodes)) < told:
			node, tasks, _ := strings.Cut(line, ":")
			_, err := number(tasks, 1, 1<<31)
			m.nodes = append(m.nodes, grid.NodeName(node))
			return errors.Join(err, checkWord(node))
		}
		return errors.New("it does not belong here")
	})
	if err == nil && (m.native == "" || int64(len(m.nodes)) != told) {
		err = unreadable(call, "its end", text, fmt.Errorf("%d nodes, where %d should be, of the reservation %q", len(m.nodes), told, m.native))
	}
	slices.Sort(m.nodes)
	return m, err
}

// maxExpression is how long an expression for nodes may be: Maui reads lines of 1,024 bytes.
const maxExpression = 800

// expression matches exactly the nodes, by their whole names: Maui takes an expression as an extended regular
// one, which matches anywhere in a name.
func expression(nodes []grid.NodeName) (string, error) {
	var b strings.Builder
	for i, n := range nodes {
		if slices.Contains(nodes[:i], n) {
			return "", fmt.Errorf("the node %s is named twice", n)
		}
		if err := checkWord(string(n)); err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteByte('|')
		}
		b.WriteString(strings.ReplaceAll(string(n), ".", "[.]"))
	}
	if b.Len() == 0 || b.Len() > maxExpression {
		return "", fmt.Errorf("%d nodes, whose names take %d bytes together: from 1 to %d can be given to Maui", len(nodes), b.Len(), maxExpression)
	}
	return "^(" + b.String() + ")$", nil
}

// tolerance is by how much Maui may move a reservation that it makes, so that two that should follow each other may touch.
const tolerance = 15 * grid.Second

// overlap is the first of list, other than own, that lies on one of b's nodes at the same time.
func overlap(list []external.Reservation, b external.Reservation, own string) (external.Reservation, bool) {
	for _, o := range list {
		if o.Native == own || o.Start+tolerance >= b.End || b.Start+tolerance >= o.End {
			continue
		}
		if slices.ContainsFunc(o.Nodes, func(n grid.NodeName) bool { return slices.Contains(b.Nodes, n) }) {
			return o, true
		}
	}
	return external.Reservation{}, false
}

// parseReleased reads what releaseres prints; it ends with 0 whatever happens. A reservation
// that is not there is as good as released.
func parseReleased(native string) func(call string, text []byte) (bool, error) {
	return func(call string, text []byte) (bool, error) {
		is := false
		err := lines(call, text, func(line string) error {
			switch strings.TrimSpace(line) {
			case "":
			case "released User reservation '" + native + "'", "ERROR:    cannot locate reservation '" + native + "'":
				is = true
			default:
				return errors.New("it does not say that the reservation is released")
			}
			return nil
		})
		if err == nil && !is {
			err = unreadable(call, "its end", text, errors.New("it says nothing"))
		}
		return is, err
	}
}
