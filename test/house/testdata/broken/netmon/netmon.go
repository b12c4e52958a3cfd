// Package netmon has tests in bubbles.
package netmon
