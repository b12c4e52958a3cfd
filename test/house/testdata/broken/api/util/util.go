// Package util has no subject.
package util

const N = 1
