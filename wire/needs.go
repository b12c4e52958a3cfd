package wire

import (
	"slices"

	"gbroker/grid"
)

// Features that came after the first messages of version 1. A message whose job
// uses one names it in needs, so that a broker without it refuses the job by that
// name instead of running it without what it asks for. Append only.
const (
	FeatureResources  = "named-resources" // Chunk.Resources
	FeatureProperties = "properties"      // Demand.Properties
	FeatureExclusive  = "exclusive"       // Demand.Exclusive
)

// understood are the features that this version has.
var understood = map[string]bool{FeatureResources: true, FeatureProperties: true, FeatureExclusive: true}

// needsOf names the features that the jobs of a message use, beside others.
func needsOf(m Message, others []string) []string {
	needs := slices.Clone(others)
	need := func(feature string, used bool) {
		if used && !slices.Contains(needs, feature) {
			needs = append(needs, feature)
		}
	}
	demand := func(d *grid.Demand) {
		need(FeatureResources, slices.ContainsFunc(d.Chunks, func(k grid.Chunk) bool { return len(k.Resources) > 0 }))
		need(FeatureProperties, len(d.Properties) > 0)
		need(FeatureExclusive, d.Exclusive)
	}
	switch m := m.(type) {
	case Offer:
		demand(&m.Job.Demand)
	case Recalled:
		demand(&m.Job.Demand)
	case EstimateRequest:
		for i := range m.Questions {
			demand(&m.Questions[i].Demand)
		}
	}
	return needs
}
