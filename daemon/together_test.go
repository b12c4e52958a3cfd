package daemon

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// A job over several sites is refused at once only where all that it may have are known, and too small together.
func TestTooWideForAllSites(t *testing.T) {
	t.Parallel()
	known := []sized{{"a", 4}, {"b", 8}, {"c", 16}}
	for _, x := range []struct {
		processes, sites int
		choice           grid.Choice
		more             []sized
		says             string
	}{
		{processes: 28, sites: 3},
		{processes: 24, sites: 2},
		{processes: 25, sites: 2, says: "the 2 largest sites that it may have (at most 2) have 24 together"},
		{processes: 29, sites: 5, says: "it asks for 29 processors, and the 3 largest"},
		{processes: 29, sites: 5, more: []sized{{"d", 0}}},
		{processes: 29, sites: 5, more: []sized{{"d", 1}}},
		{processes: 13, sites: 3, choice: grid.Choice{Not: []grid.SiteName{"c"}}, says: "have 12 together"},
		{processes: 13, sites: 3, choice: grid.Choice{Only: []grid.SiteName{"b", "a"}}, says: "have 12 together"},
		{processes: 13, sites: 3, choice: grid.Choice{Only: []grid.SiteName{"b", "a"}}, more: []sized{{"d", 100}}, says: "have 12 together"},
		{processes: 29, sites: 5, choice: grid.Choice{Not: []grid.SiteName{"d"}}, more: []sized{{"d", 0}}, says: "have 28 together"},
	} {
		j := grid.Job{
			Demand: grid.Demand{Chunks: []grid.Chunk{{Count: x.processes, Processes: 1, Cores: 1}}}, Sites: x.choice,
			Coallocation: &grid.Coallocation{Sites: x.sites, PerSite: 1},
		}
		if got := tooWide(&j, append(known[:3:3], x.more...)); (got == "") != (x.says == "") || !strings.Contains(got, x.says) {
			t.Errorf("%+v: %q", x, got)
		}
	}
}
