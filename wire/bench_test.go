package wire

import (
	"testing"

	"gbroker/grid"
)

// benchmarked are a small message, a usual offer and one with 100 GiB of files.
func benchmarked() map[string]Message {
	all := examples()
	big := all[KindOffer-1].(Offer)
	big.Job.Inputs = grid.Manifest{{Path: "data", Size: 25600 * grid.RangeSize, Ranges: make([]grid.Hash, 25600)}}
	return map[string]Message{"Commit": all[KindCommit-1], "Offer": all[KindOffer-1], "Offer100GiB": big}
}

func BenchmarkEncode(b *testing.B) {
	for name, m := range benchmarked() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, m := range benchmarked() {
		b.Run(name, func(b *testing.B) {
			frame, err := Encode(m)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(frame); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGuard is the walk alone.
func BenchmarkGuard(b *testing.B) {
	frame, err := Encode(benchmarked()["Offer"])
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := unwrap(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJobDigest(b *testing.B) {
	job := exampleJob()
	for b.Loop() {
		JobDigest(job)
	}
}
