package e2e

import (
	"reflect"
	"strings"
	"testing"

	"gbroker/test/cluster"
)

// What the tests ask at the socket, see [told], is what gclient prints.
func TestGclientPrintsWhatIsAsked(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 1})
	start(t, s)
	one := work{script: "true"}
	id := one.submit(t, s, dir, "one")
	exits(t, s, id, 0)
	group := strings.TrimSpace(client(t, s, "submit", one.write(t, dir, "first"), one.write(t, dir, "second")))
	client(t, s, "wait", group)
	for _, question := range [][]string{{"status", id}, {"history", id}, {"explain", id}, {"status", group}, {"list"}, {"sites"}} {
		var seen any
		eventually(t, strings.Join(question, " ")+" is to be the same in both ways", func() bool {
			must(t, s.View(t.Context(), &seen, question...))
			return reflect.DeepEqual(seen, shown[any](t, s, question...))
		})
		if list, is := seen.([]any); seen == nil || is && len(list) == 0 {
			t.Errorf("%v tells nothing: %v", question, seen)
		}
	}
}
