package pbstest

import (
	"testing"
	"time"
)

// idleLimit is how long a live system may take until what a test has left is gone: a job whose
// log cannot be copied holds its cores for half a minute.
const idleLimit = 3 * time.Minute

// AwaitFit waits until a live system is fit for the next test. One that does not become so
// fails it: a suite that skips all of its tests has shown nothing.
func AwaitFit(t testing.TB, fit func() error) {
	t.Helper()
	if err := becomes(fit, time.Now().Add(idleLimit), time.Second); err != nil {
		t.Fatalf("this system does not become fit within %v: %v", idleLimit, err)
	}
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
