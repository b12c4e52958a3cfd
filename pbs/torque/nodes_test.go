package torque

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gbroker/grid"
)

func nodeList(states ...string) []byte {
	var b strings.Builder
	b.WriteString("<Data>")
	for i, s := range states {
		fmt.Fprintf(&b, "<Node><name>n%d</name>%s<np>4</np></Node>", i+1, s)
	}
	b.WriteString("</Data>")
	return []byte(b.String())
}

// What cannot be read of one node is of that node: it takes no job, is told, and the others are seen.
func TestNodeThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const free = "<state>free</state>"
	for what, odd := range map[string]string{
		"a state": "<state>free,fine</state>", "power": free + "<power_state>Dim</power_state>", "cores": free + "<np>four</np>",
		"accelerators": free + "<gpus>-1</gpus>", "memory": free + "<status>physmem=much</status>", "an element": free + "<mood>good</mood>",
	} {
		f, err := parseFarm("pbsnodes -x", nodeList(free, odd, "<state>down</state>"))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if got := fmt.Sprintf("%v %v %v %v", f.nodes[0].Down, f.nodes[1].Down, f.nodes[2].Down, f.silent); got != "false true true [n3]" {
			t.Errorf("%s: down and silent are %s", what, got)
		}
		if len(f.unread) != 1 || f.unread["n2"] == nil {
			t.Errorf("%s: not read are %v", what, f.unread)
		}
	}
	if _, err := parseFarm("pbsnodes -x", nodeList(free, "<state>a</state>", "<state>b</state>", "<state>c</state>", "<state>d</state>")); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "4 of 5 are not understood") {
		t.Errorf("most of a list that cannot be read: %v", err)
	}
	for what, bad := range map[string]string{"no state": "", "a broken element": "<state>free", "an element inside": "<state><x>free</x></state>"} {
		if _, err := parseFarm("pbsnodes -x", nodeList(free, bad)); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}
