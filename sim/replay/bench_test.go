package replay

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gbroker/plan"
)

// processorTime is what this process has used, in seconds: on a machine that others
// use too it says more than the clock.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// The whole log of the SDSC SP2, 54,034 jobs, under each policy. The log was read before.
func BenchmarkReplay(b *testing.B) {
	needTraces(b)
	log := readLog(b, filepath.Join(traces, "SDSC-SP2-all.swf.gz"), whole)
	for _, text := range []string{"fcfs", "firstfit", "firstfit:8", "easy", "easysjbf", "easy:1:sjf", "easy:4", "cons-rebuild", "cons-compress"} {
		b.Run(text, func(b *testing.B) {
			p, err := plan.ParsePolicy(text)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			began := processorTime(b)
			for b.Loop() {
				if _, err := Run(b.Context(), log, p, nil); err != nil {
					b.Fatal(err)
				}
			}
			jobs := float64(len(log.Jobs) * b.N)
			b.ReportMetric(jobs/b.Elapsed().Seconds(), "jobs/s")
			b.ReportMetric(jobs/(processorTime(b)-began), "jobs/cpu-s")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	needTraces(b)
	text, err := os.ReadFile(filepath.Join(traces, "SDSC-SP2-all.swf.gz"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Read(bytes.NewReader(text), whole); err != nil {
			b.Fatal(err)
		}
	}
}
