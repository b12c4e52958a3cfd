//go:build !race

package broker

const raced = 1
