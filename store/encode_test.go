package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// A field renamed or added in package grid changes what is on disk: that needs a
// migration, and a new golden file.
func TestGoldenJSON(t *testing.T) {
	t.Parallel()
	r := example(1)
	record, err := encodeRecord(r)
	if err != nil {
		t.Fatal(err)
	}
	job, err := encodeJob(&r.Job)
	if err != nil {
		t.Fatal(err)
	}
	demanding := r.Job
	demanding.Demand.Chunks = []grid.Chunk{{Count: 2, Processes: 3, Cores: 4, Memory: 5, Resources: []grid.Resource{{Name: "gpu:a100", Amount: 2}}}}
	demanding.Demand.Properties, demanding.Demand.Exclusive = []string{"ib"}, true
	demandingJob, err := encodeJob(&demanding)
	if err != nil {
		t.Fatal(err)
	}
	later := r.Job
	term(&later)
	termedJob, err := encodeJob(&later)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decode(record, termedJob); err != nil || !reflect.DeepEqual(got.Job, later) {
		t.Errorf("%+v\nbecomes\n%+v, %v", later, got.Job, err)
	}
	partJob, err := encodeJob(aPart(r.Job))
	if err != nil {
		t.Fatal(err)
	}
	estimated := *r
	estimated.Queued, estimated.ExpectedStart = 1795000000500, 1795000000900
	estimatedRecord, err := encodeRecord(&estimated)
	if err != nil {
		t.Fatal(err)
	}
	used := *r
	used.Usage = grid.Usage{CPU: 90_500, Memory: 1 << 31}
	usedRecord, err := encodeRecord(&used)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"record-estimated.json": estimatedRecord, "record-used.json": usedRecord, "record.json": record, "job.json": job, "job-demanding.json": demandingJob, "job-termed.json": termedJob, "job-part.json": partJob} {
		var pretty strings.Builder
		e := json.NewEncoder(&pretty)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(json.RawMessage(got)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", fmt.Sprint("v", len(migrations)), name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(pretty.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if pretty.String() != string(want) {
			t.Errorf("%s is now\n%s", name, pretty.String())
		}
	}
	back, err := decode(record, job)
	if err != nil || !reflect.DeepEqual(back, *r) {
		t.Errorf("%+v, %v", back, err)
	}
}

// Every field survives: one that a row forgets would be zero here.
func TestEveryFieldIsKept(t *testing.T) {
	t.Parallel()
	var r grid.Record
	fill(reflect.ValueOf(&r).Elem(), new(int))
	r.Stay = nil // among the decisions
	record, err := encodeRecord(&r)
	if err != nil {
		t.Fatal(err)
	}
	job, err := encodeJob(&r.Job)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decode(record, job)
	if err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("%+v\nnot\n%+v, %v", back, r, err)
	}
}

// The state of the site is beside the jobs, and as durable.
func TestTheSiteIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	if s, err := j.Site(t.Context()); err != nil || !reflect.DeepEqual(s, grid.SiteState{}) {
		t.Errorf("a new journal has %+v, %v", s, err)
	}
	var want grid.SiteState
	fill(reflect.ValueOf(&want).Elem(), new(int))
	mustCommit(t, j, save(1), grid.Saved(&grid.SiteState{Since: 1}), grid.Saved(&want))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir)
	if s, err := j.Site(t.Context()); err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("it was %+v and is %+v, %v", want, s, err)
	}
	if n := len(mustLoad(t, j)); n != 1 {
		t.Errorf("%d records", n)
	}
}

// fill sets everything within v to values that differ.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.String:
		v.SetString(fmt.Sprint("s", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n%250 + 1))
	default:
		v.SetInt(int64(*n))
	}
}

func TestTextKeepsAnyBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := text(rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.StringOf(rapid.RuneFrom([]rune{0xf77f, firstByte, lastByte, 0xf800, 0xfffd, '"', '\\', 0}))).Draw(t, "text"))
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back text
		if err := json.Unmarshal(b, &back); err != nil || back != s {
			t.Fatalf("%q becomes %s and %q, %v", s, b, back, err)
		}
	})
}

// sameButLife: each start of a journal has a life of its own.
func sameButLife(a, b grid.JournalID) bool {
	return a.Incarnation == b.Incarnation && a.Sequence == b.Sequence
}
