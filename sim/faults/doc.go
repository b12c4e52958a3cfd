// Package faults runs many brokers in a world in which everything breaks, and checks
// that no job is lost and none runs twice.
package faults
