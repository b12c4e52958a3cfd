// Package netmontest is for tests of others.
package netmontest

import (
	"testing"
	"testing/synctest"
	"time"
)

func Bubble(t *testing.T) { synctest.Test(t, func(*testing.T) { Pause() }) }

// Pause may be called from anywhere.
func Pause() { time.Sleep(1) }
