package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"gbroker/grid"
)

// Rows are records and jobs as JSON has them: the nouns of grid under their own
// names, but for the parts that JSON cannot hold or only at great length. A field of
// a row stands in for the field of the same name in what it embeds.

type recordRow struct {
	grid.Record
	Job     *struct{} `json:",omitempty"` // never set: it has a table of its own
	Outputs []fileRow `json:",omitempty"`

	Candidate     *grid.JournalID  `json:",omitempty"`
	Certified     *grid.Hash       `json:",omitempty"`
	Superseded    *grid.Epoch      `json:",omitempty"`
	Adopted       *grid.Epoch      `json:",omitempty"`
	RaisedFrom    *grid.Epoch      `json:",omitempty"`
	Fenced        []grid.PeerID    `json:",omitempty"`
	Kept          bool             `json:",omitempty"`
	Overdue       bool             `json:",omitempty"`
	HomeForgotten bool             `json:",omitempty"`
	Uncertain     bool             `json:",omitempty"`
	Anyway        bool             `json:",omitempty"`
	Unfenced      bool             `json:",omitempty"`
	Unsupplied    bool             `json:",omitempty"`
	Altered       *grid.Alteration `json:",omitempty"`
	HandedIn      *handedInRow     `json:",omitempty"`
	Owed          []grid.Owed      `json:",omitempty"`
	Relayed       []grid.Relayed   `json:",omitempty"`
	Stay          *struct{}        `json:",omitempty"` // never set: it is among the decisions
	Decisions     *struct{}        `json:",omitempty"` // never set: what brokers before wrote beside the journal has it, as null
	Telling       bool             `json:",omitempty"`
	Hops          uint32           `json:",omitempty"`
	HopsAt        grid.Tick        `json:",omitempty"`
	Missing       grid.Tick        `json:",omitempty"`
	Unproven      bool             `json:",omitempty"`
	Queued        grid.Tick        `json:",omitempty"`
	ExpectedStart grid.Tick        `json:",omitempty"`
	Obstacle      string           `json:",omitempty"`
	Usage         *grid.Usage      `json:",omitempty"`
	Arrived       grid.Tick        `json:",omitempty"`
	Hosts         []string         `json:",omitempty"`
	Address       string           `json:",omitempty"`
	Rendezvous    string           `json:",omitempty"`

	// What has another name in the journal than it has now.
	Standing     grid.Role
	Role         *struct{}        `json:",omitempty"` // never set
	Deeds        []certificateRow `json:",omitempty"`
	Certificates *struct{}        `json:",omitempty"` // never set
}

type certificateRow struct {
	Epoch     grid.Epoch
	To        grid.PeerID
	Signature []byte
}

// decisionRow is grid.Decision; why the job stays is left out where it does not, and that it does has a column of its own.
type decisionRow struct {
	At         grid.Tick
	Epoch      grid.Epoch
	Chosen     grid.SiteName
	Candidates []grid.Candidate
	Stays      string `json:",omitempty"`
}

func toDecision(d grid.Decision) decisionRow {
	return decisionRow{d.At, d.Epoch, d.Chosen, d.Candidates, d.Stays}
}

func (r decisionRow) decision(unmoved bool) grid.Decision {
	return grid.Decision{At: r.At, Epoch: r.Epoch, Chosen: r.Chosen, Candidates: r.Candidates, Unmoved: unmoved, Stays: r.Stays}
}

// siteRow is grid.SiteState; what is not set is left out.
type siteRow struct {
	Draining   bool             `json:",omitempty"`
	RolledBack uint64           `json:",omitempty"`
	Behind     []grid.JournalID `json:",omitempty"`
	Asked      []grid.PeerID    `json:",omitempty"`
	Forgotten  []grid.Forgotten `json:",omitempty"`
	Traces     []grid.Trace     `json:",omitempty"`
	Lost       []grid.JournalID `json:",omitempty"`
	Settled    grid.Settled     `json:",omitzero"`
	Since      grid.Tick        `json:",omitempty"`
}

type jobRow struct {
	ID                grid.JobID
	Name              string
	Home              grid.PeerID
	User              grid.User
	Rerunnable        bool
	Demand            demandRow
	Walltime          grid.Tick
	WalltimeDefaulted bool
	Queue             grid.QueueName
	Program           programRow
	Inputs            []fileRow   `json:",omitempty"`
	Outputs           []outputRow `json:",omitempty"`

	Account string      `json:",omitempty"`
	Sites   choiceRow   `json:",omitzero"`
	Terms   termsRow    `json:",omitzero"`
	Warning warningRow  `json:",omitzero"`
	Sources []sourceRow `json:",omitempty"`
	About   aboutRow    `json:",omitzero"`

	Reservation  grid.ReservationID `json:",omitempty"`
	Guaranteed   *choiceRow         `json:",omitempty"`
	Coallocation *coallocationRow   `json:",omitempty"`
	Part         *partRow           `json:",omitempty"`
	Bring        []grid.Bring       `json:",omitempty"`
	Sharing      sharingRow         `json:",omitzero"`
}

// sharingRow is a grid.Sharing.
type sharingRow struct {
	Keep   bool       `json:",omitempty"`
	Grants []grantRow `json:",omitempty"`
}

type grantRow grid.Grant

func toSharing(s grid.Sharing) sharingRow {
	return sharingRow{s.Keep, each(s.Grants, func(g grid.Grant) grantRow { return grantRow(g) })}
}

func (r sharingRow) sharing() grid.Sharing {
	return grid.Sharing{Keep: r.Keep, Grants: each(r.Grants, func(g grantRow) grid.Grant { return grid.Grant(g) })}
}

// What a demand may have since the first version is left out where it is not there.

type demandRow struct {
	Chunks               []chunkRow
	Architecture, System string
	Properties           []string       `json:",omitempty"`
	Exclusive            bool           `json:",omitempty"`
	DistinctNodes        bool           `json:",omitempty"`
	Hosts                []string       `json:",omitempty"`
	Disk                 int64          `json:",omitempty"`
	Measures             []grid.Measure `json:",omitempty"`
}

// handedInRow is a grid.HandedIn.
type handedInRow struct {
	Walltime grid.Tick
	Queue    grid.QueueName
	Demand   demandRow
}

func toHandedIn(h grid.HandedIn) handedInRow {
	return handedInRow{h.Walltime, h.Queue, toDemand(h.Demand)}
}

func (r handedInRow) handedIn() grid.HandedIn {
	return grid.HandedIn{Walltime: r.Walltime, Queue: r.Queue, Demand: r.Demand.demand()}
}

type chunkRow struct {
	Count, Processes, Cores int
	Memory                  int64
	Resources               []grid.Resource `json:",omitempty"`
}

func encodeRecord(r *grid.Record) ([]byte, error) {
	return encode(recordRow{
		Record: *r, Outputs: each(r.Outputs, toFile),
		Candidate: present(r.Candidate), Certified: present(r.Certified), Superseded: present(r.Superseded), Adopted: present(r.Adopted), RaisedFrom: present(r.RaisedFrom), Fenced: r.Fenced,
		Kept: r.Kept, Overdue: r.Overdue, HomeForgotten: r.HomeForgotten, Uncertain: r.Uncertain, Anyway: r.Anyway, Unfenced: r.Unfenced, Unsupplied: r.Unsupplied, Altered: r.Altered, HandedIn: pointed(r.HandedIn, toHandedIn), Owed: r.Owed, Relayed: r.Relayed,
		Standing: r.Role,
		Deeds:    each(r.Certificates, func(d grid.Certificate) certificateRow { return certificateRow(d) }),
		Telling:  r.Telling, Hops: r.Hops, HopsAt: r.HopsAt, Missing: r.Missing, Unproven: r.Unproven,
		Queued: r.Queued, ExpectedStart: r.ExpectedStart, Obstacle: r.Obstacle, Usage: present(r.Usage),
		Arrived: r.Arrived, Hosts: r.Hosts, Address: r.Address, Rendezvous: r.Rendezvous,
	})
}

func encodeJob(j *grid.Job) ([]byte, error) {
	return encode(jobRow{
		ID: j.ID, Name: j.Name, Home: j.Home, User: j.User, Rerunnable: j.Rerunnable, Demand: toDemand(j.Demand),
		Walltime: j.Walltime, WalltimeDefaulted: j.WalltimeDefaulted, Queue: j.Queue,
		Program: toProgram(j.Program), Inputs: each(j.Inputs, toFile), Outputs: each(j.Outputs, toOutput),
		Account: j.Account, Sites: choiceRow(j.Sites), Terms: termsRow(j.Terms), Warning: warningRow(j.Warning),
		Sources: each(j.Sources, toSource), About: aboutRow(j.About), Reservation: j.Reservation,
		Guaranteed: pointed(j.Guaranteed, toChoice), Coallocation: pointed(j.Coallocation, toCoallocation), Part: pointed(j.Part, toPart), Bring: j.Bring, Sharing: toSharing(j.Sharing),
	})
}

func encode(row any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(row); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decode joins a record and its job again. A field that is not known is an error:
// to go on would lose it.
func decode(record, job []byte) (grid.Record, error) {
	r, err := decodeRecord(record)
	if err != nil {
		return grid.Record{}, fmt.Errorf("its record: %w", err)
	}
	var d jobRow
	if err := strictly(job, &d); err != nil {
		return grid.Record{}, fmt.Errorf("its document: %w", err)
	}
	inputs, err := files(d.Inputs)
	if err != nil {
		return grid.Record{}, err
	}
	r.Job = d.job()
	r.Job.Inputs = inputs
	return r, nil
}

// job is all but its inputs.
func (d *jobRow) job() grid.Job {
	return grid.Job{
		ID: d.ID, Name: d.Name, Home: d.Home, User: d.User, Rerunnable: d.Rerunnable,
		Program: d.Program.program(), Demand: d.Demand.demand(),
		Walltime: d.Walltime, WalltimeDefaulted: d.WalltimeDefaulted, Queue: d.Queue, Outputs: each(d.Outputs, outputRow.output),
		Account: d.Account, Sites: grid.Choice(d.Sites), Terms: grid.Terms(d.Terms), Warning: grid.Warning(d.Warning),
		Sources: each(d.Sources, sourceRow.source), About: grid.About(d.About), Reservation: d.Reservation,
		Guaranteed: pointed(d.Guaranteed, choiceRow.choice), Coallocation: pointed(d.Coallocation, coallocationRow.coallocation), Part: pointed(d.Part, partRow.part), Bring: d.Bring, Sharing: d.Sharing.sharing(),
	}
}

// decodeRecord reads a record without its job.
func decodeRecord(record []byte) (grid.Record, error) {
	var r recordRow
	if err := strictly(record, &r); err != nil {
		return grid.Record{}, err
	}
	outputs, err := files(r.Outputs)
	if err != nil {
		return grid.Record{}, err
	}
	r.Record.Outputs = outputs
	r.Record.Candidate, r.Record.Certified = orZero(r.Candidate), orZero(r.Certified)
	r.Record.Superseded, r.Record.Adopted, r.Record.RaisedFrom = orZero(r.Superseded), orZero(r.Adopted), orZero(r.RaisedFrom)
	r.Record.Kept, r.Record.HomeForgotten, r.Record.Uncertain, r.Record.Anyway, r.Record.Unfenced = r.Kept, r.HomeForgotten, r.Uncertain, r.Anyway, r.Unfenced
	r.Record.Role = r.Standing
	r.Record.Certificates = each(r.Deeds, func(d certificateRow) grid.Certificate { return grid.Certificate(d) })
	r.Record.Telling, r.Record.Hops, r.Record.HopsAt, r.Record.Missing, r.Record.Unproven = r.Telling, r.Hops, r.HopsAt, r.Missing, r.Unproven
	r.Record.Queued, r.Record.ExpectedStart, r.Record.Usage = r.Queued, r.ExpectedStart, orZero(r.Usage)
	r.Record.Obstacle, r.Record.Altered, r.Record.Overdue = r.Obstacle, r.Altered, r.Overdue
	r.Record.Owed, r.Record.HandedIn = r.Owed, pointed(r.HandedIn, handedInRow.handedIn)
	r.Record.Arrived, r.Record.Hosts, r.Record.Address, r.Record.Rendezvous = r.Arrived, r.Hosts, r.Address, r.Rendezvous
	r.Record.Relayed, r.Record.Fenced, r.Record.Unsupplied = r.Relayed, r.Fenced, r.Unsupplied
	return r.Record, nil
}

// briefRow is of a document what a list of jobs shows: the rest may be large, and is passed over.
type briefRow struct {
	jobRow
	Program, Inputs, Outputs, Sources, About, Bring, Sharing skipped
}

type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// decodeBriefly leaves out of a record and its job what may be large.
func decodeBriefly(record, job []byte) (grid.Record, error) {
	r, err := decodeRecord(record)
	if err != nil {
		return grid.Record{}, fmt.Errorf("its record: %w", err)
	}
	var d briefRow
	if err := json.Unmarshal(job, &d); err != nil {
		return grid.Record{}, fmt.Errorf("its document: %w", err)
	}
	r.Outputs, r.Certificates, r.Job = nil, nil, d.job()
	return r, nil
}

func strictly(b []byte, row any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(row); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows its end")
	}
	return nil
}

func toDemand(d grid.Demand) demandRow {
	return demandRow{
		each(d.Chunks, toChunk), d.Architecture, d.System, d.Properties, d.Exclusive,
		d.DistinctNodes, d.Hosts, d.Disk, d.Measures,
	}
}

func (r demandRow) demand() grid.Demand {
	return grid.Demand{
		Chunks:       each(r.Chunks, func(c chunkRow) grid.Chunk { return grid.Chunk(c) }),
		Architecture: r.Architecture, System: r.System, Properties: r.Properties, Exclusive: r.Exclusive,
		DistinctNodes: r.DistinctNodes, Hosts: r.Hosts, Disk: r.Disk, Measures: r.Measures,
	}
}

func toChunk(c grid.Chunk) chunkRow { return chunkRow(c) }

// each converts a list; an empty one becomes none.
func each[T, R any](list []T, convert func(T) R) []R {
	if len(list) == 0 {
		return nil
	}
	out := make([]R, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}
