package slurm

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
)

// parsers are all that read what commands print.
var parsers = map[string]func([]byte) error{
	"queue":        func(text []byte) error { _, _, err := parseQueue(text); return err },
	"nodes":        func(text []byte) error { _, err := parseNodes(text); return err },
	"job":          func(text []byte) error { _, err := parseJob(text); return err },
	"partitions":   func(text []byte) error { _, err := parsePartitions(text); return err },
	"reservations": func(text []byte) error { _, err := parseReservations(text, "gbroker_"); return err },
	"config":       func(text []byte) error { _, err := parseConfig(text); return err },
	"submitted":    func(text []byte) error { _, err := submitted(text); return err },
}

// fuzz feeds a parser: no input makes it panic, or find a limit too late.
func fuzz(f *testing.F, parser, seeds string) {
	for _, r := range recordings(f, kept) {
		if strings.Contains(r.command, seeds) && len(r.result.Stdout) < 10_000 {
			f.Add(r.result.Stdout)
			f.Add(folded(r))
		}
	}
	f.Fuzz(func(_ *testing.T, text []byte) { _ = parsers[parser](text) })
}

func FuzzQueue(f *testing.F)        { fuzz(f, "queue", "squeue") }
func FuzzNodes(f *testing.F)        { fuzz(f, "nodes", "sinfo") }
func FuzzJob(f *testing.F)          { fuzz(f, "job", "show job") }
func FuzzPartitions(f *testing.F)   { fuzz(f, "partitions", "show partition") }
func FuzzReservations(f *testing.F) { fuzz(f, "reservations", "show reservation") }
func FuzzConfig(f *testing.F)       { fuzz(f, "config", "show config") }
func FuzzSubmitted(f *testing.F)    { fuzz(f, "submitted", "sbatch") }

func FuzzHosts(f *testing.F) {
	for _, list := range []string{"node[01-03,07]", "a,b[1-2]c[3-4],d", "n[1-", "[1]", "n[5-1]", "n[1-999999999]"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		n := 0
		err := eachHost(list, 1000, func(name []byte) error {
			if n++; len(name) == 0 || len(name) > maxName {
				t.Errorf("%q names %q", list, name)
			}
			return nil
		})
		if err == nil && n > 1000 {
			t.Errorf("%q names %d nodes", list, n)
		}
	})
}

func FuzzGres(f *testing.F) {
	for _, text := range []string{"gres:gpu:a100:2,fpga:1(S:0-1)", "gpu(CNT:2)", "gpu:a100:2(IDX:0-1,3)", "a:b:c:4", "gpu:1K", ":", "("} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := gres(text)
		for _, r := range list {
			if err == nil && (r.Name == "" || r.Amount < 1) {
				t.Errorf("%q is %+v", text, list)
			}
		}
	})
}

// hostile are inputs of many small parts, each n bytes or a little more.
func hostile(n int) map[string][2]string { // parser, text
	fill := func(head, part, tail string) string {
		return head + strings.Repeat(part, max(1, n/len(part))) + tail
	}
	job := `{"job_id":1,"name":"a","user_name":"b","partition":"c","job_state":"PENDING","exit_code":0,"restart_cnt":0,"nodes":"","node_count":1}`
	runs := strings.Replace(strings.Replace(job, "PENDING", "RUNNING", 1), `"node_count":1`, `"node_count":1,"job_resources":{"allocated_nodes":[`, 1)
	place := `{"nodename":"a","sockets":{"0":{"cores":{"0":"allocated"}}}},`
	node := `{"name":"a","state":"idle","cpus":1,"real_memory":1}`
	const queue, end = `{"meta":{},"errors":[],"jobs":[`, `]}`
	return map[string][2]string{
		"jobs":         {"queue", fill(queue, job+",", job+end)},
		"places":       {"queue", fill(queue+strings.TrimSuffix(runs, "}"), place, strings.TrimSuffix(place, ",")+"]}}"+end)},
		"empty jobs":   {"queue", fill(queue, "{},", "{}"+end)},
		"numbers":      {"queue", fill(queue, "1,", "1"+end)},
		"errors":       {"queue", fill(`{"errors":[`, "{},", "{}]}")},
		"deep":         {"queue", fill(queue, "[", "")},
		"unused":       {"queue", fill(queue+`{"unused":[`, "1,", "1]}"+end)},
		"flags":        {"nodes", fill(`{"meta":{},"errors":[],"nodes":[{"state_flags":[`, `"",`, `""]}]}`)},
		"nodes":        {"nodes", fill(`{"meta":{},"errors":[],"nodes":[`, node+",", node+end)},
		"gres details": {"queue", fill(queue+`{"gres_detail":[`, `"",`, `""]}]}`)},
		"lines":        {"job", strings.Repeat("a\n", n/2)},
		"keys":         {"job", strings.Repeat("JobId=1 ", n/8)},
		"config":       {"config", "Configuration data as of 2026-11-20T23:20:50\n" + strings.Repeat("a = b\n", n/6)},
		"reservations": {"reservations", strings.Repeat("ReservationName=a StartTime=2026-11-20T23:02:42 EndTime=2026-11-20T23:32:42 Nodes=n NodeCnt=1 CoreCnt=1 Flags= Users=a Accounts= State=ACTIVE\n", n/130)},
	}
}

// allocated is how many bytes f allocates: all of them, whether freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What is read takes no more than 8 times its size, and that counts also what was freed
// meanwhile. Other tests run beside this one: the least of several measures counts.
func TestSerialMemory(t *testing.T) {
	inputs := hostile(1 << 18)
	for _, r := range recordings(t, kept) {
		parser := map[string]string{"squeue": "queue", "sinfo": "nodes"}[strings.Fields(r.command)[0]]
		if parser == "" || !strings.HasSuffix(r.name, "json") {
			continue
		}
		// Twenty times as many records, as a large site has.
		list := bytes.Index(r.result.Stdout, []byte("s\": [\n    {"))
		close := bytes.LastIndexByte(r.result.Stdout, ']')
		if list < 0 {
			continue
		}
		list += len("s\": [\n")
		records := string(r.result.Stdout[list:close])
		inputs[r.name] = [2]string{parser, string(r.result.Stdout[:list]) + strings.Repeat(records+",", 19) + records + string(r.result.Stdout[close:])}
	}
	for name, in := range inputs {
		text := []byte(in[1])
		least := uint64(math.MaxUint64)
		for range 3 {
			least = min(least, allocated(func() { _ = parsers[in[0]](text) }))
		}
		if ratio := float64(least) / float64(len(text)); ratio > 8 {
			t.Errorf("%s: %.1f times its %d bytes", name, ratio, len(text))
		} else {
			t.Log(fmt.Sprintf("%s: %.1f times its %d bytes", name, ratio, len(text)))
		}
	}
}
