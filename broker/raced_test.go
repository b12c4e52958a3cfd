//go:build race

package broker

// raced divides the number of random histories under the race detector, in which they take
// eight times as long: Core has no goroutines. Without it all are run.
const raced = 10
