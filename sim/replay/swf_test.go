package replay

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"gbroker/grid"
)

var whole = Options{Partition: Unknown, Limits: true}

// swfLine is a job with what matters: number, submit, run, processors, requested time.
func swfLine(id, submit, run, procs, limit string) string {
	return fmt.Sprintf("%s %s -1 %s %s -1 -1 -1 %s -1 1 7 8 9 -1 3 -1 -1\n", id, submit, run, procs, limit)
}

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const head = "; MaxProcs: 8\n"

func TestBadLogs(t *testing.T) {
	t.Parallel()
	good := swfLine("1", "0", "5", "2", "9")
	for _, c := range []struct{ text, want string }{
		{"", "the log has no jobs"},
		{good, "does not say how many processors"},
		{head, "the log has no jobs"},
		{head + "1 0 -1 5\n", "line 2: 4 fields, not 18"},
		{head + strings.TrimSpace(good) + " 7\n", "line 2: more than 18 fields"},
		{head + good + "hello\n", `line 3: field 1 (job number): "hello" is not a number`},
		{head + swfLine("1", "0", "5.5", "2", "9"), `line 2: field 4 (run time): "5.5" is not a number`},
		{head + swfLine("1", "0", "1099511627777", "2", "9"), `line 2: field 4 (run time): "1099511627777" is too large`},
		{head + swfLine("1", strings.Repeat("9", 5000), "5", "2", "9"), `line 2: field 2 (submit time): "9999999999999999999999999999999999999999" is too large`},
		{head + swfLine("1", "-2", "5", "2", "9"), `line 2: field 2 (submit time): "-2" is negative; only -1, unknown, may be`},
		{head + swfLine("1", "-", "5", "2", "9"), `line 2: field 2 (submit time): "-" is not a number`},
		{head + swfLine("-1", "0", "5", "2", "9"), "line 2: the job number is unknown"},
		{head + swfLine("1", "-1", "5", "2", "9"), "line 2: the submit time is unknown"},
		{head + swfLine("1", "0", "-1", "2", "9"), "line 2: the run time is unknown"},
		{head + swfLine("1", "0", "5", "-1", "9"), "line 2: the number of processors is unknown"},
		{head + swfLine("1", "0", "5", "0", "9"), "line 2: the number of processors is unknown"},
		{head + swfLine("1", "0", "5", "2", "-1"), "line 2: the requested time is unknown"},
		{head + swfLine("1", "0", "5", "2", "4"), "line 2: the run time of 5 s is beyond the requested time of 4 s"},
		{head + good + swfLine("2", "0", "5", "9", "9"), "line 3: the job has 9 processors, and the machine 8"},
		{head + good + swfLine("2", "0", "5", "1099511627776", "9"), "line 3: the job has 1099511627776 processors, and a machine at most 1073741824"},
		{head + good + "\n; note\n" + good, "line 5: job number 1 was on line 2 too"},
		{head + swfLine("3", "0", "5", "2", "9") + swfLine("2", "0", "5", "2", "9") + swfLine("3", "0", "5", "2", "9"), "line 4: job number 3 was on line 2 too"},
		{"; MaxProcs: many\n" + good, `line 1: MaxProcs: "many" is not a number`},
		{"; MaxProcs:\n" + good, "line 1: MaxProcs is empty"},
		{"; MaxProcs: 0\n" + good, `line 1: MaxProcs: "0" is not a number`},
		{"; MaxProcs: 99999999999\n" + good, `line 1: MaxProcs: "99999999999" is not a number`},
		{head + ";" + strings.Repeat("x", longestLine) + "\n", "line 2: the line is longer than 65536 bytes"},
		{head + strings.Repeat(swfLine("1", "0", "1099511627776", "2", "1099511627776"), 1025), "line 1026: the run times up to here add up to more than"},
		{string(zipped(t, head+strings.Repeat(good, 100))[:60]), "the gzip file is cut short"},
		{string(zipped(t, head+good)) + "more", "the gzip file is"},
		{"\x1f\x8b\x07rest of the file", "line 1: the gzip file is damaged: gzip: invalid header"},
		{"\x1f\x8b", "line 1: the gzip file is cut short"},
	} {
		_, _, err := Read(strings.NewReader(c.text), whole)
		var bad *LogError
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &bad) || !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%.200q:\nerror %v\nwant  %s", c.text, err, c.want)
		}
	}
}

// Damage in a compressed log is found wherever it lies.
func TestDamagedGzip(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(head)
	for i := range 200 {
		text.WriteString(swfLine(fmt.Sprint(i+1), fmt.Sprint(i*i), "5", "2", "9"))
	}
	log := zipped(t, text.String())
	for n := range log {
		if _, _, err := Read(bytes.NewReader(log[:n]), whole); err == nil {
			t.Errorf("the first %d of %d bytes are read as a log", n, len(log))
		}
	}
	bent := bytes.Clone(log)
	bent[len(bent)-6] ^= 1 // of the checksum
	if _, _, err := Read(bytes.NewReader(bent), whole); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a wrong checksum: %v", err)
	}
}

// That the disk failed is not a fault of the log.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	full := errors.New("disk on fire")
	_, _, err := Read(io.MultiReader(strings.NewReader(head), iotest.ErrReader(full)), whole)
	if !errors.Is(err, full) || errors.Is(err, grid.ErrInvalid) {
		t.Errorf("%v, want %v", err, full)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	text := ";  MaxProcs:   8 (nodes)\r\n" +
		"2 5 -1 4 -1 3.75 -1.5 2 9 -1 1 7 8 9 -1 3 -1 -1\r\n\r\n" +
		"\t 1 5 -1 0 2 -1 -1 8 9 -1 1 -1 -1 -1 -1 4 -1 -1 \n" +
		"3 1 0 9 2 1. 0 8 9 -1 1 -1 -1 -1 -1 -1 -1 -1"
	first := Job{ID: 1, Submit: 5, Run: 0, Limit: 9, Procs: 2, User: -1, Group: -1, App: -1, Partition: 4}
	second := Job{ID: 2, Submit: 5, Run: 4, Limit: 9, Procs: 2, User: 7, Group: 8, App: 9, Partition: 3}
	third := Job{ID: 3, Submit: 1, Run: 9, Limit: 9, Procs: 2, User: -1, Group: -1, App: -1, Partition: -1}
	for _, c := range []struct {
		name string
		o    Options
		want *Log
	}{
		{"by submit time and number", whole, &Log{8, []Job{third, first, second}}},
		{"another machine", Options{Partition: Unknown, Procs: 3}, &Log{3, []Job{third, first, second}}},
		{"a partition", Options{Partition: 4}, &Log{8, []Job{first}}},
	} {
		for _, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), bytes.NewReader(zipped(t, text))} {
			got, _, err := Read(in, c.o)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
			}
		}
	}
}

// A policy that does not look at requested times does not need them.
func TestLimitsOnlyWhereNeeded(t *testing.T) {
	t.Parallel()
	text := head + swfLine("1", "0", "5", "2", "-1") + swfLine("2", "0", "0", "2", "-1") + swfLine("3", "0", "5", "2", "3")
	log, _, err := Read(strings.NewReader(text), Options{Partition: Unknown})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{5, 1, 5} {
		if log.Jobs[i].Limit != want {
			t.Errorf("job %d: limit %d, want %d", i+1, log.Jobs[i].Limit, want)
		}
	}
}

func TestNormalise(t *testing.T) {
	t.Parallel()
	text := head +
		swfLine("-1", "30", "5", "2", "9") +
		swfLine("4", "10", "5", "-1", "9") + // no processors
		swfLine("4", "10", "5", "9", "9") + // too large
		swfLine("5", "10", "-1", "2", "9") + // no run time
		swfLine("5", "10", "0", "2", "9") + // no run time
		swfLine("6", "20", "5", "2", "-1") + // no estimate
		swfLine("6", "20", "5", "8", "4") // cut
	who := Job{User: 7, Group: 8, App: 9, Partition: 3}
	job := func(id, submit, run, limit int64, procs int32) Job {
		j := who
		j.ID, j.Submit, j.Run, j.Limit, j.Procs = id, submit, run, limit, procs
		return j
	}
	want := &Log{8, []Job{job(1, 0, 5, 5, 2), job(2, 0, 4, 4, 8), job(3, 10, 5, 9, 2)}}
	wantChanges := Changes{Read: 7, NoProcessors: 1, TooLarge: 1, NoRunTime: 2, NoEstimate: 1, Cut: 1}
	for _, order := range []string{text, strings.TrimPrefix(text, head) + head} { // the size may come last
		got, changes, err := Read(strings.NewReader(order), Options{Partition: Unknown, Normalise: true, Limits: true})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		if changes != wantChanges || changes.Dropped() != 4 {
			t.Errorf("%+v, want %+v", changes, wantChanges)
		}
	}
	for _, c := range []struct {
		text string
		o    Options
		want string
	}{
		{head + swfLine("1", "0", "0", "2", "9") + swfLine("2", "0", "5", "9", "9"), Options{Partition: Unknown, Normalise: true},
			"none of the 2 jobs can run: 0 are without processors, 1 too large for 8 processors, 1 without run time"},
		{text, Options{Partition: 77, Normalise: true}, "the log has no jobs of partition 77"},
	} {
		if _, _, err := Read(strings.NewReader(c.text), c.o); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if _, _, err := Read(strings.NewReader(head+swfLine("1", "-1", "5", "2", "9")), Options{Partition: Unknown, Normalise: true}); err == nil {
		t.Error("a job without submit time is normalised to what?")
	}
}

// The logs of real machines can all be read; those that are normalised stay as they are.
func TestRealLogs(t *testing.T) {
	t.Parallel()
	needTraces(t)
	all, err := filepath.Glob(filepath.Join(traces, "*.swf.gz"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for _, path := range all {
		if strings.Contains(path, "METACENTRUM") {
			jobs := 0
			for i, procs := range partitions {
				jobs += len(readLog(t, path, Options{Procs: procs, Partition: int64(i + 1), Normalise: true}).Jobs)
			}
			if jobs < 99_000 {
				t.Errorf("%s: %d jobs in %d partitions", path, jobs, len(partitions))
			}
			continue
		}
		plain := readLog(t, path, whole)
		normal := readLog(t, path, Options{Partition: Unknown, Normalise: true, Limits: true})
		if !reflect.DeepEqual(plain, normal) {
			t.Errorf("%s changes by normalising", path)
		}
	}
}

// Whatever comes in, there is a log that every policy can run, or an error of the log.
func FuzzRead(f *testing.F) {
	small, err := os.ReadFile(filepath.Join("testdata", "small.swf"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small, false, int32(0), int64(Unknown))
	f.Add(zipped(f, string(small)), false, int32(0), int64(Unknown))
	f.Add([]byte(head+swfLine("1", "0", "-1", "2", "-1")+swfLine("2", "0", "9", "2", "3")), true, int32(2), int64(3))
	f.Fuzz(func(t *testing.T, text []byte, normalise bool, procs int32, partition int64) {
		o := Options{Normalise: normalise, Procs: max(procs, 0), Partition: max(partition, Unknown), Limits: true}
		log, _, err := Read(bytes.NewReader(text), o)
		if err != nil {
			if !errors.Is(err, grid.ErrInvalid) {
				t.Fatalf("not an error of the log: %v", err)
			}
			return
		}
		if len(log.Jobs) > 1000 {
			return
		}
		for _, p := range []string{"firstfit:2", "easy", "easy:2", "cons-compress"} {
			r, err := Run(t.Context(), log, policy(t, p), nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, j := range log.Jobs {
				if j.Procs < 1 || j.Procs > log.Procs || j.Limit < j.Run || r.Starts[i] < j.Submit {
					t.Fatalf("%s: job %+v starts at %d", p, j, r.Starts[i])
				}
			}
			if m := Measure(log, r); m.Utilisation < 0 || m.Utilisation > 1 || m.WaitP99 < 0 {
				t.Fatalf("%s: %+v", p, m)
			}
		}
	})
}
