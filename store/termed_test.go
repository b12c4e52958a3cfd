package store

import "gbroker/grid"

// term sets every field that jobs have since a later version.
func term(j *grid.Job) {
	j.Program.Limits = []grid.Limit{{Name: grid.LimitCore}, {Name: grid.LimitMemory, Value: 1 << 30}, {Name: grid.LimitStack, Value: 1 << 20}}
	j.Demand.DistinctNodes, j.Demand.Hosts, j.Demand.Disk = true, []string{"n1"}, 6
	j.Demand.Measures = []grid.Measure{{Of: grid.ClockSpeed, Within: []grid.Interval{{Low: 2e9, LowOpen: true}}}}
	j.Account = "physics"
	j.Sites = grid.Choice{Only: []grid.SiteName{"xeon16"}, Not: []grid.SiteName{"xeon32"}, Prefer: []grid.SiteName{"xeon16"}}
	j.Terms = grid.Terms{
		NotBefore: 1, Deadline: 2, Priority: -3, Held: true, Fee: 4,
		After: []grid.Dependency{{Kind: grid.AfterOK, On: string(idOf(7))}}, Notify: []grid.Notice{{When: grid.OnEnd, To: "mailto:a@b"}},
	}
	j.Warning = grid.Warning{Signal: 10, Before: grid.Minute, Leader: true}
	j.Program.Dialect = grid.DialectTORQUE
	j.Sources = []grid.Source{{Path: "work/in\xff", URI: "https://example.org/in", Flag: grid.DontOverwrite}}
	j.Outputs = append(j.Outputs[:len(j.Outputs):len(j.Outputs)], grid.Output{Path: "work/out", URI: "https://example.org/out", Flag: grid.Append, Delete: true})
	j.Reservation = "r1"
	j.Bring = []grid.Bring{{Pattern: "out/*", Bytes: 5}}
	j.About = grid.About{Description: "d", Application: "a", Version: "1", Annotations: []string{"note"}, Projects: []string{"p"}}
}
