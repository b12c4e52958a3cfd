package wire

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"gbroker/grid"
)

// Eight to ten bytes that declare millions of elements: the decoder alone would
// allocate gigabytes for them.
func TestDeclaredLengthsAreNotBelieved(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"array of questions":  "\x81\xa1q\xdd\x02\x00\x00\x00",
		"array of more":       "\x81\xa1q\xdd\xff\xff\xff\xff",
		"map":                 "\xdf\x02\x00\x00\x00",
		"huge map":            "\xdf\xff\xff\xff\xff",
		"bin":                 "\x81\xa1q\xc6\x7f\xff\xff\xff",
		"string":              "\x81\xa1r\xdb\x7f\xff\xff\xff",
		"key":                 "\x81\xdb\x7f\xff\xff\xff",
		"unknown field":       "\x81\xa1?\xdd\x02\x00\x00\x00",
		"array without items": "\x81\xa1q\xdc\xff\xff",
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, b := range bodies {
		for _, kind := range kinds() {
			frame := append([]byte{0x94, Version, byte(kind), 0x90}, b...)
			var malformed *Malformed
			if _, err := Decode(frame); !errors.As(err, &malformed) {
				t.Errorf("%v with %s: %v", kind, name, err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Errorf("refusing them took %d MiB", n>>20)
	}
}

// The elements of a frame are bounded too: each may become a struct of a hundred
// bytes in memory.
func TestElementsAreBounded(t *testing.T) {
	t.Parallel()
	const others = 4 // the needs, the body, its key and the array
	for n, over := range map[int]bool{someElements - others: false, someElements - others + 1: true} {
		frame := []byte{0x94, Version, byte(KindEstimateRequest), 0x90, 0x81, 0xa1, 'q', 0xdd, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
		frame = append(frame, bytes.Repeat([]byte{0x80}, n)...)
		if _, err := Decode(frame); errors.Is(err, errMany) != over {
			t.Errorf("%d elements: %v", n+others, err)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	for _, nest := range []string{"\x91", "\x81\xa1x"} {
		for depth, want := range map[int]error{MaxDepth - 2: nil, MaxDepth - 1: errDeep, MaxDepth: errDeep, 1 << 12: errDeep} {
			frame := "\x94\x01\x11\x90\x83\xa1?" + strings.Repeat(nest, depth) + "\xc0\xa1j\xd9\x21" + string(aJob) + "\xa1e\x80"
			_, err := Decode([]byte(frame))
			if want == nil && err != nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%x nested %d times: %v", nest, depth, err)
			}
		}
	}
}

func TestMalformedFrames(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ frame, want string }{
		"empty":             {"", "ends before"},
		"no array":          {"\x80", "no array of version"},
		"too few":           {"\x93\x01\x01\x90", "no array of version"},
		"version no number": {"\x94\xa1x\x01\x90\x80", "version: it is no unsigned"},
		"negative kind":     {"\x94\x01\xff\x90\x80", "kind: it is no unsigned"},
		"kind 0":            {"\x94\x01\x00\x90\x80", "0 can be no kind"},
		"kind 256":          {"\x94\x01\xcd\x01\x00\x90\x80", "256 can be no kind"},
		"needs a number":    {"\x94\x01\x01\x07\x80", "needs: it is no array"},
		"too many needs":    {"\x94\x01\x01\xdc\x10\x00\x80", "4096 features"},
		"bad need":          {"\x94\x01\x01\x91\xa1/\x80", "needs: the name"},
		"body no map":       {"\x94\x01\x01\x90\x91\x01", "its body is no map"},
		"no body":           {"\x94\x01\x01\x90", "its body is no map"},
		"ext":               {"\x94\x01\x01\x90\x81\xa1p\xd4\x00\x00", "code 0xd4"},
		"never used":        {"\x94\x01\x01\x90\x81\xa1p\xc1", "code 0xc1"},
		"number as key":     {"\x94\x01\x01\x90\x81\x01\x01", "key that is no string"},
		"bytes after":       {"\x94\x01\x01\x90\x80\x00", "1 bytes follow"},
		"text for number":   {"\x94\x01\x02\x90\x81\xa1r\xa1x", "malformed EstimateRequest"},
	}
	for name, c := range cases {
		var malformed *Malformed
		_, err := Decode([]byte(c.frame))
		if !errors.As(err, &malformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestTypedRefusals(t *testing.T) {
	t.Parallel()
	var kind *UnknownKind
	if _, err := Decode([]byte("\x94\x01\xcc\xc8\x90\x80")); !errors.As(err, &kind) || kind.Number != 200 {
		t.Error(err)
	}
	var version *UnsupportedVersion
	if _, err := Decode([]byte("\x94\x02\x01\x90\x80")); !errors.As(err, &version) || !strings.Contains(err.Error(), "version 2 is newer than this gbroker's 1") {
		t.Error(err)
	}
	frame, err := Encode(Closed{Job: aJob}, "gang-scheduling")
	if err != nil {
		t.Fatal(err)
	}
	var feature *UnsupportedFeature
	if _, err := Decode(frame); !errors.As(err, &feature) || feature.Feature != "gang-scheduling" || feature.Of != KindClosed {
		t.Error(err)
	}
	e, err := unwrap(frame)
	if err != nil || len(e.needs) != 1 || e.needs[0] != "gang-scheduling" {
		t.Error(e, err)
	}
	if _, err := Encode(Closed{Job: aJob}, "Bad Name"); err == nil {
		t.Error("a feature with a bad name is encoded")
	}
}

func TestComplaint(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]Kind{
		"\x94\x01\xcc\xc8\x90\x80":          200,
		"\x94\x02\x01\x90\x80":              0,
		"\x94\x01\x01\x90\x80":              KindHello,
		"\x94\x01\x09\x91\xa5later\x80":     KindCommit,
		"\x94\x01\x09\x90\x81\xa1x\xa2\xff": KindCommit,
	} {
		_, err := Decode([]byte(frame))
		answer, ok := Complaint(err)
		if !ok || answer.Of != want || answer.Why == "" {
			t.Errorf("%x: %v is answered by %+v %v", frame, err, answer, ok)
		}
		if _, err := Encode(answer); err != nil {
			t.Error(err)
		}
	}
	_, err := Decode([]byte("\x94\x01\x13\x90\x81\xa1y\xa1\xff"))
	if answer, ok := Complaint(err); ok || err == nil {
		t.Errorf("a malformed Error is answered by %+v", answer)
	}
	if _, ok := Complaint(errors.New("connection reset")); ok {
		t.Error("an error of the stream is answered")
	}
}

// A later version may add fields at every depth, and elements after the body.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	t.Parallel()
	for _, m := range examples() {
		frame, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		e, err := unwrap(frame)
		if err != nil {
			t.Fatal(err)
		}
		var fields any
		if err := msgpack.Unmarshal(e.body, &fields); err != nil {
			t.Fatal(err)
		}
		body, err := msgpack.Marshal(extend(fields))
		if err != nil {
			t.Fatal(err)
		}
		later := append([]byte{0x96, Version, byte(m.Kind()), 0x90}, body...)
		later = append(later, 0x81, 0xa1, 'x', 0x01, 0xc0)
		got, err := Decode(later)
		if err != nil {
			t.Errorf("%v: %v", m.Kind(), err)
		} else if !reflect.DeepEqual(got, m) {
			t.Errorf("%v with more fields decodes to %+v", m.Kind(), got)
		}
	}
}

// extend adds two fields to every map within v.
func extend(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = extend(x)
		}
		v["zz"], v["new thing"] = map[string]any{"a": []any{1, nil, "x", 2.5}}, []byte{1, 2}
	case []any:
		for i := range v {
			v[i] = extend(v[i])
		}
	}
	return v
}

func TestEncodeRefusesWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	for _, m := range []Message{nil, &Inquire{}} {
		if _, err := Encode(m); err == nil {
			t.Errorf("%T is encoded", m)
		}
	}
}

// What the limits of grid allow must fit into a frame: the largest manifest, the
// most paths and the longest program at once.
func TestLargestOffer(t *testing.T) {
	t.Parallel()
	job := exampleJob()
	job.Program.Arguments = []string{strings.Repeat("a", grid.MaxText)}
	job.Inputs = nil
	size := MaxSandbox / grid.MaxFiles / grid.RangeSize * grid.RangeSize
	for i := range grid.MaxFiles {
		job.Inputs = append(job.Inputs, grid.File{
			Path: fmt.Sprintf("%05d%s", i, strings.Repeat("/"+strings.Repeat("d", 50), 19)),
			Size: size, Mode: 0o777, Ranges: make([]grid.Hash, size/grid.RangeSize),
		})
	}
	frame, err := Encode(Offer{Handoff: HandoffID{Job: job.ID, To: other}, Job: job})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(frame)
	if err != nil || !reflect.DeepEqual(m.(Offer).Job, job) {
		t.Fatal(err)
	}
	job.Inputs[0].Size = MaxSandbox
	job.Inputs[0].Ranges = make([]grid.Hash, MaxSandbox/grid.RangeSize)
	if _, err := Encode(Offer{Handoff: HandoffID{Job: job.ID, To: other}, Job: job}); err == nil || !strings.Contains(err.Error(), "bytes of files") {
		t.Error(err)
	}
}

// The largest question and its answer fit as well.
func TestLargestEstimateRequest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("q", grid.MaxName)
	id := grid.NewJobID(grid.SiteName(long), "01ARZ3NDEKTSV4RRFFQ69G5FAV") + ".123456789"
	q := Question{
		Job: id, Walltime: grid.MaxWalltime, Delivery: MaxSpan, Within: MaxSpan, Queue: grid.QueueName(long),
		Demand: grid.Demand{
			Chunks:       []grid.Chunk{{Count: 1, Processes: grid.MaxProcesses, Cores: grid.MaxProcesses, Memory: grid.MaxMemory}},
			Architecture: strings.Repeat("a", MaxWord), System: strings.Repeat("s", MaxWord),
		},
	}
	refusal := &grid.Refusal{Kind: grid.Temporary, Again: MaxSpan, Reason: strings.Repeat("r", MaxRefusal), Asked: strings.Repeat("a", MaxWord), Available: strings.Repeat("v", MaxWord)}
	ask, tell := EstimateRequest{}, EstimateReply{Site: grid.Site{Name: "a", Speed: 1}}
	for range MaxQuestions {
		ask.Questions = append(ask.Questions, q)
		tell.Answers = append(tell.Answers, Answer{Job: id, Estimate: grid.Estimate{Wait: MaxSpan, Safe: MaxSpan, Run: MaxSpan, Alone: MaxSpan, Refusal: refusal}})
	}
	for _, m := range []Message{ask, tell} {
		if _, err := Encode(m); err != nil {
			t.Error(err)
		}
	}
}
