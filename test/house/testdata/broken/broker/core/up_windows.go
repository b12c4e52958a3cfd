package core

import _ "broken/broker"
