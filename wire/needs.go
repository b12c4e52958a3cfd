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
	FeatureDistinct   = "distinct-nodes"  // Demand.DistinctNodes
	FeatureHosts      = "hosts"           // Demand.Hosts
	FeatureDisk       = "disk"            // Demand.Disk
	FeatureMeasures   = "measures"        // Demand.Measures
	FeatureLimits     = "limits"          // Program.Limits, but for memory
	FeatureAccount    = "account"         // Job.Account
	FeatureSites      = "sites"           // Job.Sites
	FeatureWarning    = "warning"         // Job.Warning
	FeatureSources    = "sources"         // Job.Sources
	FeatureTargets    = "targets"         // Output.URI, Flag and Delete
	FeatureDeadline   = "deadline"        // Job.Terms.Deadline
	FeatureDialect    = "dialect"         // Program.Dialect
	FeatureReserved   = "reserved"        // Job.Reservation
	FeaturePart       = "part"            // Job.Part
	FeatureWishes     = "wishes"          // of a Request, but for the status and the cancel of a job
	FeatureBring      = "bring"           // Job.Bring
)

// demandFeatures and jobFeatures tell which jobs use a feature, in the order in which a
// message names them.
var (
	demandFeatures = []struct {
		name string
		used func(*grid.Demand) bool
	}{
		{FeatureResources, func(d *grid.Demand) bool {
			return slices.ContainsFunc(d.Chunks, func(k grid.Chunk) bool { return len(k.Resources) > 0 })
		}},
		{FeatureProperties, func(d *grid.Demand) bool { return len(d.Properties) > 0 }},
		{FeatureExclusive, func(d *grid.Demand) bool { return d.Exclusive }},
		{FeatureDistinct, func(d *grid.Demand) bool { return d.DistinctNodes }},
		{FeatureHosts, func(d *grid.Demand) bool { return len(d.Hosts) > 0 }},
		{FeatureDisk, func(d *grid.Demand) bool { return d.Disk > 0 }},
		{FeatureMeasures, func(d *grid.Demand) bool { return len(d.Measures) > 0 }},
	}
	jobFeatures = []struct {
		name string
		used func(*grid.Job) bool
	}{
		{FeatureLimits, func(j *grid.Job) bool {
			return slices.ContainsFunc(j.Program.Limits, func(l grid.Limit) bool { return l.Name != grid.LimitMemory })
		}},
		{FeatureAccount, func(j *grid.Job) bool { return j.Account != "" }},
		{FeatureSites, func(j *grid.Job) bool { return len(j.Sites.Only)+len(j.Sites.Not)+len(j.Sites.Prefer) > 0 }},
		{FeatureWarning, func(j *grid.Job) bool { return j.Warning != grid.Warning{} }},
		{FeatureSources, func(j *grid.Job) bool { return len(j.Sources) > 0 }},
		{FeatureTargets, func(j *grid.Job) bool {
			return slices.ContainsFunc(j.Outputs, func(o grid.Output) bool { return o.URI != "" || o.Flag != 0 || o.Delete })
		}},
		{FeatureDialect, func(j *grid.Job) bool { return j.Program.Dialect != "" }},
		{FeatureReserved, func(j *grid.Job) bool { return j.Reservation != "" }},
		{FeaturePart, func(j *grid.Job) bool { return j.Part != nil }},
		{FeatureBring, func(j *grid.Job) bool { return len(j.Bring) > 0 }},
	}
)

// understood are the features that this version has.
var understood = func() map[string]bool {
	all := map[string]bool{FeatureDeadline: true, FeatureWishes: true}
	for _, f := range demandFeatures {
		all[f.name] = true
	}
	for _, f := range jobFeatures {
		all[f.name] = true
	}
	return all
}()

// needsOf names the features that the jobs of a message use, beside others.
func needsOf(m Message, others []string) []string {
	needs := slices.Clone(others)
	need := func(feature string, used bool) {
		if used && !slices.Contains(needs, feature) {
			needs = append(needs, feature)
		}
	}
	demand := func(d *grid.Demand) {
		for _, f := range demandFeatures {
			need(f.name, f.used(d))
		}
	}
	job := func(j *grid.Job, deadline In) {
		demand(&j.Demand)
		for _, f := range jobFeatures {
			need(f.name, f.used(j))
		}
		need(FeatureDeadline, deadline.Known)
	}
	switch m := m.(type) {
	case Offer:
		job(&m.Job, m.Deadline)
	case Recalled:
		job(&m.Job, m.Deadline)
	case Slots:
		demand(&m.Demand)
	case EstimateRequest:
		for i := range m.Questions {
			demand(&m.Questions[i].Demand)
		}
	case Reserve:
		demand(&m.Demand)
	case Request:
		need(FeatureWishes, m.Group != "" || m.Wish > WishCancel)
	}
	return needs
}
