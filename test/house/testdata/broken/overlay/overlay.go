package overlay

import (
	_ "broken/broker"
	_ "broken/test/whole"
)
