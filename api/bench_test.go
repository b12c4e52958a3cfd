package api_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"gbroker/api"
	"gbroker/api/apitest"
)

// How many submissions a second the API itself takes from 16 clients, each on one
// connection, before a journal.
func BenchmarkSubmit(b *testing.B) {
	s, stop := apitest.Start(b, api.Config{Users: apitest.New(), Admin: apitest.New(), Hook: apitest.New()})
	defer stop()
	var n atomic.Int64
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c, err := api.NewClient(api.ClientConfig{Address: s.Addresses()[0]})
		if err != nil {
			b.Error(err)
			return
		}
		defer c.Close()
		for pb.Next() {
			if _, err := c.Submit(b.Context(), api.Submission{Key: fmt.Sprint(n.Add(1)), Document: plain}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "submissions/s")
}
