// Package whole may import all.
package whole

import _ "broken/store"
