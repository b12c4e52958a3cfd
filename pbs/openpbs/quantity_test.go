package openpbs

import (
	"cmp"
	"strings"
	"testing"

	"gbroker/grid"
)

// Sizes, spans and instants as OpenPBS writes them, and what is none.
func TestQuantities(t *testing.T) {
	t.Parallel()
	sizes := func(s string) (int64, error) { return size(s) }
	spans := func(s string) (int64, error) { d, err := duration(s); return int64(d), err }
	dates := func(s string) (int64, error) { d, err := date(s); return int64(d), err }
	for _, q := range []struct {
		read func(string) (int64, error)
		text string
		want int64 // -1: refused
	}{
		{sizes, "0kb", 0}, {sizes, "512mb", 512 << 20}, {sizes, "16gb", 16 << 30}, {sizes, "16GB", 16 << 30}, {sizes, "10b", 10}, {sizes, "10", 10}, {sizes, "3k", 3072},
		{sizes, "2kw", 16384}, {sizes, "2w", 16}, {sizes, "1024pb", 1 << 60}, {sizes, "1025pb", -1}, {sizes, "999999999999pb", -1}, {sizes, "1xb", -1}, {sizes, "", -1},
		{sizes, "gb", -1}, {sizes, "-1kb", -1}, {sizes, "1.5gb", -1}, {sizes, "18446744073709551616", -1}, {sizes, "1kbkb", -1},
		{spans, "00:10:00", 600_000}, {spans, "24:00:00", 86_400_000}, {spans, "01:30", 90_000}, {spans, "45", 45_000}, {spans, "999:00:00", 999 * int64(grid.Hour)},
		{spans, "1:2:3:4", -1}, {spans, "-1", -1}, {spans, "1h", -1}, {spans, "", -1}, {spans, "::", -1}, {spans, "99999999999:00:00", -1},
		{dates, "Fri Nov 20 23:05:46 2026", 1795215946_000}, {dates, "Thu Jan  1 00:00:01 1970", 1000}, {dates, "Thu Jan 01 00:00:01 1970", 1000}, {dates, "Wed Nov 19 23:12:29 2031", 1952896349_000},
		{dates, "Today 23:12", -1}, {dates, "Fri Nov 20 23:05:46 1926", -1}, {dates, "Fri Nov 32 23:05:46 2026", -1}, {dates, "", -1},
	} {
		if got, err := q.read(q.text); (err != nil) != (q.want < 0) || err == nil && got != q.want {
			t.Errorf("%q is %d, %v", q.text, got, err)
		}
	}
	for span, want := range map[grid.Tick]string{1: "00:00:01", grid.Second: "00:00:01", 90*grid.Minute + 1: "01:30:01", 100 * grid.Hour: "100:00:00"} {
		if got := walltime(span); got != want {
			t.Errorf("%d is %s", span, got)
		}
	}
	if got := instant(1795215946_999); got != "202611202305.46" {
		t.Errorf("%s", got)
	}
}

// Lists are bounded, and what follows or is wrong inside is an error, with its place.
func TestStrictly(t *testing.T) {
	t.Parallel()
	w := plain(t)
	good := listOf("Jobs", strings.Replace(tinyJob, "#", "1", 1)+`}`)
	if _, _, err := w.jobs([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"too many queues": inside("Queue", `"q#":{"queue_type":"Execution","enabled":"t","started":"t"}`),
		"more after it":   good + "{}",
		"nothing":         "",
		"a list":          "[]",
		"half":            good[:len(good)/2],
		"other keys":      strings.Replace(good, `"Jobs"`, `"Jobs":{},"Job"`, 1),
		"jobs twice":      strings.Replace(good, `"Jobs"`, `"Jobs":{},"Jobs"`, 1),
		"a name twice":    strings.Replace(good, `"Job_Name":""`, `"Job_Name":"","Job_Name":""`, 1),
		"no name":         strings.Replace(good, `"Job_Name"`, `"Job_Nome"`, 1),
		"no time":         strings.Replace(good, `"timestamp"`, `"timestomp"`, 1),
		"no identifier":   strings.Replace(good, `"1.p"`, `"x.p"`, 1),
		"no owner":        strings.Replace(good, `a@p`, `a`, 1),
		"a state unknown": strings.Replace(good, `"Q"`, `"Y"`, 1),
		"unbalanced":      strings.Replace(good, `"substate":1`, `"substate":[{]}`, 1),
		"a comma more":    strings.Replace(good, `}}`, `},}`, 1),
		"brackets":        strings.Replace(good, `"Q"`, `"R","exec_vnode":"(a:ncpus=1+b:ncpus=1"`, 1),
		"no brackets":     strings.Replace(good, `"Q"`, `"R","exec_vnode":"a:ncpus=1"`, 1),
		"a node unnamed":  strings.Replace(good, `"Q"`, `"R","exec_vnode":"(ncpus=1)"`, 1),
		"an odd chunk":    strings.Replace(good, `"Q"`, `"Q","Resource_List":{"select":"1:ncpus"}`, 1),
		"an odd status":   strings.Replace(good, `"Q"`, `"F","Exit_status":"three"`, 1),
	} {
		read := func(text []byte) error {
			_, list, err := w.jobs(text)
			for _, j := range list {
				err = cmp.Or(err, j.unread)
			}
			return err
		}
		if strings.Contains(name, "queues") {
			read = parsers(w)["queues"]
		}
		if err := read([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// Numbers that users choose are no reason to lose the whole listing.
	wild := strings.Replace(good, `"Q"`, `"Q","Resource_List":{"select":"99999999999999999999:ncpus=99999999999:mem=9999pb:ngpus=99999999999999999999+3"}`, 1)
	_, list, err := w.jobs([]byte(wild))
	if err != nil || list[0].Demand.Chunks[0].Count != grid.MaxProcesses || list[0].Demand.Chunks[0].Cores != grid.MaxProcesses {
		t.Errorf("%+v, %v", list, err)
	}
}
