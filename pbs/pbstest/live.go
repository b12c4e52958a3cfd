package pbstest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// idleLimit is how long a live system may take until what a test has left is gone: TORQUE holds a node down for five
// minutes that it could not reach three times.
const idleLimit = 10 * time.Minute

// AwaitFit waits until a live system is fit for the next test. One that does not become so
// fails it: a suite that skips all of its tests has shown nothing.
func AwaitFit(t testing.TB, fit func() error) {
	t.Helper()
	told := ""
	err := becomes(func() error {
		err := fit()
		if err != nil && err.Error() != told {
			told = err.Error()
			t.Logf("waiting: %v", err)
		}
		return err
	}, time.Now().Add(idleLimit), time.Second)
	if err != nil {
		t.Fatalf("this system does not become fit within %v: %v", idleLimit, err)
	}
}

// mostSkipped is the part of the tests that a live system may be unable to be put to: what only operators and other
// users can do there.
const mostSkipped = 0.3

// tally counts the tests of a run, and those that were skipped.
type tally struct{ all, skipped atomic.Int64 }

// note counts a test that has ended.
func (c *tally) note(t testing.TB) {
	c.all.Add(1)
	if t.Skipped() {
		c.skipped.Add(1)
	}
}

// judge says why a run has shown too little.
func (c *tally) judge() error {
	all, skipped := c.all.Load(), c.skipped.Load()
	if float64(skipped) > mostSkipped*float64(all) {
		return fmt.Errorf("%d of %d tests were skipped: this has shown nothing", skipped, all)
	}
	return nil
}

// becomes tries fit again and again until it holds, or the time is over.
func becomes(fit func() error, end time.Time, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := fit()
		if err == nil || time.Now().After(end) {
			return err
		}
		<-tick.C
	}
}
