// Package storetest is a suite of tests.
package storetest

import "context"

var Everywhere = context.Background() // tests may
