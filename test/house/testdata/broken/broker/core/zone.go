package core

import "time"

func day(ms int64) (days []int) {
	days = append(days, time.UnixMilli(ms).UTC().Day())
	days = append(days, time.UnixMilli(ms).In(time.UTC).Day())
	return append(days, time.UnixMilli(ms).Day())
}

var here = time.Local

func either(a, b chan int) int {
	select {
	case n := <-a:
		return n
	case n := <-b:
		return n
	}
}
