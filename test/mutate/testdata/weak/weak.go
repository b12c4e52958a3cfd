// Package weak has one rule that its test holds, and one that nobody looks at.
package weak

func Held(a, b int) bool { return a < b }

func Loose(a, b int) bool { return a < b }
