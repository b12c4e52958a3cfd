package wire

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"gbroker/grid"
)

// The guard agrees with the decoder on how long a value of each code is: what it lets through is
// never read otherwise, and what it refuses is ext, the code that is never used, or cut off.
func TestGuardWalksAsTheDecoderReads(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		body := append([]byte{byte(c)}, bytes.Repeat([]byte{0xa0}, 2*0x10000)...) // empty strings
		if 0xc4 <= c && c <= 0xc6 || 0xd9 <= c && c <= 0xdb || c >= 0xdc && c <= 0xdf {
			copy(body[1:], []byte{0, 0, 0, 2}[max(0, 4-lengthBytes(byte(c))):])
		}
		r := bytes.NewReader(body)
		decoder := msgpack.NewDecoder(r)
		decoderSays := decoder.Skip()
		g := guard{rest: body, elements: 1 << 20}
		err := g.value(0)
		switch {
		case isExt(byte(c)):
			if err == nil {
				t.Errorf("code 0x%02x is walked over", c)
			}
		case err != nil:
			t.Errorf("code 0x%02x: %v", c, err)
		case decoderSays != nil || len(g.rest) != r.Len():
			t.Errorf("code 0x%02x: the guard leaves %d bytes, the decoder %d, %v", c, len(g.rest), r.Len(), decoderSays)
		}
		for cut := range min(len(body)-len(g.rest), 12) {
			if g := (guard{rest: body[:cut], elements: 1 << 20}); err == nil && g.value(0) == nil {
				t.Errorf("code 0x%02x cut after %d bytes is walked over", c, cut)
			}
		}
	}
}

// lengthBytes is how many bytes the length behind a code takes.
func lengthBytes(c byte) int {
	switch c {
	case 0xc4, 0xd9:
		return 1
	case 0xc5, 0xda, 0xdc, 0xde:
		return 2
	}
	return 4
}

func isExt(c byte) bool { return c == 0xc1 || 0xc7 <= c && c <= 0xc9 || 0xd4 <= c && c <= 0xd8 }

// The head of a frame has each lexical form of its numbers and names, and no other.
func TestFormsOfTheHead(t *testing.T) {
	t.Parallel()
	body := "\x81\xa1j\xd9\x21" + string(aJob)
	name := func(n int) string { return "\xd9" + string(rune(n)) + strings.Repeat("f", n) }
	cases := map[string]struct{ head, want string }{
		"all short":               {"\x94\x01\x11\x90", ""},
		"8 bits":                  {"\x94\xcc\x01\xcc\x11\x90", ""},
		"16 bits":                 {"\x94\xcd\x00\x01\xcd\x00\x11\x90", ""},
		"32 bits":                 {"\x94\xce\x00\x00\x00\x01\xce\x00\x00\x00\x11\x90", ""},
		"64 bits":                 {"\x94\xcf\x00\x00\x00\x00\x00\x00\x00\x01\x11\x90", ""},
		"a signed version":        {"\x94\xd0\x01\x11\x90", "version: it is no unsigned"},
		"a float":                 {"\x94\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\x11\x90", "version: it is no unsigned"},
		"a map for version":       {"\x94\x80\x11\x90", "version: it is no unsigned"},
		"version 127":             {"\x94\x7f\x11\x90", "version 127 is newer"},
		"version 0":               {"\x94\x00\x11\x90", "version 0 is older"},
		"version cut":             {"\x94\xcd\x00", "version: " + errShort.Error()},
		"kind cut":                {"\x94\x01\xcd\x00", "kind: " + errShort.Error()},
		"kind 255":                {"\x94\x01\xcc\xff\x90", "message kind 255 is unknown"},
		"needs in a long array":   {"\x94\x01\x11\xdc\x00\x00", ""},
		"needs cut":               {"\x94\x01\x11\xdc\x00", "needs: " + errShort.Error()},
		"needs missing":           {"\x94\x01\x11", "needs: " + errShort.Error()},
		"a need cut":              {"\x94\x01\x11\x91\xa5f", "needs: " + errShort.Error()},
		"a need as a short word":  {"\x94\x01\x11\x91\xa1f", `the feature "f"`},
		"a need as a longer word": {"\x94\x01\x11\x91" + name(32), "the feature \"" + strings.Repeat("f", 32)},
		"a need that is binary":   {"\x94\x01\x11\x91\xc4\x01f", "it is no short string"},
		"a need that is a map":    {"\x94\x01\x11\x91\x80", "it is no short string"},
		"most needs":              {"\x94\x01\x11\xdc\x00\x20" + strings.Repeat("\xa1f", MaxNeeds), `the feature "f"`},
		"one need more":           {"\x94\x01\x11\xdc\x00\x21" + strings.Repeat("\xa1f", MaxNeeds+1), fmt.Sprintf("%d features: at most", MaxNeeds+1)},
	}
	for what, c := range cases {
		frame := c.head
		if !strings.Contains(what, "cut") && what != "needs missing" {
			frame += body
		}
		m, err := Decode([]byte(frame))
		if got, is := m.(Cancel); c.want == "" && (err != nil || !is || got.Job != aJob) {
			t.Errorf("%s: %v, %v", what, m, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

// What is just within its limit passes, both ways; one more is refused.
func TestLimitsAreInclusive(t *testing.T) {
	t.Parallel()
	handoff := HandoffID{Job: aJob, To: other}
	site := func(change func(*grid.Site)) Message {
		s := grid.Site{Name: "a", Processes: 1, Speed: 1}
		change(&s)
		return Hello{Site: s}
	}
	offer := func(change func(*grid.Job)) Message {
		job := exampleJob()
		change(&job)
		return Offer{Handoff: handoff, Job: job}
	}
	report := func(change func(*Report)) Message {
		r := Report{Job: aJob, State: grid.Running}
		change(&r)
		return r
	}
	text := func(n int) string { return strings.Repeat("v", n) }
	cases := map[string]func(over int) Message{
		"speed":            func(n int) Message { return site(func(s *grid.Site) { s.Speed = MaxSpeed + float64(n) }) },
		"processes":        func(n int) Message { return site(func(s *grid.Site) { s.Processes = grid.MaxProcesses + n }) },
		"clock":            func(n int) Message { return Hello{Site: grid.Site{Name: "a", Speed: 1}, Clock: MaxSpan + grid.Tick(n)} },
		"span, negative":   func(n int) Message { return report(func(r *Report) { r.Started = Ago{-MaxSpan - grid.Tick(n), true} }) },
		"state":            func(n int) Message { return report(func(r *Report) { r.State = grid.Lost + grid.State(n) }) },
		"exit code":        func(n int) Message { return report(func(r *Report) { r.ExitCode = math.MaxInt32 + n }) },
		"exit code, least": func(n int) Message { return report(func(r *Report) { r.ExitCode = math.MinInt32 - n }) },
		"signal":           func(n int) Message { return report(func(r *Report) { r.Signal = maxSignal + n }) },
		"memory used":      func(n int) Message { return report(func(r *Report) { r.Usage.Memory = grid.MaxUsedMemory + int64(n) }) },
		"local":            func(n int) Message { return report(func(r *Report) { r.Local = grid.LocalID(text(MaxLocal + n)) }) },
		"walltime":         func(n int) Message { return offer(func(j *grid.Job) { j.Walltime = grid.MaxWalltime + grid.Tick(n) }) },
		"path":             func(n int) Message { return offer(func(j *grid.Job) { j.Program.Error = text(grid.MaxPath + n) }) },
		"argument": func(n int) Message {
			return offer(func(j *grid.Job) { j.Program.Arguments = []string{text(grid.MaxText + n)} })
		},
		"user": func(n int) Message { return offer(func(j *grid.Job) { j.User.Name = text(MaxUser + n) }) },
		"arguments with environment": func(n int) Message {
			return offer(func(j *grid.Job) {
				j.Program.Arguments, j.Program.Environment = nil, nil
				for range MaxProgramText / grid.MaxText {
					j.Program.Arguments = append(j.Program.Arguments, text(grid.MaxText-1)) // each with its end
				}
				last := &j.Program.Arguments[0]
				*last = (*last)[:len(*last)-4] + text(n)
				j.Program.Environment = []grid.Variable{{Name: "A", Value: "b"}}
			})
		},
		"resources of all pieces": func(n int) Message {
			return offer(func(j *grid.Job) {
				j.Demand.Chunks = []grid.Chunk{{Count: 1, Processes: 1, Resources: []grid.Resource{{Name: "gpu", Amount: grid.MaxAmount + int64(n)}}}}
			})
		},
		"mode": func(n int) Message {
			return offer(func(j *grid.Job) { j.Inputs = grid.Manifest{{Path: "a", Mode: 0o777 + uint32(n)}} })
		},
		"bytes of all files": func(n int) Message {
			return offer(func(j *grid.Job) { j.Inputs = halves(MaxSandbox, int64(n)) })
		},
		"verdict": func(n int) Message { return InquireReply{Handoff: handoff, Verdict: VerdictUnknown + Verdict(n)} },
		"outcome": func(n int) Message { return Response{Job: aJob, Outcome: OutcomeWorking + Outcome(n)} },
		"outcome, least": func(n int) Message {
			return Response{Job: aJob, Outcome: OutcomeDone - Outcome(n), Status: &Status{User: grid.User{Name: "u", Home: other}, Home: other, Owner: other, State: grid.Ready, Demand: exampleJob().Demand, Walltime: 1}}
		},
	}
	for what, with := range cases {
		for over, fine := range []bool{true, false} {
			m := with(over)
			if _, err := Encode(m); (err == nil) != fine {
				t.Errorf("%s, %d over its limit, is encoded: %v", what, over, err)
			}
			if _, err := Decode(unchecked(t, m)); (err == nil) != fine {
				t.Errorf("%s, %d over its limit, is decoded: %v", what, over, err)
			}
		}
	}
}

// halves are two files of so many bytes together, of which more than that are over.
func halves(total, over int64) grid.Manifest {
	const most = int64(1) << 32 // a file with not too many ranges
	var m grid.Manifest
	for left := total + over; left > 0; left -= most {
		size := min(left, most)
		m = append(m, grid.File{Path: fmt.Sprintf("f%04d", len(m)), Size: size, Ranges: make([]grid.Hash, (size+grid.RangeSize-1)/grid.RangeSize)})
	}
	return m
}

// A hash is as long as hashes are; only where none may be there it may be empty.
func TestHashesHaveOneLength(t *testing.T) {
	t.Parallel()
	for size := range 2 * len(grid.Hash{}) {
		b := bytes.Repeat([]byte{7}, size)
		var needed, optional check
		h, o := needed.hash("h", b), optional.optionalHash("h", b)
		whole := size == len(h)
		if (needed.err == nil) != whole || (optional.err == nil) != (whole || size == 0) {
			t.Errorf("%d bytes: %v, and where none may be there %v", size, needed.err, optional.err)
		}
		if whole && (!bytes.Equal(h[:], b) || h != o) {
			t.Errorf("%d bytes are read as %x and %x", size, h, o)
		}
	}
}

// A peer is told of which kind the message was that it should not have sent; where that cannot be read, that it was one.
func TestMalformedNamesItsKind(t *testing.T) {
	t.Parallel()
	_, err := Decode([]byte{0x80})
	if err == nil || !strings.HasPrefix(err.Error(), "malformed message: ") {
		t.Errorf("what is no array: %v", err)
	}
	for kind := KindHello; kind <= KindHello+1; kind++ {
		if got, want := (&Malformed{Of: kind, Err: err}).Error(), fmt.Sprintf("malformed %v: ", kind); !strings.HasPrefix(got, want) {
			t.Errorf("%q does not begin with %q", got, want)
		}
	}
}
