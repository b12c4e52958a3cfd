package netmon

import (
	"testing"
	"testing/synctest"
	"time"
)

// Each of these waits for a time, and for nothing else.
func TestPauses(t *testing.T) {
	<-time.After(1)
	_ = <-(time.After(1))
	for range 2 {
		select {
		case <-time.Tick(1):
		}
	}
	<-time.NewTimer(1).C
	for i := 0; i < 2; <-time.NewTicker(1).C {
		i++
	}
}

// These bound the wait for something else, or run in a bubble.
func TestBounds(t *testing.T) {
	said := make(chan int, 1)
	said <- 1
	select {
	case <-said:
	case <-time.After(1):
	}
	select {
	case at := <-time.After(1):
		_ = at
	default:
	}
	<-said
	<-clock{}.After(1)
	synctest.Test(t, func(*testing.T) { <-time.After(1) })
	<-time.After(1) //house:allow sleep: the time is what is tested
}

type clock struct{}

func (clock) After(int) chan int { return make(chan int) }
