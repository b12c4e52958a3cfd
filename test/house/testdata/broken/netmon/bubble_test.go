package netmon

import (
	"testing"
	"testing/synctest"
	"time"
)

type bench struct{}

// All of these run in a bubble.
func (bench) later()   { time.Sleep(1) }
func settle()          { time.Sleep(1); deeper() }
func deeper()          { time.Sleep(1) }
func named(*testing.T) { time.Sleep(1) }

func inBubble(t *testing.T, test func(bench)) {
	synctest.Test(t, func(*testing.T) { test(bench{}) })
}

func TestGood(t *testing.T) {
	synctest.Test(t, func(*testing.T) { time.Sleep(1); settle() })
	synctest.Test(t, named)
	inBubble(t, func(b bench) { time.Sleep(1); b.later() })
}

// None of these does, for certain.
func TestOutside(t *testing.T) {
	synctest.Test(t, func(*testing.T) { both() })
	time.Sleep(1)
	both()
	leak(t, func() { time.Sleep(1) })
	var x faker
	x.Wait()
	other{}.Test(t, func(*testing.T) { time.Sleep(1) })
	wait := time.Sleep
	wait(1)
}

func both() { time.Sleep(1) }

func leak(t *testing.T, test func()) {
	synctest.Test(t, func(*testing.T) { test() })
	test()
}

type faker struct{}

// Wait may be called by whom the test is about.
func (faker) Wait() { time.Sleep(1) }

type other struct{}

func (other) Test(*testing.T, func(*testing.T)) {}

func unused() { time.Sleep(1) }
