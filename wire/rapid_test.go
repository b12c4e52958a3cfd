package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// draw makes values within the limits; texts for programs have any bytes.
type draw struct{ *rapid.T }

func (d draw) n(low, high int64) int64 { return rapid.Int64Range(low, high).Draw(d.T, "n") }

func (d draw) u64() uint64 { return rapid.Uint64().Draw(d.T, "u64") }
func (d draw) u32() uint32 { return rapid.Uint32().Draw(d.T, "u32") }
func (d draw) yes() bool   { return rapid.Bool().Draw(d.T, "yes") }

func (d draw) span() grid.Tick { return grid.Tick(d.n(-int64(MaxSpan), int64(MaxSpan))) }
func (d draw) wait() grid.Tick { return grid.Tick(d.n(0, int64(MaxSpan))) }

func (d draw) name() string {
	return rapid.StringMatching(`[a-z0-9][a-z0-9_-]{0,20}`).Draw(d.T, "name")
}

func (d draw) word() string {
	return plain(rapid.StringN(0, 20, MaxWord).Draw(d.T, "word"), MaxWord)
}

func (d draw) bytes() string {
	b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(d.T, "bytes")
	return string(bytes.ReplaceAll(b, []byte{0}, nil))
}

func (d draw) peer() grid.PeerID {
	return grid.PeerID(rapid.StringMatching(`[1-9A-HJ-NP-Za-km-z]{1,60}`).Draw(d.T, "peer"))
}

func (d draw) maybePeer() grid.PeerID {
	if d.yes() {
		return ""
	}
	return d.peer()
}

func (d draw) jobID() grid.JobID {
	return grid.JobID(rapid.StringMatching(`[a-z0-9][a-z0-9_-]{0,9}\.[0-9A-HJKMNP-TV-Z]{26}(\.[0-9]{1,9})?`).Draw(d.T, "job"))
}

func (d draw) hash() (h grid.Hash) {
	copy(h[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(d.T, "hash"))
	return h
}

// path is one to four odd components.
func (d draw) version() (h grid.Hash) {
	if d.yes() {
		h = d.hash()
	}
	return h
}

func (d draw) path() string {
	parts := make([]string, d.n(1, 4))
	for i := range parts {
		parts[i] = strings.ReplaceAll(d.bytes(), "/", "_") + "x" // never "", "." or ".."
	}
	return strings.Join(parts, "/")
}

func many[T any](d draw, limit int64, one func() T) []T {
	var list []T
	for range d.n(0, limit) {
		list = append(list, one())
	}
	return list
}

func (d draw) starts() (s grid.Starts) {
	if d.yes() {
		return s
	}
	s = grid.Starts{Age: d.wait(), Whole: d.yes()}
	for n := 0; len(s.Processes) == 0 || len(s.Processes) < grid.MaxStartProcesses && d.yes(); {
		n += int(d.n(1, 1<<15))
		s.Processes = append(s.Processes, n)
	}
	for t := grid.Tick(0); len(s.Walltimes) == 0 || len(s.Walltimes) < grid.MaxStartWalltimes && d.yes(); {
		t += grid.Tick(d.n(1, int64(grid.Day)))
		s.Walltimes = append(s.Walltimes, t)
	}
	for range len(s.Processes) * len(s.Walltimes) {
		s.Waits = append(s.Waits, grid.Tick(d.n(0, int64(grid.Unforeseen))))
	}
	return s
}

func (d draw) manifest() grid.Manifest {
	var m grid.Manifest
	for i, p := range many(d, 4, d.path) {
		size := d.n(0, 3*grid.RangeSize)
		f := grid.File{Path: fmt.Sprint(i) + p, Size: size, Mode: uint32(d.n(0, 0o777))}
		for range (size + grid.RangeSize - 1) / grid.RangeSize {
			f.Ranges = append(f.Ranges, d.hash())
		}
		m = append(m, f)
	}
	slices.SortFunc(m, func(a, b grid.File) int { return strings.Compare(a.Path, b.Path) })
	return m
}

func (d draw) demand() grid.Demand {
	chunk := func() grid.Chunk {
		k := grid.Chunk{Count: int(d.n(1, 1000)), Processes: int(d.n(1, 100)), Cores: int(d.n(0, 1000)), Memory: d.n(0, grid.MaxMemory)}
		for _, name := range d.labels() {
			k.Resources = append(k.Resources, grid.Resource{Name: name, Amount: d.n(1, grid.MaxAmount)})
		}
		return k
	}
	return grid.Demand{
		Chunks: append(many(d, 3, chunk), chunk()), Architecture: d.word(), System: d.word(),
		Properties: d.labels(), Exclusive: d.yes(),
		DistinctNodes: d.yes(), Hosts: d.hosts(), Disk: d.n(0, grid.MaxDisk), Measures: d.measures(),
	}
}

// labels are different names of resources or properties; mostly none.
func (d draw) labels() []string {
	if d.yes() {
		return nil
	}
	name := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._:-]{0,20}`)
	return rapid.SliceOfNDistinct(name, 1, 4, rapid.ID).Draw(d.T, "labels")
}

func (d draw) hosts() []string {
	if d.yes() {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,20}`), 1, 4, rapid.ID).Draw(d.T, "hosts")
}

func (d draw) queue() grid.QueueName {
	if d.yes() {
		return ""
	}
	return grid.QueueName(d.name())
}

func (d draw) job() grid.Job {
	return grid.Job{
		ID: d.jobID(), Name: d.word(), Home: d.peer(), User: grid.User{Home: d.peer(), Name: "u" + d.name()}, Rerunnable: d.yes(),
		Program: grid.Program{
			Executable: rapid.SampledFrom([]string{"", "/"}).Draw(d.T, "root") + d.path(), Arguments: many(d, 5, d.bytes),
			Input: d.path(), Output: d.path(), Error: "../" + d.path(), Directory: d.path(),
			Environment: many(d, 3, func() grid.Variable {
				return grid.Variable{Name: strings.ReplaceAll(d.bytes(), "=", "") + "V", Value: d.bytes()}
			}),
			Parallel: d.word(), Limits: d.limits(),
		},
		Demand: d.demand(), Walltime: grid.Tick(d.n(1, int64(grid.MaxWalltime))), WalltimeDefaulted: d.yes(), Queue: d.queue(),
		Inputs:  d.manifest(),
		Outputs: many(d, 3, d.output),
		Account: d.name(), Sites: grid.Choice{Only: d.sites("a"), Not: d.sites("b")}, Warning: d.warning(),
		Sources: many(d, 3, func() grid.Source {
			return grid.Source{Path: d.path(), URI: d.uri(), Flag: grid.CreationFlag(d.n(0, 2))}
		}),
		Bring: many(d, 3, func() grid.Bring {
			return grid.Bring{Pattern: rapid.StringMatching(`[a-z*?]{1,5}(/[a-z*]{1,4}){0,2}x`).Draw(d.T, "pattern"), Bytes: d.n(0, grid.MaxSandbox)}
		}),
		About: grid.About{Description: d.word(), Application: d.word(), Version: d.word(), Annotations: many(d, 3, d.word), Projects: many(d, 3, d.word)},
		Part:  d.part(), Coallocation: d.several(),
		Sharing: grid.Sharing{Keep: d.yes(), Grants: many(d, 3, func() grid.Grant {
			return grid.Grant{Holder: d.peer(), Content: d.hash(), Until: grid.Tick(d.n(0, int64(MaxSpan))), Signature: []byte("s" + d.word())}
		})},
	}
}

func (d draw) uri() string {
	return rapid.StringMatching(`(https?|sftp|s3)://[a-z.]{1,9}/[a-zA-Z0-9%/?=&.~-]{0,20}`).Draw(d.T, "uri")
}

func (d draw) output() grid.Output {
	o := grid.Output{Path: d.path(), Required: d.yes(), Flag: grid.CreationFlag(d.n(0, 2)), Delete: d.yes()}
	if d.yes() {
		o.URI = d.uri()
	} else {
		o.Target = d.path()
	}
	return o
}

func (d draw) limits() (list []grid.Limit) {
	for _, name := range grid.LimitNames {
		if d.yes() {
			list = append(list, grid.Limit{Name: name, Value: d.n(1, grid.MaxMemory)})
		}
	}
	return list
}

func (d draw) sites(prefix string) []grid.SiteName {
	names := many(d, 3, func() grid.SiteName { return grid.SiteName(prefix + d.name()) })
	slices.Sort(names)
	return slices.Compact(names)
}

func (d draw) warning() grid.Warning {
	if d.yes() {
		return grid.Warning{}
	}
	return grid.Warning{Signal: int(d.n(1, grid.MaxSignalSent)), Before: grid.Tick(d.n(1, int64(grid.MaxWalltime)))}
}

func (d draw) measures() (list []grid.Measure) {
	for _, q := range grid.Quantities {
		if d.yes() {
			continue
		}
		low := rapid.Float64Range(0, 1e12).Draw(d.T, "low")
		list = append(list, grid.Measure{Of: q, Within: append(many(d, 2, func() grid.Interval {
			return grid.Interval{Low: low, High: low + 1, LowOpen: d.yes(), HighOpen: d.yes()}
		}), grid.Interval{Low: low})})
	}
	return list
}

func (d draw) site() grid.Site {
	return grid.Site{
		Name: grid.SiteName(d.name()), Processes: int(d.n(0, grid.MaxProcesses)),
		Speed: rapid.Float64Range(1e-9, MaxSpeed).Draw(d.T, "speed"), Architecture: d.word(), System: d.word(), Draining: d.yes(),
		Load:  grid.Load{Cores: int(d.n(0, grid.MaxProcesses)), Busy: int(d.n(0, grid.MaxProcesses)), Waiting: int(d.n(0, grid.MaxProcesses))},
		Each:  grid.Each{Disk: d.n(0, grid.MaxDisk), Clock: rapid.Float64Range(0, 1e12).Draw(d.T, "clock"), Bandwidth: rapid.Float64Range(0, 1e12).Draw(d.T, "bandwidth")},
		Batch: d.word(), Reach: d.sites("r"), ReachPeers: many(d, 3, d.peer),
		Cohorts: many(d, 3, d.cohort),
	}
}

func (d draw) cohort() grid.Cohort {
	return grid.Cohort{
		Architecture: d.word(), System: d.word(), Speed: rapid.Float64Range(0, MaxSpeed).Draw(d.T, "speed"), Memory: d.n(0, grid.MaxMemory),
		Cores: int(d.n(0, grid.MaxProcesses)), Dedicated: d.yes(), Computers: int(d.n(1, grid.MaxProcesses)), Free: int(d.n(0, grid.MaxProcesses)),
		Levels: many(d, grid.MaxLevels, func() float64 { return rapid.Float64Range(0, 64).Draw(d.T, "level") }),
	}
}

func (d draw) epoch() grid.Epoch { return grid.Epoch{Term: d.u32(), Hop: d.u32()} }

func (d draw) journal() grid.JournalID {
	return grid.JournalID{Incarnation: d.u64(), Sequence: d.u64(), Life: d.u64()}
}

func (d draw) handoff() HandoffID { return HandoffID{d.jobID(), d.epoch(), d.peer(), d.hash()} }

func (d draw) certificate() grid.Certificate {
	return grid.Certificate{Epoch: d.epoch(), To: d.peer(), Signature: rapid.SliceOfN(rapid.Byte(), 1, grid.MaxSignature).Draw(d.T, "signature")}
}

func (d draw) maybeCertificate() grid.Certificate {
	if d.yes() {
		return grid.Certificate{}
	}
	return d.certificate()
}

func (d draw) maybeJournal() grid.JournalID {
	if d.yes() {
		return grid.JournalID{}
	}
	return d.journal()
}

func (d draw) certificates(least int64) []grid.Certificate {
	var list []grid.Certificate
	for range d.n(least, 4) {
		list = append(list, d.certificate())
	}
	return list
}

func (d draw) estimate() grid.Estimate {
	e := grid.Estimate{Wait: d.wait(), Safe: d.wait(), Run: d.wait(), Price: rapid.Float64Range(0, MaxPrice).Draw(d.T, "price")}
	if d.yes() {
		e.Spread = grid.Spread{Early: d.wait(), Late: d.wait(), Of: int(d.n(1, MaxOutcomes))}
	}
	if d.yes() {
		e.Refusal = &grid.Refusal{Kind: grid.RefusalKind(d.n(0, 2)), Reason: d.word(), Asked: d.word(), Available: d.word(), Again: d.wait(), TooWide: d.yes()}
	} else {
		e.Alone, e.Doubt = d.wait(), d.word()
	}
	return e
}

func (d draw) ago() Ago {
	if d.yes() {
		return Ago{}
	}
	return Ago{d.span(), true}
}
