// Package man tests the manual pages of the programs: that each command has one which is whole, and that
// the reader of pages has nothing to say against it.
package man
