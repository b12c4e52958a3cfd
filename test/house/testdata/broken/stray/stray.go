// Package stray has no layer.
package stray
